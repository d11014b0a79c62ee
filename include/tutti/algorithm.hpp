/// @file
/// An algorithm: a named generator of schedules, and the facts the verifier checks about it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/schedule.hpp>

namespace tutti {

/// What a generator may know. Equal on all ranks.
struct Shape {
  int size = 1;              ///< Number of ranks.
  Rank root = 0;             ///< Of rooted collectives.
  int number = 2;            ///< What the algorithm's parameter says, if that is a number.
  std::vector<int> skips{};  ///< Of circulant graphs; empty means halving.
};

/// Builds the schedule of one rank. Pure. @param shape equal on all ranks. @param self the rank.
using Build = Schedule (*)(const Shape& shape, Rank self);

/// In which cases a property holds, from nowhere to everywhere.
enum class When : std::uint8_t {
  never,         ///< For no interesting shape.
  root_is_zero,  ///< Where the root is rank 0.
  power_of_two,  ///< Where the number of ranks is a power of two.
  always         ///< For every shape.
};

/// Which numbers of ranks an algorithm serves.
enum class Sizes : std::uint8_t {
  any,          ///< 1, 2, 3, ...
  even,         ///< 1 and the even ones.
  power_of_two  ///< 1, 2, 4, 8, ...
};

/// Which parameter an algorithm takes in a choice such as `knomial:k=4`. All but skips are numbers.
enum class Parameter : std::uint8_t {
  none,         ///< It takes none.
  radix,        ///< `k=`, at least 2.
  skips,        ///< `skips=`, numbers joined by `+`, descending to 1.
  blocks,       ///< `b=`, into how many blocks the vector is cut.
  servers,      ///< `s=`, how many ranks serve the others.
  in_flight,    ///< `k=`, how many transfers go on at a time.
  aggregation,  ///< `a=`, how many blocks one message has, a power of two.
};

/// @param when any. @return the enumerator's name, such as "root_is_zero".
[[nodiscard]] std::string_view name_of(When when) noexcept;
/// @param sizes any. @return the enumerator's name, such as "power_of_two".
[[nodiscard]] std::string_view name_of(Sizes sizes) noexcept;
/// @param parameter any. @return the enumerator's name, such as "radix".
[[nodiscard]] std::string_view name_of(Parameter parameter) noexcept;
/// @param parameter any. @return what stands before the `=`, such as "k"; empty for none.
[[nodiscard]] std::string_view key_of(Parameter parameter) noexcept;

/// Facts about an algorithm. The verifier fails a row that claims too much or too little.
struct Traits {
  Sizes sizes = Sizes::any;            ///< Numbers of ranks served.
  When ordered = When::never;          ///< Keeps the operands in the order of ranks.
  When rank_identical = When::always;  ///< Gives the same bits on all ranks.
  When size_invariant = When::never;   ///< All elements have the same expression tree.
  bool rotational = false;             ///< Rank r's schedule is rank 0's, shifted by r.
  bool own_counts_only = false;        ///< Needs the counts of blocks it owns or wants, only.
};

/// One row of the catalog.
struct Algorithm {
  Collective collective{};                ///< What it computes.
  std::string_view name{};                ///< Spelled as in the literature.
  Build build = nullptr;                  ///< The generator.
  Traits traits{};                        ///< Checked facts.
  Parameter parameter = Parameter::none;  ///< What may follow its name.
  int default_number = 2;                 ///< Of those that take a number.
  std::size_t segment_bytes = 0;          ///< Default segment; 0 runs the vector as a whole.
  std::string_view summary{};             ///< One line: when it wins, and its source.
};

/// @return all algorithms, grouped by collective.
[[nodiscard]] std::span<const Algorithm> catalog() noexcept;

/// @param when a condition. @param size number of ranks. @param root the root, 0 where there is
/// none.
/// @return whether the condition is met.
[[nodiscard]] bool holds(When when, int size, Rank root) noexcept;

/// @param sizes a restriction. @param size number of ranks. @return whether it admits that number.
[[nodiscard]] bool admits(Sizes sizes, int size) noexcept;

/// Refuses a number of ranks that is not admitted. Throws Error{invalid_argument} that says what
/// is.
/// @param sizes a restriction. @param size number of ranks.
void require(Sizes sizes, int size);

/// An algorithm with its parameters, as in `knomial:k=4`.
struct Choice {
  const Algorithm* algorithm = nullptr;  ///< Never null once parsed.
  int number = 2;                        ///< Meaningful if the algorithm takes a number.
  std::vector<int> skips{};              ///< Meaningful if the algorithm takes skips.

  /// @param size number of ranks. @param root the root. @return what the generator is given.
  [[nodiscard]] Shape shape(int size, Rank root) const { return {size, root, number, skips}; }
  /// @return the schedule. @param size number of ranks. @param root the root. @param self the rank.
  [[nodiscard]] Schedule build(int size, Rank root, Rank self) const {
    return algorithm->build(shape(size, root), self);
  }
  /// @return the parameters as written after the colon, such as "k=4"; empty if there are none.
  [[nodiscard]] std::string parameters() const;
  /// @return name and parameters as parse_choice reads them, such as "knomial:k=4".
  [[nodiscard]] std::string text() const;
};

/// Reads a choice. Throws Error{invalid_argument} that names the offender, the choices and the
/// nearest name. @param collective which rows are meant. @param text such as "knomial:k=4".
/// @return the choice.
[[nodiscard]] Choice parse_choice(Collective collective, std::string_view text);

}  // namespace tutti

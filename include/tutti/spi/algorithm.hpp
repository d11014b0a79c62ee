/// @file
/// An algorithm: a named generator of schedules, and the facts the verifier checks about it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/export.hpp>
#include <tutti/spi/schedule.hpp>

namespace tutti::v0 {

class Graph;
class ScheduleTable;
struct Hierarchy;

/// The input of a generator. Equal on all ranks.
struct Shape {
  int size = 1;                          ///< Number of ranks.
  Rank root = 0;                         ///< Root of rooted collectives.
  int number = 2;                        ///< The algorithm's parameter, if it is a number.
  std::vector<int> skips{};              ///< Skips of a circulant graph; empty: halving.
  std::shared_ptr<const Graph> graph{};  ///< The network, for algorithms that follow one.
  std::shared_ptr<const Hierarchy> hierarchy{};  ///< For algorithms made of others.
  const ScheduleTable* table = nullptr;          ///< For algorithms that are written down.
};

/// Builds the schedule of one rank. A pure function.
using Build = Schedule (*)(const Shape& shape, Rank self);

/// The cases in which a property holds.
enum class When : std::uint8_t {
  never,         ///< In no interesting case.
  root_is_zero,  ///< If the root is rank 0.
  power_of_two,  ///< If the number of ranks is a power of two.
  always         ///< In every case.
};

/// The numbers of ranks of an algorithm.
enum class Sizes : std::uint8_t {
  any,           ///< 1, 2, 3, ...
  even,          ///< 1 and the even ones.
  power_of_two,  ///< 1, 2, 4, 8, ...
  slim_fly       ///< 1 and 2 q^2 for prime powers q from 3 on: 18, 32, 50, 98, ...
};

/// The parameter of an algorithm in a choice such as `knomial:k=4`.
enum class AlgorithmParameter : std::uint8_t {
  none,         ///< No parameter.
  radix,        ///< `k=`, at least 2.
  skips,        ///< `skips=`, numbers joined by `+`, descending to 1.
  blocks,       ///< `b=`, number of blocks of the vector.
  servers,      ///< `s=`, number of ranks that serve the others.
  in_flight,    ///< `k=`, number of transfers at a time.
  aggregation,  ///< `a=`, number of blocks in one message, a power of two.
  graph,        ///< `graph=`, as parse_graph reads it. Without a default.
  hierarchy     ///< Two algorithms and groups, see Hierarchy. Without a default.
};

/// @return the name, such as "root_is_zero".
[[nodiscard]] TUTTI_API std::string_view name_of(When when) noexcept;
/// @return the name, such as "power_of_two".
[[nodiscard]] TUTTI_API std::string_view name_of(Sizes sizes) noexcept;
/// @return the name, such as "radix".
[[nodiscard]] TUTTI_API std::string_view name_of(AlgorithmParameter parameter) noexcept;
/// @return the text before the `=`, such as "k"; empty for none.
[[nodiscard]] TUTTI_API std::string_view key_of(AlgorithmParameter parameter) noexcept;

/// @return whether the value is one number.
[[nodiscard]] constexpr bool is_number(AlgorithmParameter parameter) noexcept {
  return parameter != AlgorithmParameter::none && parameter != AlgorithmParameter::skips &&
         parameter != AlgorithmParameter::graph && parameter != AlgorithmParameter::hierarchy;
}

/// @return whether the algorithm's name alone is a choice; false if the parameter is required.
[[nodiscard]] constexpr bool has_default(AlgorithmParameter parameter) noexcept {
  return parameter != AlgorithmParameter::graph && parameter != AlgorithmParameter::hierarchy;
}

/// Facts about an algorithm. The verifier fails a row that claims too much or too little.
struct Traits {
  Sizes sizes = Sizes::any;            ///< Supported numbers of ranks.
  When ordered = When::never;          ///< Keeps the operands in the order of ranks.
  When rank_identical = When::always;  ///< Gives the same bits on all ranks.
  When size_invariant = When::never;   ///< All elements have the same expression tree.
  bool rotational = false;             ///< Rank r's schedule is rank 0's, shifted by r.
  bool own_counts_only = false;  ///< A rank needs the counts of blocks that it sends or gets only.
  /// Rounds can be numbered on each rank, in ascending order, so that every message is sent and
  /// received in rounds of the same number. The verifier reports if they cannot.
  bool lockstep = true;
  /// For size_invariant rows: tutti's row of the same collective whose expression tree, with its
  /// default parameter, equals this one's; empty if none. Calls of either then give an element the
  /// same bits.
  std::string_view same_tree_as{};
};

/// One row of a catalog.
struct Algorithm {
  Collective collective{};                                  ///< Its collective.
  std::string_view name{};                                  ///< Spelled as in the literature.
  Build build = nullptr;                                    ///< The generator.
  Traits traits{};                                          ///< Checked facts.
  AlgorithmParameter parameter = AlgorithmParameter::none;  ///< Parameter after the name.
  int default_number = 2;                ///< Default of a parameter that is a number.
  std::size_t segment_bytes = 0;         ///< Default segment; 0: the vector as a whole.
  std::string_view summary{};            ///< One line: when it wins, and its source.
  /// Schedules of a written-down algorithm, owned by the catalog.
  const ScheduleTable* table = nullptr;
};

/// @return tutti's own algorithms, grouped by collective. A Catalog has added ones too.
[[nodiscard]] TUTTI_API std::span<const Algorithm> catalog() noexcept;

/// @param root the root, or 0. @return whether the condition holds.
[[nodiscard]] TUTTI_API bool holds(When when, int size, Rank root) noexcept;

/// @return whether the number of ranks is supported.
[[nodiscard]] TUTTI_API bool admits(Sizes sizes, int size) noexcept;

/// Throws Error{invalid_argument}, with the supported numbers, if `size` is not one.
TUTTI_API void require(Sizes sizes, int size);

/// An algorithm with its parameters, as in `knomial:k=4`.
struct TUTTI_API Choice {
  const Algorithm* algorithm = nullptr;  ///< Never null once parsed.
  int number = 2;                        ///< The parameter, if it is a number.
  std::vector<int> skips{};              ///< The parameter, if it is skips.
  /// The parameter, if it is a graph; null if it is missing.
  std::shared_ptr<const Graph> graph{};
  /// The parameter, if it is a hierarchy; null if it is missing.
  std::shared_ptr<const Hierarchy> hierarchy{};

  /// @return the input of the generator.
  [[nodiscard]] Shape shape(int size, Rank root) const {
    return {size, root, number, skips, graph, hierarchy, algorithm->table};
  }
  /// @return the schedule of rank `self`.
  [[nodiscard]] Schedule build(int size, Rank root, Rank self) const {
    return algorithm->build(shape(size, root), self);
  }
  /// @return the text before the colon: the name and, in brackets, the algorithms it is made of,
  /// such as "hierarchical(circulant, ring)".
  [[nodiscard]] std::string name() const;
  /// @return the text after the colon, such as "k=4"; empty if there is none.
  [[nodiscard]] std::string parameters() const;
  /// @return name and parameters as parse_choice reads them, such as "knomial:k=4".
  [[nodiscard]] std::string text() const;
};

/// Algorithms combined by groups of ranks, such as those of one host: `hierarchical(circulant,
/// ring):groups=4`. An all_reduce reduces within each group, then between the groups, and passes
/// results back within each group. The ranks of equal index in their groups are a lane; lanes work
/// between the groups, each on its part of the vector. Without groups, a communicator that knows
/// the hosts of its ranks uses these.
struct Hierarchy {
  /// The algorithms within groups, between them and, in an all_reduce, within them again: there a
  /// reduce_scatter and its all_gather or, with one lane, a reduce and its broadcast. For a
  /// broadcast on lanes: the all_gather within groups, the algorithm on the lanes, and the scatter
  /// in the root's group.
  std::vector<Choice> stages{};
  /// `groups=4`: one number is the number of groups of consecutive ranks, of nearly equal sizes,
  /// larger ones first. Several, as in `groups=5+3`, are the sizes.
  std::vector<int> groups{};
  /// `ranks=0+1+0+1` instead of groups: the group of each rank.
  std::vector<int> group_of{};
  /// `lanes=1`: number of lanes; 0: the size of the smallest group, or one if the stage within
  /// groups has a root.
  int lanes = 0;

  /// @return whether groups are given.
  [[nodiscard]] bool has_groups() const noexcept { return !groups.empty() || !group_of.empty(); }
};

/// Uses hosts as the groups of a hierarchy without groups.
/// @param hosts a number for each rank, equal for those of one host; empty if unknown.
/// @return the choice, with groups if it needs some and hosts are known.
[[nodiscard]] TUTTI_API Choice on_hosts(Choice choice, std::span<const int> hosts);

/// @return the ranks of each group, ascending. Throws Error{invalid_argument} if the groups do not
/// fit `size`.
[[nodiscard]] TUTTI_API std::vector<std::vector<Rank>> groups_of(const Hierarchy& hierarchy,
                                                                 int size);

/// Throws Error{invalid_argument}, with the reason, if a choice does not support a number of ranks,
/// or lacks a parameter without a default.
TUTTI_API void require(const Choice& choice, int size);

/// Reads a choice of tutti's own algorithms. Throws Error{invalid_argument} that names the wrong
/// part, the choices and the nearest name.
/// @param text such as "knomial:k=4".
[[nodiscard]] TUTTI_API Choice parse_choice(Collective collective, std::string_view text);

}  // namespace tutti::v0

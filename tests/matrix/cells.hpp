/// @file
/// The matrix: every operation of a communicator, of every datatype, on every number of ranks, in
/// every form. This is the only list of them; each transport's test walks it, and the table in
/// docs/matrix.md is made of what the tests report.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/experiment.hpp"

namespace tutti::matrix {

/// An operation of the matrix.
struct Operation {
  std::string_view name{};                     ///< As the communicator's method.
  Collective collective{};                     ///< The collective with the same results.
  harness::CountsAre counts_are{};             ///< The ranks with the sizes of blocks.
  PointToPoint messages = PointToPoint::none;  ///< Around the ring, if not none.
  bool in_place = true;                        ///< Whether MPI has it in place.
  /// @return whether blocks may differ.
  [[nodiscard]] bool is_v() const noexcept {
    return counts_are != harness::CountsAre::told_if_unequal;
  }
};

/// @return every operation.
[[nodiscard]] std::span<const Operation> operations();

/// How it is called.
enum class Form : std::uint8_t { blocking, nonblocking, persistent };
/// All of them.
inline constexpr std::array kForms{Form::blocking, Form::nonblocking, Form::persistent};
/// How many elements there are: of blocks that may differ this is how many some have, others less
/// or none.
enum class Amount : std::uint8_t { none, one, few, many };
/// All of them.
inline constexpr std::array kAmounts{Amount::none, Amount::one, Amount::few, Amount::many};
/// Numbers of ranks.
inline constexpr std::array kSizes{1, 2, 3, 4, 7, 8};

/// One call.
struct Cell {
  const Operation* operation = nullptr;
  Datatype type{};
  std::size_t model = 0;  ///< Index into models_of.
  int size = 1;
  Form form{};
  bool in_place = false;
  Amount amount{};
  std::size_t salt = 0;  ///< Other values and another root for another one.

  /// @return the elements, operator, counts and root of it.
  [[nodiscard]] harness::Case problem() const;
  /// @return what a failure report must name to be repeated.
  [[nodiscard]] std::string describe() const;
};
/// @param operation any. @param type any. @return elements of this type, with every operator that
/// the operation may apply to them; one model where nothing is reduced.
[[nodiscard]] const std::vector<harness::Model>& models_of(const Operation& operation,
                                                           Datatype type);

/// @return all cells on `size` ranks.
[[nodiscard]] std::vector<Cell> all_cells(int size);
/// A sample in which every operation meets every datatype, and every number of ranks, form, place
/// and amount. @param seed another one gives another sample. @param size number of ranks.
/// @return its cells on `size` ranks.
[[nodiscard]] std::vector<Cell> sample(std::uint64_t seed, int size);

}  // namespace tutti::matrix

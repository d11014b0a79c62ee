/// @file
/// Internal to the checker of programs: what each element of a result has to be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "program_check.hpp"

namespace tutti::v0::detail {

/// A number for each expression: equal where expressions are.
using Node = std::uint32_t;
/// The value of a slot that was never written.
inline constexpr Node kNoNode = ~Node{0};

/// Expressions over the elements that ranks contribute.
class Expressions {
 public:
  /// @param rank whose. @param element of the whole vector. @return what the rank contributes.
  [[nodiscard]] Node leaf(std::size_t rank, std::size_t element) {
    return number({0, static_cast<Node>(rank), static_cast<Node>(element)});
  }
  /// @param operands in the order of evaluation. @param finish whether the result is divided.
  /// @return one expression, rounded once; a copy is no expression of its own.
  [[nodiscard]] Node fold(const std::vector<Node>& operands, bool finish);

 private:
  Node number(std::vector<Node> words) {
    return known_.emplace(std::move(words), static_cast<Node>(known_.size())).first->second;
  }
  std::map<std::vector<Node>, Node> known_{};
};

/// The places of the vector's elements.
class Elements {
 public:
  explicit Elements(const ProgramQuestion& question);
  /// @return the elements of a unit in the segment. @param parts units per block.
  [[nodiscard]] std::vector<std::size_t> of_unit(std::uint32_t unit, std::uint32_t parts) const;
  /// @param block any. @return its elements in the segment.
  [[nodiscard]] std::vector<std::size_t> of_block(std::uint32_t block) const {
    return of_unit(block, 1);
  }
  /// @param rank whose. @param is_input of which buffer. @return all of the buffer's elements, of
  /// all segments, in their order.
  [[nodiscard]] std::vector<std::size_t> of_buffer(Rank rank, bool is_input) const;

 private:
  const ProgramQuestion& question_;
  std::vector<std::size_t> first_{};  // by block
};

/// Plays schedules round by round. @param question its schedules. @param elements of it.
/// @param expressions to make. @return by rank and element of the whole vector, what the rank's
/// result is; kNoNode where it has none.
[[nodiscard]] std::vector<std::vector<Node>> play_schedules(const ProgramQuestion& question,
                                                            const Elements& elements,
                                                            Expressions& expressions);

}  // namespace tutti::v0::detail

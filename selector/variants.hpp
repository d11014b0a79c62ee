/// @file
/// The parameters that are tried of a row of the catalog.
#pragma once

#include <cstddef>
#include <vector>

#include <tutti/spi/algorithm.hpp>

#include "problem.hpp"

namespace tutti::v0::detail {

/// A choice, and the segments that it runs in.
struct Variant {
  Choice choice{};
  std::size_t segment_bytes = 0;  ///< 0 runs the vector as a whole.
};

/// The row with its default parameter first, then with others: radices, blocks, messages in flight,
/// skips, lengths of segments. Where an element must have the same bits in vectors of all sizes
/// only the default, whose expression tree is known. @param row any but those that need a network
/// or groups. @param problem what it is to serve. @return at least one.
[[nodiscard]] std::vector<Variant> variants_of(const Algorithm& row, const Problem& problem);

/// The segments of a choice if the call has none: the row's own, shorter and longer ones.
/// @param choice any. @param problem what it is to serve. @return the choice with each.
[[nodiscard]] std::vector<Variant> with_segments(Choice choice, const Problem& problem);

}  // namespace tutti::v0::detail

/// @file
/// The parameters to try for a row of the catalog.
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

/// @return the row with its default parameter first, then with others: radices, blocks, messages in
/// flight, skips, lengths of segments. If an element must have the same bits in vectors of all
/// sizes, the default alone, whose expression tree is known. @param row must not need a network or
/// groups.
[[nodiscard]] std::vector<Variant> variants_of(const Algorithm& row, const Problem& problem);

/// @return the choice with each length of segments to try: that of the call, or else the row's own,
/// a shorter and a longer one.
[[nodiscard]] std::vector<Variant> with_segments(Choice choice, const Problem& problem);

}  // namespace tutti::v0::detail

/// @file
/// The fields of a Call that a rank reads. The others may hold anything.
#pragma once

#include <tutti/call.hpp>

#include "selector/problem.hpp"

namespace tutti::v0::detail {

[[nodiscard]] inline bool is_message(const Call& call) noexcept {
  return call.point_to_point != PointToPoint::none;
}
[[nodiscard]] inline bool reads_operator(const Call& call) noexcept {
  return is_reduction(call.collective) && !is_message(call);
}
/// Whether a rank reads `in`.
[[nodiscard]] inline bool reads_input(const Call& call, Rank self) noexcept {
  if (is_message(call)) return call.point_to_point != PointToPoint::recv;
  return call.collective != Collective::barrier &&
         is_among(traits_of(call.collective).readers, self, call.root);
}
/// Whether a rank writes `out`.
[[nodiscard]] inline bool writes_output(const Call& call, Rank self) noexcept {
  if (is_message(call)) return call.point_to_point != PointToPoint::send;
  return call.collective != Collective::barrier &&
         is_among(traits_of(call.collective).writers, self, call.root);
}
/// @return the counts of its own blocks that a rank reads, or none.
[[nodiscard]] inline OwnCounts counts_read(const Call& call, Rank self) noexcept {
  if (!call.own_counts || is_message(call)) return {};
  const bool is_root = self == call.root;
  switch (call.collective) {
    case Collective::scatter: return {is_root ? call.in_counts : Counts{}, {}};
    case Collective::gather: return {{}, is_root ? call.out_counts : Counts{}};
    case Collective::all_to_all: return {call.in_counts, call.out_counts};
    default: return {};
  }
}

}  // namespace tutti::v0::detail

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
/// Whether each rank may know the counts of its own blocks only: scatter, gather, all_to_all. In
/// all_gather and reduce_scatter each rank handles all blocks.
[[nodiscard]] inline bool may_have_own_counts(Collective collective) noexcept {
  return is_between_pairs(collective) || (is_blockwise(collective) && is_rooted(collective));
}
/// The counts of its own blocks that a rank reads, or none.
[[nodiscard]] inline OwnCounts counts_read(const Call& call, Rank self) noexcept {
  if (!call.own_counts || is_message(call) || !may_have_own_counts(call.collective)) return {};
  const bool has_in = !is_gathering(call.collective) && reads_input(call, self);
  const bool has_out = !is_scattering(call.collective) && writes_output(call, self);
  return {has_in ? call.in_counts : Counts{}, has_out ? call.out_counts : Counts{}};
}

}  // namespace tutti::v0::detail

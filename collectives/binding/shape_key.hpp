/// @file
/// The key of a shape: the properties that calls of one binding have in common.
#pragma once

#include <cstddef>
#include <string_view>

#include <tutti/call.hpp>

#include "collectives/lowering/layout.hpp"

namespace tutti::v0::detail {

/// The shape of a call: everything but its pointers and its tag. Calls of one shape share a
/// binding. Only the properties of a user's operator count, since programs make it anew for
/// each call.
struct ShapeKey {
  Collective collective{};
  Datatype type{};
  OperatorKind op{};
  bool reads_op = false;  // whether the call reads its operator at all
  bool has_op = false;
  bool commutative = true;
  bool has_function = true;  // of a user's operator
  Rank root = 0;
  std::size_t element_bytes = 0;
  std::size_t in_count = 0;
  std::size_t out_count = 0;
  std::size_t segment = 0;
  bool visible = false;
  bool on_stream = false;
  bool is_bool = false;
  int determinism = kDeterminisms;  // not given
  std::string_view algorithm{};
  std::string_view transport{};
  std::string_view name{};  // as CallName; a literal
  Counts counts{};
  bool own_counts = false;
  OwnCounts own{};
  PointToPoint point_to_point = PointToPoint::none;
  Rank to = 0;
  Rank from = 0;

  /// @param self the own rank, on which the counts depend that the call reads.
  ShapeKey(const Call& call, const Options& options, Rank self) noexcept;
  /// Whether a call has this shape. It compares fields without making the call's key, since every
  /// call of a loop runs it.
  [[nodiscard]] bool fits(const Call& call, const Options& options, Rank self) const noexcept;
  [[nodiscard]] std::size_t hash() const noexcept;
};

}  // namespace tutti::v0::detail

#include "shape_key.hpp"

#include <algorithm>

#include <tutti/call_name.hpp>

#include "algorithms/hash.hpp"

#include "call_fields.hpp"

namespace tutti::v0::detail {
namespace {

int number_of(const std::optional<Determinism>& level) noexcept {
  return level ? static_cast<int>(*level) : kDeterminisms;
}

/// Whether the operator has a function to apply. Only the first call of a shape is checked, so this
/// is part of the key.
bool has_function_of(const Operator& op) noexcept {
  return op.kind() != OperatorKind::user || (op.function() != nullptr && *op.function());
}

}  // namespace

ShapeKey::ShapeKey(const Call& call, const Options& options, Rank self) noexcept
    : collective{call.collective}, type{call.type}, reads_op{reads_operator(call)}, root{call.root},
      element_bytes{call.element_bytes}, in_count{call.in_count}, out_count{call.out_count},
      segment{options.segment}, visible{call.visible || options.visible},
      on_stream{options.stream.is_some()}, is_bool{call.is_bool},
      determinism{number_of(options.determinism)}, algorithm{options.algorithm},
      transport{options.transport}, name{CallName::current()}, counts{options.counts},
      own_counts{call.own_counts}, own{counts_read(call, self)}, point_to_point{
                                                                     call.point_to_point} {
  if (is_message(call)) {
    to = call.to;
    from = call.from;
  }
  if (!reads_op || call.op == nullptr) return;
  has_op = true;
  op = call.op->kind();
  commutative = call.op->commutative();
  has_function = has_function_of(*call.op);
}

bool ShapeKey::fits(const Call& call, const Options& options, Rank self) const noexcept {
  // Most calls of a loop fit, so all fields are compared without a branch between them.
  const std::size_t differing_sizes =
      (in_count ^ call.in_count) | (out_count ^ call.out_count) |
      (element_bytes ^ call.element_bytes) | (segment ^ options.segment) |
      (algorithm.size() ^ options.algorithm.size()) |
      (transport.size() ^ options.transport.size()) | (counts.size() ^ options.counts.size());
  const bool streams = options.stream.is_some();
  const bool differs = (collective != call.collective) | (type != call.type) | (root != call.root) |
                       (visible != (call.visible | options.visible)) | (is_bool != call.is_bool) |
                       (on_stream != streams) | (own_counts != call.own_counts) |
                       (point_to_point != call.point_to_point) |
                       (determinism != number_of(options.determinism)) |
                       (has_op != (reads_op & (call.op != nullptr)));
  if (differing_sizes != 0 || differs || name != CallName::current()) return false;
  if (point_to_point != PointToPoint::none && (to != call.to || from != call.from)) return false;
  if (own_counts) {
    const OwnCounts read = counts_read(call, self);
    if (!std::ranges::equal(own.in, read.in) || !std::ranges::equal(own.out, read.out))
      return false;
  }
  if (has_op && (op != call.op->kind() || commutative != call.op->commutative() ||
                 has_function != has_function_of(*call.op)))
    return false;
  return (algorithm.empty() || algorithm == options.algorithm) &&
         (transport.empty() || transport == options.transport) &&
         (counts.empty() || std::ranges::equal(counts, options.counts));
}

std::size_t ShapeKey::hash() const noexcept {
  std::uint64_t hash =
      combine(static_cast<std::uint64_t>(collective),
              static_cast<std::uint64_t>(type) << 8 | static_cast<std::uint64_t>(op));
  hash = combine(combine(hash, in_count), out_count);
  hash = combine(combine(hash, segment), static_cast<std::uint64_t>(root));
  // The counts of a call whose vector is one block are rejected, and need not be readable.
  const bool has_blocks =
      point_to_point == PointToPoint::none && Contract{collective, 2}.blocks() > 1;
  for (const Counts list : {has_blocks ? counts : Counts{}, own.in, own.out})
    for (const std::size_t count : list) hash = combine(hash, count);
  hash = combine(hash, element_bytes);
  std::uint64_t flags = static_cast<std::uint64_t>(determinism);
  for (const bool flag : {commutative, visible, on_stream, is_bool, own_counts})
    flags = flags << 1 | static_cast<std::uint64_t>(flag);
  hash = combine(combine(hash, flags), static_cast<std::uint64_t>(point_to_point));
  hash = combine(combine(hash, static_cast<std::uint64_t>(to)), static_cast<std::uint64_t>(from));
  return combine(combine(combine(hash, algorithm), transport), name);
}

}  // namespace tutti::v0::detail

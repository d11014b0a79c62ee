#include "shape_key.hpp"

#include <algorithm>

#include "algorithms/hash.hpp"

namespace tutti::inline v0::detail {
namespace {

int number_of(const std::optional<Determinism>& level) noexcept {
  return level ? static_cast<int>(*level) : kDeterminisms;
}

}  // namespace

ShapeKey::ShapeKey(const Call& call, const Options& options) noexcept
    : collective{call.collective}, type{call.type}, op{call.op == nullptr ? OperatorKind::sum
                                                                          : call.op->kind()},
      has_op{call.op != nullptr}, commutative{call.op == nullptr || call.op->commutative()},
      root{call.root}, element_bytes{call.element_bytes}, in_count{call.in_count},
      out_count{call.out_count}, segment{options.segment}, visible{call.visible || options.visible},
      on_stream{options.stream.is_some()}, is_bool{call.is_bool},
      determinism{number_of(options.determinism)}, function{call.op == nullptr
                                                                ? nullptr
                                                                : call.op->function()},
      algorithm{options.algorithm}, transport{options.transport}, counts{options.counts},
      own_counts{call.own_counts}, own{call.in_counts, call.out_counts},
      point_to_point{call.point_to_point}, to{call.to}, from{call.from} {}

bool ShapeKey::fits(const Call& call, const Options& options) const noexcept {
  // Most calls of a loop fit, so all of it is looked at, without a branch between.
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
                       (has_op != (call.op != nullptr));
  if (differing_sizes != 0 || differs) return false;
  if (point_to_point != PointToPoint::none && (to != call.to || from != call.from)) return false;
  if (own_counts &&
      !(std::ranges::equal(own.in, call.in_counts) && std::ranges::equal(own.out, call.out_counts)))
    return false;
  if (has_op && (op != call.op->kind() || commutative != call.op->commutative() ||
                 function != call.op->function()))
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
  for (const Counts list : {counts, own.in, own.out})
    for (const std::size_t count : list) hash = combine(hash, count);
  hash = combine(hash, static_cast<std::uint64_t>(point_to_point));
  hash = combine(combine(hash, static_cast<std::uint64_t>(to)), static_cast<std::uint64_t>(from));
  return combine(combine(hash, algorithm), transport);
}

}  // namespace tutti::inline v0::detail

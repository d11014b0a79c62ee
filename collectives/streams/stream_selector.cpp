#include "stream_selector.hpp"

#include <utility>

#include <tutti/spi/stream_peers.hpp>

#include "collectives/binding/bind_shape.hpp"

namespace tutti::v0::detail {
namespace {

constexpr std::string_view kNative = "native";

NativeCall native_call_of(const Problem& problem) {
  NativeCall call{.collective = problem.contract.collective,
                  .type = problem.type,
                  .element_bytes = problem.element_bytes,
                  .root = problem.contract.root,
                  .count = problem.count};
  if (problem.op != nullptr) call.op = problem.op->kind();
  return call;
}

/// @return the places of the ranks' GPUs, without measurements of the host's network.
Placement placement_of(const StreamTransport& streams, const std::vector<int>& hosts) {
  std::vector<Locality> localities = streams.localities();
  expects(localities.empty() || localities.size() == hosts.size(),
          "if the places of GPUs in their hosts are known, the host of each rank is known");
  return {.hosts = hosts, .localities = std::move(localities)};
}

}  // namespace

StreamSelector::StreamSelector(StreamTransport& streams,
                               const std::shared_ptr<const Catalog>& catalog,
                               const std::vector<int>& hosts)
    : streams_{streams}, selectors_{std::vector{streams.cost_model()}, std::vector{streams.name()},
                                    catalog, placement_of(streams, hosts)} {}

/// If no algorithm is forced, the library's own call must keep every promise of the collective.
/// @return the reason why it cannot be used, or nothing.
std::string StreamSelector::why_not_native(const Problem& problem) const {
  const std::string name = streams_.name();
  if (!problem.counts.empty() || problem.own_counts)
    return name + " has no calls with unequal blocks";
  if (problem.count == 0 || !streams_.has_native(native_call_of(problem)))
    return name + " has no such call";
  if (problem.determinism > Determinism::rank_identical)
    return "its bits are its own, and " + std::string{name_of(problem.determinism)} +
           " is asked for";
  if (!problem.algorithm.empty()) return {};
  const bool is_extreme = problem.op != nullptr && (problem.op->kind() == OperatorKind::min ||
                                                    problem.op->kind() == OperatorKind::max);
  if (is_extreme && is_any_of(problem.type, ElementKind::real)) return "it treats NaN differently";
  if (problem.op != nullptr && problem.op->kind() == OperatorKind::average &&
      problem.type == Datatype::f16)
    return "it divides each contribution before the sum, which loses small ones";
  return {};
}

/// Whether the problem runs in memory that peers see. A round copies less than a rank's whole
/// vector to such memory, which limits the size.
bool StreamSelector::sees_peers(const Problem& problem) const {
  StreamPeers* const peers = streams_.peers();
  const bool is_user = problem.op != nullptr && problem.op->kind() == OperatorKind::user;
  return peers != nullptr && problem.visible && !problem.own_counts && !is_user &&
         problem.contract.collective != Collective::barrier &&
         problem.bytes() <=
             peers->scratch_bytes() / static_cast<std::size_t>(problem.contract.size);
}

/// @return the problem as it would run, so that its costs are predicted.
Problem StreamSelector::as_seen(const Problem& problem) const {
  Problem seen = problem;
  seen.visible = sees_peers(problem);
  return seen;
}

Binding StreamSelector::bind(const Problem& problem, Rank self) {
  const bool is_forced = problem.algorithm == kNative;
  if (is_forced || problem.algorithm.empty()) {
    const std::string why = why_not_native(problem);
    if (why.empty()) return bind_native(problem, self, native_call_of(problem), kNative);
    if (is_forced)
      throw Error{ErrorCode::invalid_argument, "the algorithm 'native' cannot serve: " + why};
  }
  const Problem seen = as_seen(problem);
  return bind_for_streams(seen, selectors_.select(seen).chosen, self);
}

std::string StreamSelector::explain(const Problem& problem) {
  const bool is_forced = problem.algorithm == kNative;
  if (!is_forced && !problem.algorithm.empty()) return select(problem).explain();
  const std::string why = why_not_native(problem);
  if (why.empty())
    return "native, " + streams_.name() +
           "'s own call: one kernel, where a schedule has one for each round";
  const std::string refusal = "native cannot serve: " + why;
  return is_forced ? refusal : refusal + "; " + select(problem).explain();
}

}  // namespace tutti::v0::detail

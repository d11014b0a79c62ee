#include "call_binder.hpp"

#include "bind_shape.hpp"
#include "check_call.hpp"
#include "point_to_point.hpp"

namespace tutti::v0::detail {
namespace {

/// @return the options of a call, with the communicator's in place of those that it leaves out.
Options completed(Options options, const Call& call, const CommunicatorOptions& defaults) {
  if (!options.determinism) options.determinism = defaults.determinism;
  const auto found = defaults.algorithms.find(call.collective);
  if (options.algorithm.empty() && found != defaults.algorithms.end())
    options.algorithm = found->second;
  if (options.stream.is_some()) options.segment = Options::kWhole;
  else if (options.transport.empty()) options.transport = defaults.transport;
  return options;
}

}  // namespace

Problem CallBinder::problem_of(const Call& call, const Options& options) const {
  Problem problem =
      check(call, completed(options, call, options_), transport_.self(), transport_.size());
  problem.accepts_shorter = options_.accepts_shorter && problem.op == nullptr;
  return problem;
}

std::shared_ptr<const Binding> CallBinder::bind(const Call& call, const Options& options) {
  if (call.point_to_point != PointToPoint::none) {
    check_point_to_point(call, options, transport_.size());
    return std::make_shared<const Binding>(bind_point_to_point(call));
  }
  const Problem problem = problem_of(call, options);
  const Candidate chosen = selectors_.select(problem).chosen;
  const int in_flight = options_.segments_in_flight;
  Binding binding = bind_shape(problem, chosen, transport_, in_flight);
  calls_.describe(binding.fingerprint, words_of(problem, chosen, binding, in_flight));
  return std::make_shared<const Binding>(std::move(binding));
}

}  // namespace tutti::v0::detail

#include "engine.hpp"

#include <algorithm>
#include <new>

#include <tutti/spi/fingerprint.hpp>

#include "bind_shape.hpp"
#include "check_call.hpp"
#include "point_to_point.hpp"

namespace tutti::v0::detail {
namespace {

std::vector<std::string> ways_of(const Transport& transport) {
  const Capabilities& can = transport.capabilities();
  return can.transports.empty() ? std::vector<std::string>{can.name} : can.transports;
}

/// Those that nobody tells are assumed.
std::vector<CostModel> tariffs_of(CommunicatorParts& communicator_parts, std::size_t transports) {
  std::vector<CostModel> cost_models{std::move(communicator_parts.cost_model)};
  std::ranges::move(communicator_parts.other_cost_models, std::back_inserter(cost_models));
  cost_models.resize(transports);
  return cost_models;
}

/// A call's options, and the communicator's where the call says nothing.
Options completed(Options options, const Call& call, const CommunicatorOptions& usual) {
  if (!options.determinism) options.determinism = usual.determinism;
  const auto found = usual.algorithms.find(call.collective);
  if (options.algorithm.empty() && found != usual.algorithms.end())
    options.algorithm = found->second;
  if (options.stream.is_some()) options.segment = Options::kWhole;
  else if (options.transport.empty()) options.transport = usual.transport;
  return options;
}

}  // namespace

void reject_empty() {
  throw Error{ErrorCode::invalid_argument, "the communicator is empty, because it was moved from"};
}

Engine::Engine(CommunicatorParts communicator_parts, std::shared_ptr<Memory> memory,
               const CommunicatorOptions& options)
    : group_{std::move(communicator_parts.group)}, calls_{communicator_parts.calls
                                                              ? std::move(communicator_parts.calls)
                                                              : std::make_shared<CallCounter>()},
      transport_{std::move(communicator_parts.transport)}, outbox_{*transport_},
      memory_{std::move(memory)}, options_{options}, hosts_{communicator_parts.hosts},
      selectors_{tariffs_of(communicator_parts, ways_of(*transport_).size()),
                 ways_of(*transport_),
                 options.catalog,
                 {std::move(communicator_parts.hosts),
                  std::move(communicator_parts.localities),
                  {},
                  std::move(communicator_parts.shared_config)}},
      scratch_{*memory_, options.cache_bytes}, cache_{outbox_, scratch_, *calls_,
                                                      options.cache_bytes,
                                                      options.segments_in_flight},
      order_{transport_->capabilities().tags, kUserTags},
      failures_{{*transport_, order_, *calls_, group_.get(),
                 std::move(communicator_parts.failure_signal)}},
      payloads_{options.cache_bytes, group_.get()}, progress_{{*transport_, order_, *calls_,
                                                               failures_, options_}} {
  if (options_.segments_in_flight < 1 || options_.segments_in_flight > 8)
    throw Error{ErrorCode::invalid_argument, "segments_in_flight is " +
                                                 std::to_string(options_.segments_in_flight) +
                                                 ", expected 1 .. 8"};
  if (options_.timeout <= Duration::zero())
    throw Error{ErrorCode::invalid_argument,
                "the timeout is " + std::to_string(options_.timeout.count()) +
                    " ns; expected more than zero, or Duration::max() to wait for ever"};
  check_enumerator("the communicator", "determinism", static_cast<int>(options_.determinism),
                   kDeterminisms);
  for (const auto& [collective, algorithm] : options_.algorithms)
    static_cast<void>(options_.catalog ? parse_choice(*options_.catalog, collective, algorithm)
                                       : parse_choice(collective, algorithm));
  static_cast<void>(selectors_.way_of(options_.transport));
  if (!options_.progress_thread) return;
  if (!transport_->capabilities().threads)
    throw Error{ErrorCode::invalid_argument,
                "CommunicatorOptions::progress_thread calls the transport '" +
                    transport_->capabilities().name +
                    "' from a thread of its own, which it does not allow: an MPI needs "
                    "MPI_THREAD_MULTIPLE; start it by MPI_Init_thread"};
  transport_->expect_idle_waits();
  progress_thread_ = ProgressThread::of_process();
  progress_thread_->add(*this);
}

Group& Engine::group() const {
  if (group_ == nullptr)
    throw Error{ErrorCode::invalid_argument,
                "a communicator made from a transport alone cannot make groups"};
  return *group_;
}

Engine::Shape& Engine::shape_for(const Call& call, const Options& options) {
  if (Shape* const known = cache_.find(call, options)) return *known;
  return cache_.add(call, options, bind_shape(call, options));
}

std::shared_ptr<const Binding> Engine::bind_shape(const Call& call, const Options& options) {
  if (call.point_to_point != PointToPoint::none) {
    check_point_to_point(call, options, transport_->size());
    return std::make_shared<const Binding>(bind_point_to_point(call));
  }
  const Problem problem = problem_of(call, options);
  if (options.stream.is_some())
    return std::make_shared<const Binding>(streamed().bind(problem, transport_->self()));
  const Candidate chosen = selectors_.select(problem).chosen;
  Binding binding = detail::bind_shape(problem, chosen, *transport_, options_.segments_in_flight);
  calls_->describe(binding.fingerprint,
                   words_of(problem, chosen, binding, options_.segments_in_flight));
  return std::make_shared<const Binding>(std::move(binding));
}

Execution* Engine::acquire(const Call& call, const Options& options) {
  return &cache_.acquire(*ready_for(call, options).shape, progress_.in_use());
}

Execution* Engine::acquire_plan(const Call& call, const Options& options) {
  Execution* const execution = acquire(call, options);
  const Binding& binding = execution->binding();
  if (!binding.is_collective) return execution;
  const std::uint64_t plan = order_.next_plan();
  execution->set_plan(plan);
  if (plan != 0) calls_->add_plan(plan, binding.fingerprint);
  return execution;
}

/// An idle execution, which knows the call's tag.
Engine::CachedExecution& Engine::ready_for(const Call& call, const Options& options) {
  failures_.check();
  if (options.timeout < Duration::zero()) check_timeout("the call", options.timeout);
  if (call.point_to_point != PointToPoint::none) check_tag(call, order_.user_tags());
  CachedExecution& held = cache_.idle(shape_for(call, options));
  held.execution.set_user_tag(call.tag);
  return held;
}

/// Most calls of a loop are like the one before, and many end as they begin: those acquire nothing.
void Engine::run(const Call& call, const Options& options) {
  CachedExecution& held = ready_for(call, options);
  Shape& shape = *held.shape;
  if (shape.binding->is_collective && !progress_.has_room(1))
    return run_later(shape, call, options);
  Execution& execution = held.execution;
  try {
    start(execution, call.in, call.out, options.timeout);
  } catch (...) {
    cache_.recount(held);
    if (!execution.done())
      cache_.acquire(shape, progress_.in_use());  // peers may still write into its memory
    throw;
  }
  if (!execution.done()) {
    cache_.acquire(shape, progress_.in_use());
    progress_.wait(execution);
    return release(&execution);
  }
  execution.rest();
  cache_.recount(held);
  progress_.end(execution);
  if (!progress_.in_use().empty())
    progress_.poll();  // what else is under way goes on whenever something is called
  cache_.evict();
}

/// Of a call that older ones have to make room for.
void Engine::run_later(Shape& shape, const Call& call, const Options& options) {
  Execution& execution = cache_.acquire(shape, progress_.in_use());
  try {
    start(execution, call.in, call.out, options.timeout);
  } catch (...) {
    release(&execution);
    throw;
  }
  progress_.wait(execution);
  release(&execution);
}

void Engine::check_start(const Execution& execution, const void* in, const void* out) {
  const Binding& binding = execution.binding();
  const bool is_barrier = binding.layout().contract().collective == Collective::barrier;
  if (!is_barrier && !execution.ran_on(in, out))
    check_buffers(binding.name, binding.layout(), binding.element_bytes, in, out);
}

void Engine::start(Execution& execution, const void* in, void* out, Duration timeout) {
  failures_.check();
  check_start(execution, in, out);
  if (timeout == Duration::zero()) timeout = options_.timeout;
  if (!execution.is_ordered() || progress_.has_room(1))
    return progress_.begin(execution, in, out, timeout);
  progress_.hold(execution, in, out, timeout);
}

Problem Engine::problem_of(const Call& call, const Options& options) const {
  return check(call, completed(options, call, options_), transport_->self(), transport_->size());
}

Selection Engine::select(const Call& call, const Options& options) {
  const Problem problem = problem_of(call, options);
  return options.stream.is_some() ? streamed().select(problem)
                                  : selectors_.select_with_times(problem);
}

std::string Engine::explain(const Call& call, const Options& options) {
  if (call.point_to_point != PointToPoint::none) {
    check_point_to_point(call, options, transport_->size());
    return words_of(bind_point_to_point(call), call.tag) + ": as it is, without an algorithm";
  }
  const Problem problem = problem_of(call, options);
  return std::string{name_of(call.collective)} + " of " + std::to_string(problem.bytes()) +
         " bytes on " + std::to_string(transport_->size()) + " ranks: " +
         (options.stream.is_some() ? streamed().explain(problem)
                                   : selectors_.select_with_times(problem).explain());
}

}  // namespace tutti::v0::detail

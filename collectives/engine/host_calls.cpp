#include "host_calls.hpp"

#include <tutti/spi/rejection.hpp>

#include "collectives/binding/check_call.hpp"
#include "collectives/binding/point_to_point.hpp"

namespace tutti::v0::detail {

Execution* HostCalls::acquire(const Call& call, const Options& options) {
  return &binder_.cache().acquire(*ready_for(call, options).shape, progress_.active().in_use());
}

Execution* HostCalls::acquire_plan(const Call& call, const Options& options) {
  Execution* const execution = acquire(call, options);
  const Binding& binding = execution->binding();
  if (!binding.is_collective) return execution;
  const std::uint64_t plan = diagnosis_.order().next_plan();
  execution->set_plan(plan);
  if (plan != 0) diagnosis_.counter().add_plan(plan, binding.fingerprint);
  return execution;
}

/// @return an idle execution with the call's tag and operator.
HostCalls::CachedExecution& HostCalls::ready_for(const Call& call, const Options& options) {
  diagnosis_.failures().check();
  if (options.timeout < Duration::zero()) check_timeout("the call", options.timeout);
  if (call.point_to_point != PointToPoint::none) {
    check_tag(call, diagnosis_.order().user_tags());
    if (call.point_to_point != PointToPoint::send) progress_.precede_receive(call.from, call.tag);
  }
  CachedExecution& cached = binder_.cache().idle(binder_.shape_for(call, options));
  cached.execution.set_user_tag(call.tag);
  if (cached.execution.binding().op == OperatorKind::user) cached.execution.hold(*call.op);
  return cached;
}

/// Most calls of a loop have the same shape as the previous one, and many end when they start:
/// these acquire no execution.
void HostCalls::run(const Call& call, const Options& options) {
  ProgramCache& cache = binder_.cache();
  CachedExecution& cached = ready_for(call, options);
  Shape& shape = *cached.shape;
  if (shape.binding->is_collective && !progress_.has_room(1))
    return run_later(shape, call, options);
  Execution& execution = cached.execution;
  try {
    check_start(execution, call.in, call.out);
    progress_.begin(
        execution, call.in, call.out,
        options.timeout == Duration::zero() ? progress_.options().timeout : options.timeout);
  } catch (...) {
    if (execution.done()) execution.reset();
    cache.recount(cached);
    if (!execution.done())
      cache.acquire(shape, progress_.active().in_use());  // peers may still write into its memory
    throw;
  }
  if (!execution.done()) {
    cache.acquire(shape, progress_.active().in_use());
    progress_.wait(execution);
    return release(&execution);
  }
  execution.reset();
  cache.recount(cached);
  progress_.unmatched().look_after(execution);
  if (!progress_.active().in_use().empty())
    progress_.poll();  // all pending operations advance in every call
  cache.evict();
}

/// Starts a call that must wait for older ones to end.
void HostCalls::run_later(Shape& shape, const Call& call, const Options& options) {
  Execution& execution = binder_.cache().acquire(shape, progress_.active().in_use());
  try {
    start(execution, call.in, call.out, options.timeout);
  } catch (...) {
    release(&execution);
    throw;
  }
  progress_.wait(execution);
  release(&execution);
}

void HostCalls::check_start(const Execution& execution, const void* in, const void* out) const {
  diagnosis_.failures().check();
  const Binding& binding = execution.binding();
  if (!binding.is_barrier() && !execution.ran_on(in, out))
    check_buffers(binding.name, binding.layout(), binding.element_bytes, in, out);
}

void HostCalls::start(Execution& execution, const void* in, void* out, Duration timeout) {
  check_start(execution, in, out);
  if (timeout == Duration::zero()) timeout = progress_.options().timeout;
  if (!execution.is_ordered() || progress_.has_room(1))
    return progress_.begin(execution, in, out, timeout);
  progress_.queue(execution, in, out, timeout);
}

/// Other ranks can inquire about the skipped call as about any other.
void HostCalls::skip(const std::string& words) {
  const std::uint64_t fingerprint = fingerprint_of_rejection(words);
  diagnosis_.counter().describe(fingerprint, words);
  static_cast<void>(diagnosis_.order().next());
  diagnosis_.counter().begin(diagnosis_.order().count(), fingerprint);
  diagnosis_.counter().forget(fingerprint);
}

void HostCalls::release(Execution* execution) noexcept {
  execution->notice().send();
  if (execution->is_queued()) return diagnosis_.failures().give_up(execution->state());
  ActiveCalls::List& in_use = progress_.active().in_use();
  const auto found = ActiveCalls::find(in_use, *execution);
  if (found == in_use.end()) return;
  // If abort could not stop the peers, they may still write into its memory, so it is kept.
  if (!execution->done()) return diagnosis_.failures().give_up(execution->state());
  if (execution->plan() != 0) progress_.unmatched().end_plan(*execution);
  execution->reset();
  binder_.cache().put_back(in_use, found);
}

}  // namespace tutti::v0::detail

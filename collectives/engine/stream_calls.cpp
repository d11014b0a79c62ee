#include "stream_calls.hpp"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include <tutti/attempt.hpp>

#include "collectives/binding/call_fields.hpp"
#include "collectives/binding/check_call.hpp"
#include "collectives/binding/point_to_point.hpp"

namespace tutti::v0::detail {
namespace {

/// The first tests of a call only yield between them, since short calls end within them.
constexpr int kLooks = 200;
/// The sleep between two later tests.
constexpr std::chrono::microseconds kNap{20};

[[noreturn]] void reject(const std::string& why) {
  throw Error{ErrorCode::invalid_argument, why};
}

void check_on_host(const StreamTransport& streams, const char* which, const void* data) {
  if (data != nullptr && streams.is_on_device(data))
    reject(std::string{"the "} + which +
           " lies in memory of a GPU, which calls of the host cannot touch; give Options::stream, "
           "or Stream::own() if there is none");
}

/// Rejects a call that cannot run on streams. @param name of the transport.
void check_call(const Call& call, const Options& options, const std::string& name) {
  if (!options.transport.empty() && options.transport != name)
    reject("a call on a stream goes by " + name + ", which is attached; leave transport \"" +
           std::string{options.transport} + "\" out");
  if (call.point_to_point == PointToPoint::recv && call.from == any_rank)
    reject("a receive on a stream must name its sender; any_rank is not possible");
  if (call.point_to_point != PointToPoint::none && call.tag != 0)
    reject(
        "on a stream messages of two ranks are received in the order in which they are sent, and " +
        ("have no tag; leave tag " + std::to_string(call.tag) + " out"));
  if (reads_operator(call) && call.op != nullptr && call.op->kind() == OperatorKind::user &&
      call.op->device_function() == nullptr)
    reject(
        "a user's operator is a function of the host, which a GPU cannot run; give it one of the "
        "GPU by Operator::with_device");
}

}  // namespace

void StreamCalls::check_on_host(const Call& call, Rank self) const {
  detail::check_on_host(*streams_, "input", reads_input(call, self) ? call.in : nullptr);
  detail::check_on_host(*streams_, "output", writes_output(call, self) ? call.out : nullptr);
}

void StreamCalls::check_on_host(const Layout& layout, const void* in, const void* out) const {
  if (layout.contract().collective == Collective::barrier) return;
  detail::check_on_host(*streams_, "input", layout.in_total() > 0 ? in : nullptr);
  detail::check_on_host(*streams_, "output", layout.out_total() > 0 ? out : nullptr);
}

Binding StreamCalls::bind(const Call& call, const Options& options) {
  if (call.point_to_point != PointToPoint::none) {
    check_point_to_point(call, options, calls_.progress().transport().size());
    return bind_point_to_point(call);
  }
  return selector_.bind(calls_.binder().problem_of(call, options),
                        calls_.progress().transport().self());
}

std::shared_ptr<StreamExecution> StreamCalls::acquire(const Call& call, const Options& options) {
  failures().check();
  if (options.timeout < Duration::zero()) check_timeout("the call", options.timeout);
  check_call(call, options, streams_->name());
  ProgramCache& cache = calls_.binder().cache();
  ProgramCache::Shape* shape = cache.find(call, options);
  if (shape == nullptr)
    shape = &cache.add(call, options, std::make_shared<const Binding>(bind(call, options)));
  cache.recount(*shape);
  auto execution = std::make_shared<StreamExecution>(
      *streams_, shape->binding, stream_of(options.stream),
      options.timeout == Duration::zero() ? calls_.progress().options().timeout : options.timeout);
  execution->set_buffers({call.in, call.out});
  if (reads_operator(call)) execution->set_operator(*call.op);
  if (options.stream.is_own()) execution->set_awaited();
  cache.evict();
  return execution;
}

void StreamCalls::run(const Call& call, const Options& options) {
  const std::shared_ptr<StreamExecution> execution = acquire(call, options);
  start(*execution);
  if (execution->is_awaited()) wait(*execution);
}

void StreamCalls::check(const StreamExecution& call) {
  failures().check();
  const Binding& binding = call.binding();
  if (!binding.is_barrier())
    check_buffers(binding.name, binding.layout(), binding.element_bytes, call.buffers().in,
                  call.buffers().out);
  examine([&] { call.check(); });
  if (compares_ && binding.is_collective) compare(binding);
}

/// Compares the calls of all ranks over the host's transport. All ranks find the same difference.
void StreamCalls::compare(const Binding& binding) {
  const std::uint64_t own = binding.fingerprint;
  std::vector<std::uint64_t> all(static_cast<std::size_t>(calls_.progress().transport().size()));
  calls_.run(call::all_gather(std::span{&own, 1}, std::span{all}), {});
  const auto other = std::ranges::find_if(
      all, [&](std::uint64_t fingerprint) { return fingerprint != all.front(); });
  if (other == all.end()) return;
  const auto rank = static_cast<Rank>(other - all.begin());
  const Error error{ErrorCode::mismatch,
                    "rank " + std::to_string(rank) +
                        " calls something else on its stream than rank 0; all ranks must call the "
                        "same with equal counts, types and options. This rank calls " +
                        std::string{binding.name} + " by " + binding.algorithm,
                    rank};
  streams_->abort(error);
  failures().fail(error);
}

/// If the communicator has failed, aborts the enqueued calls, so that streams continue.
void StreamCalls::check_failures() const {
  try {
    failures().check();
  } catch (const Error& error) {
    streams_->abort(error);
    throw;
  }
}

/// Aborts the enqueued calls too, since other ranks may wait for a call that this one does not
/// enqueue.
void StreamCalls::fail_as_caught() {
  streams_->abort(detail::attempt([] { throw; }).error());
  failures().fail_as_caught();
}

/// Runs a part of a call. An exception of it fails the communicator.
template <class Action>
void StreamCalls::attempt(Action action) {
  check_failures();
  try {
    action();
  } catch (...) {
    fail_as_caught();
  }
}

/// Runs a check before anything is enqueued. A wrong argument does not fail the communicator.
template <class Action>
void StreamCalls::examine(Action action) {
  check_failures();
  try {
    action();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::invalid_argument) throw;
    fail_as_caught();
  } catch (...) {
    fail_as_caught();
  }
}

void StreamCalls::start(StreamExecution& call) {
  check(call);
  attempt([&] { call.start(); });
}

bool StreamCalls::test(StreamExecution& call) {
  check_started(call.is_enlisted());
  if (!call.is_pending()) return true;
  bool has_ended = false;
  attempt([&] {
    if (calls_.progress().has_anything_pending()) calls_.progress().step_for_progress();
    calls_.progress().drive_others();
    failures().check_signal();
    streams_->check_health();
    has_ended = call.find_end();
  });
  return has_ended;
}

void StreamCalls::wait(StreamExecution& call) {
  const Clock::time_point begin = Clock::now();
  for (int looks = 0; !test(call); ++looks) pause(call, begin, looks);
}

void StreamCalls::wait_for_stream(Stream stream, Duration timeout) {
  check_timeout("the wait", timeout);
  StreamExecution all{*streams_, nullptr, stream_of(stream), timeout};
  all.set_awaited();
  examine([&] {
    all.check();
    all.mark_end();
  });
  wait(all);
}

void StreamCalls::pause(const StreamExecution& call, Clock::time_point since, int looks) {
  if (looks < kLooks) return std::this_thread::yield();
  attempt([&] { failures().check_interrupt(); });
  if (Clock::now() - since >= call.timeout())
    attempt([] {
      throw Error{ErrorCode::timeout,
                  "the calls enqueued on a stream did not end in time; another rank has not "
                  "entered the same calls, or is gone"};
    });
  std::this_thread::sleep_for(kNap);
}

void StreamCalls::enlist(std::shared_ptr<StreamExecution> call, bool blocks) {
  check(*call);
  call->set_enlisted(true);
  enlisted_.push_back(call);
  if (blocks) awaited_.push_back(std::move(call));
}

/// Enqueues messages first, since they wait for each other regardless of the collectives between
/// them, then collectives in the order that is the same on all ranks.
void StreamCalls::start_enlisted() {
  const std::vector<std::shared_ptr<StreamExecution>> calls = std::exchange(enlisted_, {});
  std::vector<std::shared_ptr<StreamExecution>> messages;
  for (const auto& call : calls) {
    call->set_enlisted(false);
    if (!call->binding().is_collective) messages.push_back(call);
  }
  if (!messages.empty()) attempt([&] { StreamExecution::start_together(messages); });
  for (const auto& call : calls)
    if (call->binding().is_collective) attempt([&] { call->start(); });
}

void StreamCalls::wait_awaited() {
  for (const auto& call : awaited_) wait(*call);
}

void StreamCalls::end_batch() noexcept {
  for (const auto& call : enlisted_) call->set_enlisted(false);
  enlisted_.clear();
  awaited_.clear();
}

}  // namespace tutti::v0::detail

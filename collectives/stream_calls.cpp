#include "stream_calls.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include <tutti/attempt.hpp>

#include "bind_shape.hpp"
#include "call_fields.hpp"
#include "check_call.hpp"
#include "streamed.hpp"

namespace tutti::v0::detail {
namespace {

constexpr std::string_view kNative = "native";
/// Between two looks at a stream, after the first ones: short calls are over before.
constexpr std::chrono::microseconds kNap{20};
constexpr int kLooks = 200;

[[noreturn]] void reject(const std::string& why) {
  throw Error{ErrorCode::invalid_argument, why};
}

NativeCall native_call_of(const Problem& problem) {
  NativeCall call{.collective = problem.contract.collective,
                  .type = problem.type,
                  .element_bytes = problem.element_bytes,
                  .root = problem.contract.root,
                  .count = problem.count};
  if (problem.op != nullptr) call.op = problem.op->kind();
  return call;
}

/// Where the ranks' GPUs are. What was measured or told of the host's network is none of theirs.
Placement placement_of(const StreamTransport& streams, const std::vector<int>& hosts) {
  std::vector<Locality> localities = streams.localities();
  expects(localities.empty() || localities.size() == hosts.size(),
          "where it is known in which part of its host a GPU is, each rank's host is known");
  return {.hosts = hosts, .localities = std::move(localities)};
}

bool is_barrier(const Binding& binding) noexcept {
  return binding.is_collective && binding.layout().contract().collective == Collective::barrier;
}

}  // namespace

StreamCalls::StreamCalls(std::shared_ptr<StreamTransport> streams,
                         const std::shared_ptr<const Catalog>& catalog,
                         const std::vector<int>& hosts, Failures& failures,
                         std::function<void()> poll_host)
    : streams_{std::move(streams)}, selectors_{std::vector{streams_->cost_model()},
                                               std::vector{streams_->name()}, catalog,
                                               placement_of(*streams_, hosts)},
      failures_{failures}, poll_host_{std::move(poll_host)} {}

void StreamCalls::check_on_host(const void* in, const void* out) const {
  const auto check = [&](const char* which, const void* data) {
    if (data != nullptr && streams_->is_on_device(data))
      reject(std::string{"the "} + which +
             " lies in memory of a GPU, which calls of the host cannot touch; say Options::stream, "
             "or Stream::own() where there is none");
  };
  check("input", in);
  check("output", out);
}

/// Of what chooses by itself: the library's own call is taken where it keeps what is promised.
std::string StreamCalls::why_not_native(const Problem& problem) const {
  const std::string name = streams_->name();
  if (!problem.counts.empty() || problem.own_counts)
    return name + " has no calls of unequal blocks";
  if (problem.count == 0 || !streams_->has_native(native_call_of(problem)))
    return name + " has no such call";
  if (problem.determinism > Determinism::rank_identical)
    return "its bits are its own, and " + std::string{name_of(problem.determinism)} +
           " is asked for";
  if (!problem.algorithm.empty()) return {};
  const bool is_extreme = problem.op != nullptr && (problem.op->kind() == OperatorKind::min ||
                                                    problem.op->kind() == OperatorKind::max);
  if (is_extreme && is_any_of(problem.type, ElementKind::real))
    return "it gives NaN another meaning";
  if (problem.op != nullptr && problem.op->kind() == OperatorKind::average &&
      problem.type == Datatype::f16)
    return "it divides each contribution first, which loses small ones";
  return {};
}

/// What a round sends of memory that peers do not see is less than what every rank has.
bool StreamCalls::sees_peers(const Problem& problem) const {
  StreamPeers* const peers = streams_->peers();
  const bool is_user = problem.op != nullptr && problem.op->kind() == OperatorKind::user;
  return peers != nullptr && problem.visible && !problem.own_counts && !is_user &&
         problem.contract.collective != Collective::barrier &&
         problem.bytes() <=
             peers->scratch_bytes() / static_cast<std::size_t>(problem.contract.size);
}

/// @return the problem, with costs of what runs.
Problem StreamCalls::as_seen(const Problem& problem) const {
  Problem seen = problem;
  seen.visible = sees_peers(problem);
  return seen;
}

Binding StreamCalls::bind(const Problem& problem, Rank self) {
  const bool is_forced = problem.algorithm == kNative;
  if (is_forced || problem.algorithm.empty()) {
    const std::string why = why_not_native(problem);
    if (why.empty()) return bind_native(problem, self, native_call_of(problem), kNative);
    if (is_forced) reject("the algorithm 'native' cannot serve: " + why);
  }
  const Problem seen = as_seen(problem);
  return bind_for_streams(seen, selectors_.select(seen).chosen, self);
}

std::string StreamCalls::explain(const Problem& problem) {
  const bool is_forced = problem.algorithm == kNative;
  if (!is_forced && !problem.algorithm.empty()) return select(problem).explain();
  const std::string why = why_not_native(problem);
  if (why.empty())
    return "native, " + streams_->name() +
           "'s own call: one kernel, where a schedule has one for each round";
  const std::string refusal = "native cannot serve: " + why;
  return is_forced ? refusal : refusal + "; " + select(problem).explain();
}

void StreamCalls::check_call(const Call& call, const Options& options) const {
  if (!options.transport.empty() && options.transport != streams_->name())
    reject("a call on a stream goes by " + streams_->name() +
           ", which is attached; leave transport \"" + std::string{options.transport} + "\" out");
  if (call.point_to_point == PointToPoint::recv && call.from == any_rank)
    reject("on a stream a message has a sender; any_rank is none");
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

void StreamCalls::check_captured(const StreamedCall& call) const {
  const bool sends = call.binding != nullptr && !call.binding->is_visible;
  const bool needs_host = sends && !streams_->is_capturable();
  if ((!call.is_marked && !needs_host) || !streams_->is_captured(call.stream)) return;
  if (needs_host)
    reject("calls on this stream cannot be captured in a graph: '" + streams_->name() +
           "' hands messages to a thread of the host; attach the GPU by \"nccl\"");
  if (call.is_marked)
    reject(
        "a stream that is captured in a graph does nothing now; what waits for it, such as a "
        "call with a handle, cannot be captured");
}

void StreamCalls::check(const StreamedCall& call) {
  failures_.check();
  const Binding& binding = *call.binding;
  const Layout& layout = binding.layout();
  std::span<const std::byte> in;
  std::span<std::byte> out;
  if (!is_barrier(binding)) {
    check_buffers(binding.name, layout, binding.element_bytes, call.buffers.in, call.buffers.out);
    in = {static_cast<const std::byte*>(call.buffers.in),
          layout.in_total() * binding.element_bytes};
    out = {static_cast<std::byte*>(call.buffers.out), layout.out_total() * binding.element_bytes};
  }
  examine([&] {
    streams_->check(call.stream, in, out);
    check_captured(call);
  });
}

/// What is enqueued is aborted where the communicator has failed, so that streams go on.
void StreamCalls::check_failures() const {
  try {
    failures_.check();
  } catch (const Error& error) {
    streams_->abort(error);
    throw;
  }
}

/// Other ranks may wait for what is not enqueued, or not seen, any more.
void StreamCalls::fail_as_caught() {
  streams_->abort(detail::attempt([] { throw; }).error());
  failures_.fail_as_caught();
}

/// Does a part of a call. What that throws fails the communicator.
template <class Part>
void StreamCalls::attempt(Part part) {
  check_failures();
  try {
    part();
  } catch (...) {
    fail_as_caught();
  }
}

/// Looks at a call before anything is enqueued: a wrong argument changes nothing.
template <class Part>
void StreamCalls::examine(Part part) {
  check_failures();
  try {
    part();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::invalid_argument) throw;
    fail_as_caught();
  } catch (...) {
    fail_as_caught();
  }
}

void StreamCalls::mark(StreamedCall& call) {
  examine([&] {
    streams_->check(call.stream, {}, {});
    check_captured(call);
    call.mark = streams_->mark(call.stream);
  });
}

void StreamCalls::start(StreamedCall& call) {
  attempt([&] {
    const Binding& binding = *call.binding;
    if (binding.native)
      streams_->run_native(*binding.native, static_cast<const std::byte*>(call.buffers.in),
                           static_cast<std::byte*>(call.buffers.out), call.stream);
    else if (binding.is_visible) enqueue_visible(binding, call.buffers, *streams_, call.stream);
    else enqueue(binding, call.buffers, *streams_, call.stream);
    if (call.is_marked) call.mark = streams_->mark(call.stream);
  });
}

bool StreamCalls::test(StreamedCall& call) {
  check_started(call.is_enlisted);
  if (call.mark == nullptr) return true;
  bool is_done = false;
  attempt([&] {
    poll_host_();
    failures_.check_alarm();
    streams_->check_health();
    is_done = call.mark->is_done();
    if (!is_done) return;
    // What failed meanwhile may be what let the stream go on.
    streams_->check_health();
    if (streams_->peers() != nullptr) streams_->peers()->check();
  });
  if (is_done) call.mark.reset();
  return is_done;
}

void StreamCalls::wait(StreamedCall& call) {
  const Clock::time_point begin = Clock::now();
  for (int looks = 0; !test(call); ++looks) rest(call, begin, looks);
}

void StreamCalls::rest(const StreamedCall& call, Clock::time_point since, int looks) {
  if (looks < kLooks) return std::this_thread::yield();
  if (Clock::now() - since >= call.timeout)
    attempt([] {
      throw Error{ErrorCode::timeout,
                  "what was enqueued on a stream has not ended in time; another rank has not "
                  "entered the same calls, or is gone"};
    });
  std::this_thread::sleep_for(kNap);
}

void StreamCalls::enlist(std::shared_ptr<StreamedCall> call, bool blocks) {
  call->is_enlisted = true;
  enlisted_.push_back(call);
  if (blocks) awaited_.push_back(std::move(call));
}

/// As one group, on the stream of the first one. That follows the others', which then follow it.
void StreamCalls::enqueue_messages(std::span<const std::shared_ptr<StreamedCall>> calls) {
  const Stream stream = calls.front()->stream;
  std::vector<StreamedMessage> messages;
  for (const auto& call : calls) {
    messages.push_back({*call->binding, call->buffers});
    streams_->follow(stream, call->stream);
  }
  enqueue_together(messages, *streams_, stream);
  for (const auto& call : calls) {
    streams_->follow(call->stream, stream);
    if (call->is_marked) call->mark = streams_->mark(call->stream);
  }
}

/// Messages wait for each other, whatever collectives stand between them, so they are enqueued
/// first; then collectives, in the order that is the same on all ranks.
void StreamCalls::start_enlisted() {
  const std::vector<std::shared_ptr<StreamedCall>> calls = std::exchange(enlisted_, {});
  std::vector<std::shared_ptr<StreamedCall>> messages;
  for (const auto& call : calls) {
    call->is_enlisted = false;
    if (!call->binding->is_collective) messages.push_back(call);
  }
  if (!messages.empty()) attempt([&] { enqueue_messages(messages); });
  for (const auto& call : calls)
    if (call->binding->is_collective) start(*call);
}

void StreamCalls::wait_awaited() {
  for (const auto& call : awaited_) wait(*call);
}

void StreamCalls::end_batch() noexcept {
  for (const auto& call : enlisted_) call->is_enlisted = false;
  enlisted_.clear();
  awaited_.clear();
}

}  // namespace tutti::v0::detail

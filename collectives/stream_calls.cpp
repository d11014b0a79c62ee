#include "stream_calls.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "bind_shape.hpp"
#include "check_call.hpp"
#include "streamed.hpp"

namespace tutti::inline v0::detail {
namespace {

constexpr std::string_view kNative = "native";
/// Between two looks at a stream, after the first ones: short calls are over before.
constexpr std::chrono::microseconds kNap{20};
constexpr int kLooks = 200;

[[noreturn]] void refuse(const std::string& why) {
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

/// The same of a problem that was bound.
NativeCall native_call_of(const Binding& binding) {
  const Contract& contract = binding.layout().contract();
  NativeCall call{.collective = contract.collective,
                  .type = binding.type,
                  .element_bytes = binding.element_bytes,
                  .root = contract.root,
                  .count = binding.layout().largest()};
  if (is_reduction(contract.collective)) call.op = binding.op.kind();
  return call;
}

bool is_real(Datatype type) noexcept {
  return type == Datatype::f16 || type == Datatype::bf16 || type == Datatype::f32 ||
         type == Datatype::f64;
}

/// Where the ranks' GPUs are. What was measured or told of the host's network is none of theirs.
Surroundings surroundings_of(const StreamTransport& streams, const std::vector<int>& hosts) {
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
                         const std::vector<int>& hosts, Failures& failures)
    : streams_{std::move(streams)}, selectors_{std::vector{streams_->tariff()},
                                               std::vector{streams_->name()}, catalog,
                                               surroundings_of(*streams_, hosts)},
      failures_{failures} {}

void StreamCalls::check_on_host(const Call& call) const {
  const auto check = [&](const char* which, const void* data) {
    if (data != nullptr && streams_->is_on_device(data))
      refuse(std::string{"the "} + which +
             " lies in memory of a GPU, which calls of the host cannot touch; say Options::stream, "
             "or Stream::own() where there is none");
  };
  check("input", call.in);
  check("output", call.out);
}

/// Of what chooses by itself: the library's own call is taken where it keeps what is promised.
std::string StreamCalls::why_not_native(const Problem& problem) const {
  const std::string name = streams_->name();
  if (!problem.counts.empty() || problem.own_counts)
    return name + " has no calls of unequal blocks";
  if (problem.count == 0 || !streams_->has_native(native_call_of(problem)))
    return name + " has no such call";
  if (!problem.algorithm.empty()) return {};
  if (problem.determinism > Determinism::rank_identical)
    return "its bits are its own, and " + std::string{name_of(problem.determinism)} +
           " is asked for";
  const bool is_extreme = problem.op != nullptr && (problem.op->kind() == OperatorKind::min ||
                                                    problem.op->kind() == OperatorKind::max);
  if (is_extreme && is_real(problem.type)) return "it gives NaN another meaning";
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

Binding StreamCalls::bind(const Problem& problem, Rank self) {
  const bool is_forced = problem.algorithm == kNative;
  if (is_forced || problem.algorithm.empty()) {
    const std::string why = why_not_native(problem);
    if (why.empty()) return bind_native(problem, self, kNative);
    if (is_forced) refuse("the algorithm 'native' cannot serve: " + why);
  }
  return bind_for_streams(problem, selectors_.select(problem).chosen, self, sees_peers(problem));
}

std::string StreamCalls::explain(const Problem& problem) {
  if (problem.algorithm == kNative || problem.algorithm.empty()) {
    const std::string why = why_not_native(problem);
    if (why.empty())
      return "native, " + streams_->name() +
             "'s own call: one kernel, where a schedule has one for each round";
    return "native cannot serve: " + why + "; " + selectors_.select(problem).explain();
  }
  return selectors_.select(problem).explain();
}

void StreamCalls::check_call(const Call& call) {
  if (call.point_to_point == PointToPoint::recv && call.from == any_rank)
    refuse("on a stream a message has a sender; any_rank is none");
  if (call.op != nullptr && call.op->kind() == OperatorKind::user &&
      call.op->device_function() == nullptr)
    refuse(
        "a user's operator is a function of the host, which a GPU cannot run; give it one of the "
        "GPU by Operator::with_device");
}

void StreamCalls::check_captured(const StreamedCall& call) const {
  const bool has_messages = call.binding != nullptr && !call.binding->is_visible;
  const bool moves_once = has_messages && !streams_->is_capturable();
  if ((!call.is_marked && !moves_once) || !streams_->is_captured(call.stream)) return;
  if (moves_once)
    refuse("calls on this stream cannot be captured in a graph: '" + streams_->name() +
           "' moves each message once; attach the GPU by \"nccl\"");
  if (call.is_marked)
    refuse(
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
  streams_->check(call.stream, in, out);
  check_captured(call);
}

/// Other ranks may wait for what is not enqueued, or not seen, any more.
template <class Part>
void StreamCalls::attempt(Part part) {
  failures_.check();
  try {
    part();
  } catch (const Error& error) {
    streams_->abort(error);
    failures_.fail(error);
  } catch (const std::exception& error) {
    // Such as a user's device function throws.
    const Error cause{ErrorCode::transport, error.what()};
    streams_->abort(cause);
    failures_.fail(cause);
  }
}

void StreamCalls::mark(StreamedCall& call) {
  streams_->check(call.stream, {}, {});
  check_captured(call);
  call.mark = streams_->mark(call.stream);
}

void StreamCalls::start(StreamedCall& call) {
  attempt([&] {
    const Binding& binding = *call.binding;
    if (binding.algorithm == kNative)
      streams_->run_native(native_call_of(binding), static_cast<const std::byte*>(call.buffers.in),
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
    failures_.check_alarm();
    streams_->check(call.stream, {}, {});
    is_done = call.mark->is_done();
    if (!is_done) return;
    // What failed meanwhile may be what let the stream go on.
    streams_->check(call.stream, {}, {});
    if (streams_->peers() != nullptr) streams_->peers()->check();
  });
  if (is_done) call.mark.reset();
  return is_done;
}

void StreamCalls::wait(StreamedCall& call) {
  const auto now = [] { return std::chrono::steady_clock::now().time_since_epoch(); };
  const Duration deadline = deadline_after(now(), call.timeout);
  for (int looks = 0; !test(call); ++looks) {
    if (looks < kLooks) {
      std::this_thread::yield();
      continue;
    }
    if (now() >= deadline)
      attempt([&] {
        throw Error{ErrorCode::timeout,
                    "what was enqueued on a stream has not ended in time; another rank has not "
                    "entered the same calls, or is gone"};
      });
    std::this_thread::sleep_for(kNap);
  }
}

void StreamCalls::enlist(std::shared_ptr<StreamedCall> call, bool blocks) {
  call->is_enlisted = true;
  enlisted_.push_back(call);
  if (blocks) awaited_.push_back(std::move(call));
}

void StreamCalls::strike(StreamedCall& call) noexcept {
  const auto is_it = [&](const auto& other) { return other.get() == &call; };
  call.is_enlisted = false;
  std::erase_if(enlisted_, is_it);
  std::erase_if(awaited_, is_it);
}

void StreamCalls::enqueue_messages(std::span<const std::shared_ptr<StreamedCall>> calls) {
  std::vector<StreamedMessage> messages;
  for (const auto& call : calls) messages.push_back({*call->binding, call->buffers});
  enqueue_together(messages, *streams_, calls.front()->stream);
  for (const auto& call : calls)
    if (call->is_marked) call->mark = streams_->mark(call->stream);
}

void StreamCalls::start_enlisted() {
  const std::vector<std::shared_ptr<StreamedCall>> calls = std::exchange(enlisted_, {});
  for (const auto& call : calls) call->is_enlisted = false;
  for (auto next = calls.begin(); next != calls.end();) {
    const auto is_with_first = [&](const auto& call) {
      return !call->binding->is_collective && call->stream.handle() == (*next)->stream.handle();
    };
    const auto end = std::find_if_not(next, calls.end(), is_with_first);
    if (end == next) {
      start(**next++);
      continue;
    }
    attempt([&] { enqueue_messages({next, end}); });
    next = end;
  }
}

void StreamCalls::wait_awaited() {
  for (const auto& call : awaited_) wait(*call);
}

void StreamCalls::end_batch() noexcept {
  for (const auto& call : enlisted_) call->is_enlisted = false;
  enlisted_.clear();
  awaited_.clear();
}

}  // namespace tutti::inline v0::detail

// Calls on streams of a GPU.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "check_call.hpp"
#include "engine.hpp"

namespace tutti::v0::detail {

void Engine::attach_streams(std::shared_ptr<StreamTransport> streams, bool compares) {
  expects(streams != nullptr, "there are streams to attach");
  if (streamed_)
    throw Error{ErrorCode::invalid_argument,
                "a GPU is attached to this communicator already; duplicate one that has none"};
  streamed_ = std::make_unique<StreamCalls>(std::move(streams), options_.catalog, hosts_, failures_,
                                            [this] {
                                              if (progress_.has_anything_pending())
                                                progress_.step_for_progress();
                                              progress_.drive_others();
                                            });
  compares_streamed_ = compares;
}

StreamCalls& Engine::streamed() const {
  if (streamed_ != nullptr) return *streamed_;
  throw Error{
      ErrorCode::invalid_argument,
      "this communicator runs nothing on streams; attach a GPU to it by tutti::cuda::attach"};
}

/// Over the host's transport. All ranks find the same difference.
void Engine::compare(const Binding& binding) {
  const std::uint64_t own = binding.fingerprint;
  std::vector<std::uint64_t> all(static_cast<std::size_t>(transport_->size()));
  run(call::all_gather(std::span{&own, 1}, std::span{all}), {});
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
  streamed_->transport()->abort(error);
  failures_.fail(error);
}

std::shared_ptr<StreamedCall> Engine::bind_streamed(const Call& call, Options options) {
  const StreamCalls& calls = streamed();
  failures_.check();
  if (options.timeout < Duration::zero()) check_timeout("the call", options.timeout);
  calls.check_call(call, options);
  auto bound = std::make_shared<StreamedCall>();
  bound->is_marked = options.stream.is_own();  // somebody waits for it
  Shape& shape = shape_for(call, options);
  cache_.recount(shape);
  bound->binding = shape.binding;
  bound->buffers = {call.in, call.out};
  bound->stream = options.stream.is_own() ? calls.transport()->own_stream() : options.stream;
  bound->timeout = options.timeout == Duration::zero() ? options_.timeout : options.timeout;
  cache_.evict();
  return bound;
}

void Engine::start_streamed(StreamedCall& call) {
  StreamCalls& calls = streamed();
  calls.check(call);
  if (compares_streamed_ && call.binding->is_collective) compare(*call.binding);
  calls.start(call);
}

void Engine::wait_for_stream(Stream stream, Duration timeout) {
  StreamCalls& calls = streamed();
  check_timeout("the wait", timeout);
  StreamedCall all{.stream = stream.is_own() ? calls.transport()->own_stream() : stream,
                   .timeout = timeout,
                   .is_marked = true};
  calls.mark(all);
  calls.wait(all);
}

void Engine::enlist_streamed(std::shared_ptr<StreamedCall> call, bool blocks) {
  StreamCalls& calls = streamed();
  calls.check(*call);
  if (compares_streamed_ && call->binding->is_collective) compare(*call->binding);
  calls.enlist(std::move(call), blocks);
}

void Engine::run_streamed(const Call& call, const Options& options) {
  const std::shared_ptr<StreamedCall> bound = bind_streamed(call, options);
  start_streamed(*bound);
  if (bound->is_marked) streamed_->wait(*bound);
}

}  // namespace tutti::v0::detail

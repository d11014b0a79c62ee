// Calls on streams of a GPU.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "check_call.hpp"
#include "engine.hpp"
#include "streamed.hpp"

namespace tutti::inline v0::detail {
namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw Error{ErrorCode::invalid_argument, why};
}

/// What can be seen without the GPU.
void check_streamed(const Call& call, const StreamTransport* streams) {
  if (streams == nullptr)
    refuse("this communicator runs nothing on streams; attach a GPU to it by tutti::cuda::attach");
  if (call.from == any_rank) refuse("on a stream a message has a sender; any_rank is none");
  if (call.op != nullptr && call.op->kind() == OperatorKind::user)
    refuse("a user's operator is a function of the host, which a GPU cannot run");
}

}  // namespace

void Engine::attach_streams(std::shared_ptr<StreamTransport> streams, bool compares) {
  expects(streams != nullptr, "there are streams to attach");
  stream_selectors_ =
      std::make_unique<Selectors>(std::vector{streams->tariff()}, std::vector{streams->name()},
                                  options_.catalog, Surroundings{});
  streams_ = std::move(streams);
  compares_streamed_ = compares;
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
  streams_->abort(error);
  failures_.fail(error);
}

void Engine::run_on_stream(const Call& call, const Options& options) {
  failures_.check();
  check_streamed(call, streams_.get());
  // Comparing runs another call, for which the cache may forget this one.
  const std::shared_ptr<const Binding> kept = shape_for(call, options).binding;
  const Binding& binding = *kept;
  const Layout& layout = binding.layout();
  const bool is_barrier =
      binding.is_collective && layout.contract().collective == Collective::barrier;
  if (!is_barrier) check_buffers(binding.name, layout, binding.element_bytes, call.in, call.out);
  const std::size_t in_bytes = is_barrier ? 0 : layout.in_total() * binding.element_bytes;
  const std::size_t out_bytes = is_barrier ? 0 : layout.out_total() * binding.element_bytes;
  streams_->check(options.stream, {static_cast<const std::byte*>(call.in), in_bytes},
                  {static_cast<std::byte*>(call.out), out_bytes});
  if (compares_streamed_ && binding.is_collective) compare(binding);
  try {
    enqueue(binding, {call.in, call.out}, *streams_, options.stream);
  } catch (const Error& error) {
    // Other ranks may wait for what is not enqueued any more.
    streams_->abort(error);
    failures_.fail(error);
  }
  cache_.evict();
}

}  // namespace tutti::inline v0::detail

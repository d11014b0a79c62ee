// Calls on streams of a GPU.
#include <utility>

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

void Engine::attach_streams(std::shared_ptr<StreamTransport> streams) {
  expects(streams != nullptr, "there are streams to attach");
  stream_selectors_ =
      std::make_unique<Selectors>(std::vector{streams->tariff()}, std::vector{streams->name()},
                                  options_.catalog, Surroundings{});
  streams_ = std::move(streams);
}

void Engine::run_on_stream(const Call& call, const Options& options) {
  failures_.check();
  check_streamed(call, streams_.get());
  const Binding& binding = *shape_for(call, options).binding;
  const Layout& layout = binding.layout();
  const bool is_barrier =
      binding.is_collective && layout.contract().collective == Collective::barrier;
  if (!is_barrier) check_buffers(binding.name, layout, binding.element_bytes, call.in, call.out);
  const std::size_t in_bytes = is_barrier ? 0 : layout.in_total() * binding.element_bytes;
  const std::size_t out_bytes = is_barrier ? 0 : layout.out_total() * binding.element_bytes;
  streams_->check(options.stream, {static_cast<const std::byte*>(call.in), in_bytes},
                  {static_cast<std::byte*>(call.out), out_bytes});
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

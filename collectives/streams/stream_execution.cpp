#include "stream_execution.hpp"

#include <string>
#include <vector>

#include <tutti/error.hpp>
#include <tutti/spi/stream_peers.hpp>

#include "collectives/binding/check_call.hpp"

#include "streamed.hpp"

namespace tutti::v0::detail {

void StreamExecution::check() const {
  std::span<const std::byte> in;
  std::span<std::byte> out;
  if (binding_ != nullptr && !binding_->is_barrier()) {
    const Layout& layout = binding_->layout();
    in = {static_cast<const std::byte*>(buffers_.in), layout.in_total() * binding_->element_bytes};
    out = {static_cast<std::byte*>(buffers_.out), layout.out_total() * binding_->element_bytes};
  }
  streams_.check(stream_, in, out);
  check_captured();
}

void StreamExecution::check_captured() const {
  const bool sends = binding_ != nullptr && !binding_->is_visible;
  const bool needs_host = sends && !streams_.is_capturable();
  if ((!is_awaited_ && !needs_host) || !streams_.is_captured(stream_)) return;
  if (needs_host)
    throw Error{ErrorCode::invalid_argument,
                "calls on this stream cannot be captured in a graph: '" + streams_.name() +
                    "' hands messages to a thread of the host; attach the GPU by \"nccl\""};
  throw Error{
      ErrorCode::invalid_argument,
      "a stream that is captured in a graph does nothing now; a call that waits for it, such "
      "as one with a handle, cannot be captured"};
}

void StreamExecution::start() {
  if (binding_->native)
    streams_.run_native(*binding_->native, static_cast<const std::byte*>(buffers_.in),
                        static_cast<std::byte*>(buffers_.out), stream_);
  else if (binding_->is_visible) enqueue_visible(*binding_, op_, buffers_, streams_, stream_);
  else enqueue(*binding_, op_, buffers_, streams_, stream_);
  mark_end();
}

/// The first message's stream waits for the streams of the others, which then wait for it.
void StreamExecution::start_together(std::span<const std::shared_ptr<StreamExecution>> messages) {
  StreamTransport& streams = messages.front()->streams_;
  const Stream stream = messages.front()->stream_;
  std::vector<StreamedMessage> runs;
  for (const auto& message : messages) {
    runs.push_back({*message->binding_, message->buffers_});
    streams.follow(stream, message->stream_);
  }
  enqueue_together(runs, streams, stream);
  for (const auto& message : messages) {
    streams.follow(message->stream_, stream);
    message->mark_end();
  }
}

void StreamExecution::mark_end() {
  if (is_awaited_) mark_ = streams_.mark(stream_);
}

/// A failure may be the reason why the stream continued, so health is checked after the end.
bool StreamExecution::find_end() {
  if (!mark_->is_done()) return false;
  streams_.check_health();
  if (streams_.peers() != nullptr) streams_.peers()->check();
  mark_.reset();
  return true;
}

}  // namespace tutti::v0::detail

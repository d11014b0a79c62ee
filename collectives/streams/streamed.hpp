/// @file
/// Enqueues a whole collective on a stream; the host never waits. The messages of a round are one
/// group, so only memory of the run keeps values between rounds. The verifier proves that no
/// schedule needs more.
#pragma once

#include <tutti/spi/streams.hpp>

#include "collectives/lowering/binding.hpp"

namespace tutti::v0::detail {

/// Enqueues a run. @param binding lowered for streams: no message is combined while it arrives.
/// @param buffers device memory, checked. Throws as StreamTransport, when a part of the run may
/// have been enqueued.
void enqueue(const Binding& binding, const Operator& op, RunBuffers buffers,
             StreamTransport& streams, Stream stream);

/// Enqueues a run for ranks that see each other's memory: a message stays in its sender's memory,
/// and is combined from there. @param binding lowered for that. @param streams that have peers.
void enqueue_visible(const Binding& binding, const Operator& op, RunBuffers buffers,
                     StreamTransport& streams, Stream stream);

/// A message between two ranks that starts together with others.
struct StreamedMessage {
  const Binding& binding;
  RunBuffers buffers;
};
/// Enqueues messages between two ranks as one group, so that none waits for another one. Throws as
/// enqueue().
void enqueue_together(std::span<const StreamedMessage> calls, StreamTransport& streams,
                      Stream stream);

}  // namespace tutti::v0::detail

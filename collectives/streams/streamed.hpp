/// @file
/// The stream lowering: a collective is enqueued on a stream as a whole, and the host never waits.
/// A round's messages are one group, so that only memory of the run keeps values between rounds;
/// the verifier proves that no schedule needs more.
#pragma once

#include <tutti/spi/streams.hpp>

#include "collectives/lowering/binding.hpp"

namespace tutti::v0::detail {

/// Enqueues a run. @param binding lowered for streams: nothing is combined as it arrives. @param op
/// of the call. @param buffers device memory, checked. @param streams of the communicator. @param
/// stream of the call. Throws what StreamTransport throws: then some of it may have been enqueued.
void enqueue(const Binding& binding, const Operator& op, RunBuffers buffers,
             StreamTransport& streams, Stream stream);

/// The same where ranks see each other's memory: a message stays where its sender has it, and is
/// combined from there. @param binding lowered for that. @param streams that have peers.
void enqueue_visible(const Binding& binding, const Operator& op, RunBuffers buffers,
                     StreamTransport& streams, Stream stream);

/// A message between two ranks that starts with others.
struct StreamedMessage {
  const Binding& binding;
  RunBuffers buffers;
};
/// Enqueues messages between two ranks as one group, so that none waits for another one. @param
/// calls with such bindings. @param streams and @param stream as above. Throws likewise.
void enqueue_together(std::span<const StreamedMessage> calls, StreamTransport& streams,
                      Stream stream);

}  // namespace tutti::v0::detail

#include "sender.hpp"

namespace tutti::tcp {
namespace {

/// The most bytes written at once: more would leave the cache between checksum and write.
constexpr std::uint64_t kMostWritten = 262144;
/// Fewer bytes are not worth a frame of their own before the grant.
constexpr std::uint64_t kLeastUnasked = 4096;

}  // namespace

void Sender::post(Port& port, const Transfer& transfer, Link& link) {
  Outbound& message = *outbounds_.acquire();
  message.port = &port;
  message.transfer = transfer;
  message.bytes = bytes_of(transfer.pieces);
  message.cursor = Cursor{transfer.pieces};
  port.begin(transfer.peer);
  message.header = {.communicator = port.id,
                    .source = static_cast<std::uint32_t>(link.own_source),
                    .tag = transfer.tag,
                    .fingerprint = transfer.fingerprint};
  begin(link, message);
  enqueue(link, message);
}

// Sends a message at once if credit covers it. Otherwise it is announced, and sent once the peer
// asks for it; meanwhile the part that credit covers is sent.
void Sender::begin(Link& link, Outbound& message) const {
  Header& header = message.header;
  header.sequence = link.started++;
  header.length = message.bytes;
  const bool small = message.bytes <= options_.eager_bytes;
  if (small && message.bytes + kMessageCost <= link.credit) {
    header.type = FrameType::message;
    message.charge = message.bytes + kMessageCost;
  } else {
    header.type = FrameType::request;
    message.unasked = std::min<std::uint64_t>({message.bytes, options_.eager_bytes, link.credit});
    if (message.unasked < kLeastUnasked) message.unasked = 0;
    header.offset = message.unasked;
    message.charge = message.unasked;
    link.requested.emplace(header.sequence, &message);
  }
  link.credit -= message.charge;
}

void Sender::enqueue(Link& link, Outbound& message) noexcept {
  message.queued = true;
  link.outgoing.push(&message);
}

void Sender::send_control(Link& link, const Header& header) {
  if (link.loss || link.write_failed) return;
  Outbound& frame = *outbounds_.acquire();
  frame.header = header;
  frame.header.source = static_cast<std::uint32_t>(link.own_source);
  enqueue(link, frame);
}

void Sender::flush(Link& link) {
  while (link.has_to_write() && !link.write_failed && !link.loss) {
    Vectors<kMostVectors> vectors;
    for (Outbound* frame = link.outgoing.front(); frame != nullptr; frame = frame->next) {
      if (vectors.full() || vectors.bytes() >= kMostWritten) break;
      if (!frame->sealed) frame->seal_frame(options_.payload_checksum);
      if (frame->header_left > 0)
        vectors.add(reinterpret_cast<const std::byte*>(&frame->header + 1) - frame->header_left,
                    frame->header_left);
      if (list_ahead(frame->cursor, frame->frame_left, vectors) < frame->frame_left) break;
    }
    const Moved moved = link.socket.write(vectors.all());
    if (moved.error != 0) link.write_failed = true;  // reading finds the cause
    account(link, moved.bytes);
    if (moved.bytes < vectors.bytes() || link.outgoing.empty()) return;
  }
}

void Sender::account(Link& link, std::uint64_t bytes) {
  while (bytes > 0) {
    Outbound& frame = *link.outgoing.front();
    const std::uint64_t head = std::min<std::uint64_t>(bytes, frame.header_left);
    const std::uint64_t body = std::min(bytes - head, frame.frame_left);
    frame.header_left -= head;
    frame.cursor.pass(body, [](std::span<std::byte>) {});
    frame.frame_left -= body;
    bytes -= head + body;
    if (frame.header_left > 0 || frame.frame_left > 0) return;
    link.outgoing.pop();
    frame.queued = false;
    end_frame(link, frame);
  }
}

void Sender::end_frame(Link& link, Outbound& message) {
  if (message.port == nullptr) return outbounds_.release(&message);
  message.sent += message.header.payload();
  if (message.sent < message.bytes) return enqueue_next(link, message);
  if (message.header.type != FrameType::message) link.requested.erase(message.header.sequence);
  message.port->complete(message.transfer.peer, message.transfer.cookie);
  outbounds_.release(&message);
}

// Enqueues the next frame of an announced message, if the peer has asked for it, behind the frames
// of other messages.
void Sender::enqueue_next(Link& link, Outbound& message) {
  const std::uint64_t allowed = message.granted ? message.bytes : message.unasked;
  if (message.queued || message.sent >= allowed) return;
  Header& header = message.header;
  header.type = FrameType::data;
  header.offset = message.sent;
  header.length = std::min<std::uint64_t>(allowed - message.sent, options_.fragment_bytes);
  header.fingerprint = 0;
  message.sealed = false;
  enqueue(link, message);
}

void Sender::grant(Link& link, std::uint64_t sequence) {
  const auto found = link.requested.find(sequence);
  if (found == link.requested.end()) return;  // the message was given up meanwhile
  found->second->granted = true;
  enqueue_next(link, *found->second);
}

void Sender::abandon(Link& link) noexcept {
  while (!link.outgoing.empty()) {
    Outbound* const frame = link.outgoing.pop();
    frame->queued = false;
    if (frame->port == nullptr || frame->header.type == FrameType::message)
      outbounds_.release(frame);
  }
  for (const auto& entry : link.requested) outbounds_.release(entry.second);
  link.requested.clear();
}

// A frame whose front was sent continues with a copy of its bytes. All others are dropped.
void Sender::stop(const Port& port, Link& link) {
  Queue<Outbound> kept{};
  while (!link.outgoing.empty()) {
    Outbound& frame = *link.outgoing.pop();
    if (frame.port == &port && frame.has_begun()) frame.detach();
    if (frame.port != &port) {
      kept.push(&frame);
      continue;
    }
    if (frame.header.type != FrameType::data) link.credit += frame.charge;
    if (frame.header.type != FrameType::message) link.requested.erase(frame.header.sequence);
    outbounds_.release(&frame);
  }
  link.outgoing = kept;
  std::erase_if(link.requested, [&](const auto& entry) {
    if (entry.second->port != &port && entry.second->port != nullptr) return false;
    if (!entry.second->queued) outbounds_.release(entry.second);
    return true;
  });
}

}  // namespace tutti::tcp

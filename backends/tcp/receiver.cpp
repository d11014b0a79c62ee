#include "receiver.hpp"

#include <string>
#include <type_traits>

namespace tutti::tcp {

void Receiver::post(Port& port, const Transfer& transfer) {
  Receive& receive = *receives_.acquire();
  receive.transfer = transfer;
  receive.bytes = bytes_of(transfer.pieces);
  receive.cursor = Cursor{transfer.pieces};
  port.begin(transfer.peer);
  if (Inbound* const message = port.matcher.match_receive(transfer.peer, transfer.tag)) {
    if (message->link == nullptr) return receive_from_self(port, *message, receive);
    return accept(port, *message, receive);
  }
  const Link* const link = port.member(transfer.peer).link;
  if (link == nullptr || !link->loss) return port.matcher.add_receive(transfer.peer, &receive);
  receives_.release(&receive);
  port.fail(transfer.peer, *link->loss);
}

void Receiver::send_to_self(Port& port, const Transfer& transfer) {
  Inbound& message = *inbounds_.acquire();
  message.port = &port;
  message.start = {.tag = transfer.tag,
                   .length = bytes_of(transfer.pieces),
                   .fingerprint = transfer.fingerprint};
  message.pieces = transfer.pieces;
  message.cookie = transfer.cookie;
  port.begin(port.self);
  if (Receive* const receive = port.matcher.match_message(port.self, transfer.tag))
    return receive_from_self(port, message, *receive);
  port.matcher.add_message(port.self, &message);
}

void Receiver::receive_from_self(Port& port, Inbound& message, Receive& receive) {
  const auto copy = [&] {
    Cursor{message.pieces}.pass(message.start.length,
                                [&](std::span<const std::byte> run) { receive.store(run); });
  };
  if (check_match(port, message, receive) && port.guard(copy)) {
    port.complete(port.self, message.cookie);
    port.complete(port.self, receive.transfer.cookie);
  }
  inbounds_.release(&message);
  receives_.release(&receive);
}

bool Receiver::check_match(Port& port, const Inbound& message, const Receive& receive) {
  const Envelope sent = message.envelope();
  const Envelope expected = receive.envelope();
  if (agree(sent, expected)) return true;
  port.fail(detail::mismatch(receive.transfer.peer, sent, expected));
  return false;
}

bool Receiver::begin_frame(Link& link, const Header& header) {
  if (header.source != static_cast<std::uint32_t>(link.peer_source))
    return link.reject("a frame names another source");
  switch (header.type) {
    case FrameType::message:
    case FrameType::request: return begin_message(link, header);
    case FrameType::data: return resume_message(link, header);
    case FrameType::grant: sender_.grant(link, header.sequence); return true;
    case FrameType::credit: break;
  }
  if (header.length > options_.credit_bytes - link.credit)
    return link.reject("it returns more credit than was used");
  link.credit += header.length;
  return true;
}

bool Receiver::drop(Link& link, std::uint64_t charge) {
  ++dropped_;
  return_credit(link, charge);
  return true;
}

bool Receiver::begin_message(Link& link, const Header& header) {
  const bool whole = header.type == FrameType::message;
  const std::uint64_t charge = whole ? header.length + kMessageCost : header.offset;
  if (header.sequence < link.next_start) return link.reject("a message is out of order");
  if (charge > link.peer_credit) return link.reject("a message exceeds its credit");
  link.next_start = header.sequence + 1;
  link.peer_credit -= charge;
  Port* const port = ports_.find(header.communicator);
  if (port == nullptr && ports_.has_ended(header.communicator)) return drop(link, charge);
  if (port != nullptr && (port->failure || port->rank_of(link.peer) < 0)) return drop(link, charge);
  Inbound& message = *inbounds_.acquire();
  message.link = &link;
  message.start = header;
  message.charge = charge;
  if (whole) link.frame.inbound = &message;
  else link.announced.emplace(header.sequence, &message);
  if (port != nullptr) {
    match(*port, message);
  } else {
    keep_bytes(message);
    early_.push(&message);
  }
  return true;
}

bool Receiver::resume_message(Link& link, const Header& header) {
  const auto found = link.announced.find(header.sequence);
  if (found == link.announced.end()) {
    const Port* const port = ports_.find(header.communicator);
    const bool over =
        port != nullptr ? port->failure.has_value() : ports_.has_ended(header.communicator);
    return over ? drop(link, 0) : link.reject("a frame belongs to no message");
  }
  Inbound& message = *found->second;
  if (header.offset != message.received) return link.reject("a frame is out of order");
  // Subtracts, since a sum of the peer's numbers could wrap.
  const std::uint64_t room =
      message.receive != nullptr ? message.start.length : message.start.offset;
  if (header.length > room - message.received)
    return link.reject("a frame is longer than its message");
  link.frame.inbound = &message;
  return true;
}

void Receiver::accept_early(Port& port) {
  Queue<Inbound> others{};
  while (!early_.empty()) {
    Inbound& message = *early_.pop();
    if (message.start.communicator != port.id) others.push(&message);
    else if (port.rank_of(message.link->peer) < 0) abandon(message);
    else match(port, message);
  }
  early_ = others;
}

void Receiver::match(Port& port, Inbound& message) {
  message.port = &port;
  const Rank rank = port.rank_of(message.link->peer);
  if (Receive* const receive = port.matcher.match_message(rank, message.start.tag))
    return accept(port, message, *receive);
  keep_bytes(message);
  port.matcher.add_message(rank, &message);
}

void Receiver::accept(Port& port, Inbound& message, Receive& receive) {
  const Link& link = *message.link;
  message.receive = &receive;
  if (!check_match(port, message, receive)) return abandon(message);
  if (link.loss && message.received < message.start.length) {
    port.fail(receive.transfer.peer, *link.loss);
    return abandon(message);
  }
  const std::span<const std::byte> kept{message.buffer.data(), message.received};
  if (!kept.empty() && !port.guard([&] { receive.store(kept); })) return abandon(message);
  release_bytes(message);
  if (message.is_requested() && message.start.offset < message.start.length)
    sender_.send_control(*message.link, {.type = FrameType::grant,
                                         .communicator = port.id,
                                         .tag = message.start.tag,
                                         .sequence = message.start.sequence});
  end_frame(message);
}

void Receiver::end_frame(Inbound& message) {
  // The checksum of a frame that is still being read is not yet known.
  if (message.receive == nullptr || message.link->frame.inbound == &message) return;
  if (message.received < message.start.length) return;
  const Transfer& transfer = message.receive->transfer;
  message.port->complete(transfer.peer, transfer.cookie);
  abandon(message);
}

// The size of unasked bytes was checked against the peer's credit before.
void Receiver::keep_bytes(Inbound& message) {
  const std::uint64_t bytes = message.is_requested() ? message.start.offset : message.start.length;
  if (bytes > 0 && message.buffer.size() == 0) message.buffer = buffers_.acquire(bytes);
}

void Receiver::release_bytes(Inbound& message) {
  buffers_.release(std::move(message.buffer));
  message.buffer = {};
  return_credit(*message.link, std::exchange(message.charge, 0));
}

void Receiver::return_credit(Link& link, std::uint64_t credit) {
  link.returnable += credit;
  if (link.returnable < options_.credit_bytes / 2) return;
  sender_.send_control(link, {.type = FrameType::credit, .length = link.returnable});
  link.peer_credit += std::exchange(link.returnable, 0);
}

void Receiver::abandon(Inbound& message) {
  Link& link = *message.link;
  if (link.frame.inbound == &message) link.frame.inbound = nullptr;
  if (message.is_requested()) link.announced.erase(message.start.sequence);
  release_bytes(message);
  if (message.receive != nullptr) receives_.release(message.receive);
  inbounds_.release(&message);
}

void Receiver::abandon(Link& link) {
  if (Inbound* const inbound = link.frame.inbound;
      inbound != nullptr && inbound->receive != nullptr)
    abandon(*inbound);
  for (auto entry = link.announced.begin(); entry != link.announced.end();) {
    Inbound& message = *(entry++)->second;
    if (message.receive != nullptr) abandon(message);
  }
  link.frame = {};
}

void Receiver::stop(Port& port, Rank rank) {
  port.matcher.drain(rank, [this](auto* item) {
    if constexpr (std::is_same_v<decltype(item), Receive*>) receives_.release(item);
    else if (item->link != nullptr) abandon(*item);
    else inbounds_.release(item);
  });
  Link* const link = port.member(rank).link;
  if (link == nullptr) return;
  if (Inbound* const inbound = link->frame.inbound; inbound != nullptr && inbound->port == &port)
    abandon(*inbound);
  for (auto entry = link->announced.begin(); entry != link->announced.end();) {
    Inbound& message = *(entry++)->second;
    if (message.port == &port) abandon(message);
  }
}

}  // namespace tutti::tcp

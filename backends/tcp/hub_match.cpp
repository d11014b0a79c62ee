// Matching: which receive a message belongs to, and what its frames mean.
#include <string>

#include <tutti/spi/fingerprint.hpp>

#include "hub.hpp"

namespace tutti::tcp {
namespace {

// As far as both ends promise to agree.
std::uint64_t comparable(std::uint64_t fingerprint) noexcept {
  return fingerprint << 1 >> 1;
}

/// What both ends say of a message.
struct Claims {
  Rank peer;
  std::uint64_t fingerprint;
  std::uint64_t bytes;
};

// The failure of a receive that met another message than it is for, if it did.
std::optional<Error> mismatch(const Claims& sent, const Receive& receive) {
  const std::uint64_t got = comparable(sent.fingerprint);
  const std::uint64_t expected = comparable(receive.transfer.fingerprint);
  if (got != expected) return wrong_call(sent.peer, got, expected);
  if (sent.bytes != receive.bytes) return wrong_length(sent.peer, sent.bytes, receive.bytes);
  return std::nullopt;
}

}  // namespace

void Hub::post(Port& port, const Transfer& transfer) {
  expects(transfer.peer >= 0 && static_cast<std::size_t>(transfer.peer) < port.members.size(),
          "a transfer names no rank of the communicator");
  if (transfer.peer != port.self && port.member(transfer.peer).link == nullptr)
    throw Error{ErrorCode::invalid_argument,
                "there is no link to rank " + std::to_string(transfer.peer)};
  if (transfer.kind == Transfer::Kind::send) post_send(port, transfer);
  else post_receive(port, transfer);
}

void Hub::post_receive(Port& port, const Transfer& transfer) {
  Receive& receive = *receives_.get();
  receive.transfer = transfer;
  receive.bytes = bytes_of(transfer.pieces);
  receive.cursor = Cursor{transfer.pieces};
  Member& member = port.member(transfer.peer);
  port.begin(transfer.peer);
  if (member.link == nullptr) return receive_from_self(port, receive);
  const std::size_t queue = queue_of(transfer.tag);
  const auto fits = [&](const Inbound& message) { return message.start.tag == transfer.tag; };
  if (Inbound* const message = member.unexpected[queue].take(fits)) {
    --port.unclaimed;
    return attach(port, *message, receive);
  }
  if (!member.link->loss) return member.posted[queue].push(&receive);
  receives_.put(&receive);
  fail_by_loss(port, transfer.peer, *member.link->loss);
}

void Hub::send_to_self(Port& port, Outbound& message) {
  const std::uint32_t tag = message.transfer.tag;
  Queue<Receive>& posted = port.member(port.self).posted[queue_of(tag)];
  const auto fits = [tag](const Receive& receive) { return receive.transfer.tag == tag; };
  if (Receive* const receive = posted.take(fits)) return copy_to_self(port, message, *receive);
  port.own.push(&message);
  ++port.unclaimed;
}

void Hub::receive_from_self(Port& port, Receive& receive) {
  const std::uint32_t tag = receive.transfer.tag;
  const auto fits = [tag](const Outbound& message) { return message.transfer.tag == tag; };
  if (Outbound* const message = port.own.take(fits)) {
    --port.unclaimed;
    return copy_to_self(port, *message, receive);
  }
  port.member(port.self).posted[queue_of(tag)].push(&receive);
}

void Hub::copy_to_self(Port& port, Outbound& message, Receive& receive) {
  const Claims claims{port.self, message.transfer.fingerprint, message.bytes};
  if (const auto error = mismatch(claims, receive)) {
    port.fail(*error);
  } else if (guard(port, [&] {
               message.cursor.pass(message.bytes,
                                   [&](std::span<const std::byte> run) { receive.take(run); });
             })) {
    port.complete(port.self, message.transfer.cookie);
    port.complete(port.self, receive.transfer.cookie);
  }
  outbounds_.put(&message);
  receives_.put(&receive);
}

bool Hub::reject(Link& link, std::string_view why) {
  lose(link, {ErrorCode::transport, "sent corrupt bytes: " + std::string{why}});
  return false;
}

// Makes sense of a header. Returns whether the link is still good.
bool Hub::arrive(Link& link, const Header& header) {
  if (header.source != static_cast<std::uint32_t>(link.peer_source))
    return reject(link, "a frame names another source");
  switch (header.type) {
    case FrameType::message:
    case FrameType::request: return begin_inbound(link, header);
    case FrameType::data: return resume_inbound(link, header);
    case FrameType::grant: return take_grant(link, header);
    case FrameType::credit: break;
  }
  if (header.length > options_.credit_bytes - link.credit)
    return reject(link, "it gives more credit than there is");
  link.credit += header.length;
  return true;
}

bool Hub::drop(Link& link, std::uint64_t charge) {
  ++dropped_;
  give_back(link, charge);
  return true;
}

bool Hub::begin_inbound(Link& link, const Header& header) {
  const bool whole = header.type == FrameType::message;
  const std::uint64_t charge = whole ? header.length + kMessageCost : header.offset;
  if (header.sequence < link.next_start) return reject(link, "a message is out of order");
  if (charge > link.lent) return reject(link, "a message exceeds its credit");
  link.next_start = header.sequence + 1;
  link.lent -= charge;
  Port* const port = find(header.communicator);
  if (port == nullptr && gone_.contains(header.communicator)) return drop(link, charge);
  if (port != nullptr && (port->failure || port->rank_of(link.peer) < 0)) return drop(link, charge);
  Inbound& message = *inbounds_.get();
  message.link = &link;
  message.start = header;
  message.charge = charge;
  if (whole) link.frame.inbound = &message;
  else link.announced.emplace(header.sequence, &message);
  if (port != nullptr) {
    admit(*port, message);
  } else {
    hold(message);
    early_.push(&message);
  }
  return true;
}

bool Hub::resume_inbound(Link& link, const Header& header) {
  const auto found = link.announced.find(header.sequence);
  if (found == link.announced.end()) {
    const Port* const port = find(header.communicator);
    const bool over =
        port != nullptr ? port->failure.has_value() : gone_.contains(header.communicator);
    return over ? drop(link, 0) : reject(link, "a frame belongs to no message");
  }
  Inbound& message = *found->second;
  if (header.offset != message.received) return reject(link, "a frame is out of order");
  // Compared by subtraction: no sum of the peer's numbers may wrap.
  const std::uint64_t room =
      message.receive != nullptr ? message.start.length : message.start.offset;
  if (header.length > room - message.received)
    return reject(link, "a frame is longer than its message");
  link.frame.inbound = &message;
  return true;
}

bool Hub::take_grant(Link& link, const Header& header) {
  const auto found = link.requested.find(header.sequence);
  if (found == link.requested.end()) return true;  // of a message that was given up meanwhile
  found->second->granted = true;
  next_frame(link, *found->second);
  return true;
}

void Hub::admit(Port& port, Inbound& message) {
  message.port = &port;
  Member& member = port.member(port.rank_of(message.link->peer));
  const std::uint32_t tag = message.start.tag;
  const auto fits = [tag](const Receive& receive) { return receive.transfer.tag == tag; };
  if (Receive* const receive = member.posted[queue_of(tag)].take(fits))
    return attach(port, message, *receive);
  hold(message);
  member.unexpected[queue_of(tag)].push(&message);
  ++port.unclaimed;
}

// The oldest of each queue that is of a collective will do: it is the first that should have been
// taken.
void Hub::find_unmatched(Port& port, std::uint64_t pending, bool thoroughly) {
  if (port.failure) return;
  const auto check = [&](Rank rank, std::uint64_t fingerprint) {
    if (is_unmatched(fingerprint, pending))
      port.fail(unmatched_message(rank, fingerprint, pending));
  };
  const Outbound* own = port.own.front();
  while (own != nullptr && is_of_two(own->transfer.fingerprint)) own = own->next;
  if (own != nullptr) check(port.self, own->transfer.fingerprint);
  for (std::size_t rank = 0; rank < port.members.size(); ++rank) {
    Member& member = port.members[rank];
    if (member.link == nullptr) continue;
    if (thoroughly) read(*member.link);
    for (const Queue<Inbound>& unexpected : member.unexpected) {
      const Inbound* oldest = unexpected.front();
      while (oldest != nullptr && is_of_two(oldest->start.fingerprint)) oldest = oldest->next;
      if (oldest != nullptr) check(static_cast<Rank>(rank), oldest->start.fingerprint);
    }
  }
}

std::optional<Unexpected> Hub::probe(Port& port, Rank from, std::uint32_t tag) {
  const auto size = static_cast<Rank>(port.members.size());
  if (from != any_rank) {
    const auto found = probe_member(port, from, tag);
    const Link* const link = port.member(from).link;
    if (!found && link != nullptr && link->loss) fail_by_loss(port, from, *link->loss);
    return found;
  }
  for (Rank i = 0; i < size; ++i) {
    const Rank rank = (port.next_probed + i) % size;
    const auto found = probe_member(port, rank, tag);
    if (!found) continue;
    port.next_probed = rank + 1;
    return found;
  }
  return std::nullopt;
}

std::optional<Unexpected> Hub::probe_member(Port& port, Rank from, std::uint32_t tag) {
  Member& member = port.member(from);
  if (from == port.self) {
    for (const Outbound* own = port.own.front(); own != nullptr; own = own->next)
      if (own->transfer.tag == tag) return Unexpected{from, own->bytes, own->transfer.fingerprint};
    return std::nullopt;
  }
  if (member.link == nullptr) return std::nullopt;
  read(*member.link);
  for (const Inbound* held = member.unexpected[queue_of(tag)].front(); held != nullptr;
       held = held->next)
    if (held->start.tag == tag)
      return Unexpected{from, held->start.length, held->start.fingerprint};
  return std::nullopt;
}

// Makes room for what comes unasked; its size was found to be within the peer's credit.
void Hub::hold(Inbound& message) {
  const std::uint64_t bytes = message.requested() ? message.start.offset : message.start.length;
  if (bytes > 0 && message.buffer.size() == 0) message.buffer = buffers_.get(bytes);
}

void Hub::attach(Port& port, Inbound& message, Receive& receive) {
  const Link& link = *message.link;
  message.receive = &receive;
  const Rank peer = receive.transfer.peer;
  const Claims claims{peer, message.start.fingerprint, message.start.length};
  if (const auto error = mismatch(claims, receive)) {
    port.fail(*error);
    return forget(message);
  }
  if (link.loss && message.received < message.start.length) {
    fail_by_loss(port, peer, *link.loss);
    return forget(message);
  }
  const std::span<const std::byte> held{message.buffer.data(), message.received};
  if (!held.empty() && !guard(port, [&] { receive.take(held); })) return forget(message);
  release(message);
  if (message.requested() && message.start.offset < message.start.length)
    send_control(*message.link, {.type = FrameType::grant,
                                 .communicator = port.id,
                                 .tag = message.start.tag,
                                 .sequence = message.start.sequence});
  complete_inbound(message);
}

void Hub::complete_inbound(Inbound& message) {
  // The checksum of a frame that is still being read is not yet known.
  if (message.receive == nullptr || message.link->frame.inbound == &message) return;
  if (message.received < message.start.length) return;
  const Transfer& transfer = message.receive->transfer;
  message.port->complete(transfer.peer, transfer.cookie);
  forget(message);
}

void Hub::release(Inbound& message) {
  buffers_.put(std::move(message.buffer));
  message.buffer = {};
  give_back(*message.link, std::exchange(message.charge, 0));
}

// The message is in no queue any more.
void Hub::forget(Inbound& message) {
  Link& link = *message.link;
  if (link.frame.inbound == &message) link.frame.inbound = nullptr;
  if (message.requested()) link.announced.erase(message.start.sequence);
  release(message);
  if (message.receive != nullptr) receives_.put(message.receive);
  inbounds_.put(&message);
}

void Hub::give_back(Link& link, std::uint64_t credit) {
  link.owed += credit;
  if (link.owed < options_.credit_bytes / 2) return;
  send_control(link, {.type = FrameType::credit, .length = link.owed});
  link.lent += std::exchange(link.owed, 0);
}

}  // namespace tutti::tcp

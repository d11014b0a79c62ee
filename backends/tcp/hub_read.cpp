// Reading: bytes go from the socket to where they belong, frame by frame.
#include <cstring>
#include <string>
#include <system_error>

#include <tutti/spi/copy.hpp>

#include "crc32c.hpp"
#include "hub.hpp"

namespace tutti::tcp {
namespace {

// A peer that never stops sending must not keep this rank from its other links.
constexpr int kMostReads = 8;
// Up to so many links are read right away; for more it is cheaper to ask which have something.
constexpr std::size_t kMostUnasked = 3;
// How often a poll looks after what other communicators wait for.
constexpr std::uint32_t kPollsPerLookAround = 16;

Loss corrupt(std::string_view what) {
  return {ErrorCode::transport, "sent corrupt bytes: " + std::string{what}};
}

Loss loss_of(const Moved& moved) {
  if (moved.closed) return {ErrorCode::peer_dead, "has closed its connection"};
  return {ErrorCode::peer_dead,
          "has lost its connection: " + std::generic_category().message(moved.error)};
}

}  // namespace

void Hub::progress(Port& port) {
  awaited_links_.clear();
  if (++polls_ % kPollsPerLookAround == 0) {
    for (const auto& link : links_)
      if (link != nullptr && link->pending > 0) awaited_links_.push_back(link.get());
  } else {
    for (const Rank rank : port.awaited)
      if (Link* const link = port.member(rank).link) awaited_links_.push_back(link);
  }
  if (awaited_links_.size() <= kMostUnasked) {
    for (Link* const link : awaited_links_) service(*link);
    return;
  }
  descriptors_.clear();
  for (const Link* const link : awaited_links_) descriptors_.push_back(wish_of(*link));
  static_cast<void>(::poll(descriptors_.data(), descriptors_.size(), 0));
  for (std::size_t i = 0; i < awaited_links_.size(); ++i)
    if (descriptors_[i].revents != 0 || awaited_links_[i]->socket.holds())
      service(*awaited_links_[i]);
}

pollfd Hub::wish_of(const Link& link) noexcept {
  const bool writes = link.has_to_write() && !link.write_failed;
  return {.fd = link.socket.descriptor(),
          .events = static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN),
          .revents = 0};
}

void Hub::list_awaited(const Port& port, std::vector<pollfd>& descriptors) {
  descriptors.clear();
  if (port.failure || !port.done.empty()) return;
  for (const Rank rank : port.awaited)
    if (const Link* const link = port.members[static_cast<std::size_t>(rank)].link) {
      if (link->socket.holds()) return descriptors.clear();
      descriptors.push_back(wish_of(*link));
    }
}

void Hub::service(Link& link) {
  if (link.has_to_write()) flush(link);
  read(link);
  if (link.has_to_write()) flush(link);
}

void Hub::read(Link& link) {
  for (int i = 0; i < kMostReads && !link.loss; ++i) {
    Vectors<kMostVectors + 1> vectors;
    const std::size_t direct = list_target(link, vectors);
    const Moved moved = link.socket.read(vectors.all());
    if (moved.closed || moved.error != 0) return lose(link, loss_of(moved));
    if (moved.bytes == 0) return;
    const std::size_t placed = std::min(moved.bytes, direct);
    if (placed > 0) absorb(link, placed);
    link.ahead_end += moved.bytes - placed;
    if (!parse(link) || moved.bytes < vectors.bytes()) return;
  }
}

// Lists where the next bytes go: first where the payload belongs, then, if all of it has room,
// ahead. In the middle of a long message that is the next header only, so that the payload behind
// it is not copied.
template <std::size_t kMost>
std::size_t Hub::list_target(Link& link, Vectors<kMost>& vectors) {
  const Incoming& frame = link.frame;
  std::size_t ahead = link.ahead.size() - link.ahead_end;
  if (frame.left > 0) {
    Inbound* const inbound = frame.inbound;
    if (inbound == nullptr) {
      vectors.add(waste_.data(), std::min<std::uint64_t>(frame.left, waste_.size()));
    } else if (inbound->receive == nullptr) {
      vectors.add(inbound->buffer.data() + inbound->received, frame.left);
    } else if (inbound->receive->transfer.combiner != nullptr) {
      vectors.add(warm_.data(), std::min<std::uint64_t>(frame.left, warm_.size()));
    } else {
      list_ahead(inbound->receive->cursor, frame.left, vectors);
    }
    if (vectors.bytes() < frame.left || vectors.full()) return vectors.bytes();
    if (inbound != nullptr && inbound->received + frame.left < inbound->start.length)
      ahead = sizeof(Header);
  }
  const std::size_t direct = vectors.bytes();
  vectors.add(link.ahead.data() + link.ahead_end, ahead);
  return direct;
}

// Takes note of payload bytes that were read to where list_target said.
void Hub::absorb(Link& link, std::size_t bytes) {
  Incoming& frame = link.frame;
  frame.left -= bytes;
  const auto add = [&frame](std::span<const std::byte> run) { frame.sum = crc32c(frame.sum, run); };
  const bool summed = frame.header.flags == kPayloadSummed;
  Inbound* const inbound = frame.inbound;
  if (inbound == nullptr) {
    if (summed) add({waste_.data(), bytes});
    return;
  }
  const std::uint64_t before = inbound->received;
  inbound->received += bytes;
  Receive* const receive = inbound->receive;
  if (receive == nullptr) {
    if (summed) add({inbound->buffer.data() + before, bytes});
  } else if (receive->transfer.combiner != nullptr) {
    const std::span<const std::byte> warm{warm_.data(), bytes};
    if (summed) add(warm);
    if (!guard(*inbound->port, [&] { receive->take(warm); })) forget(*inbound);
  } else {
    receive->received += bytes;
    receive->cursor.pass(bytes, [&](std::span<const std::byte> run) {
      if (summed) add(run);
    });
  }
}

// Takes payload bytes that were read ahead.
void Hub::absorb(Link& link, std::span<const std::byte> bytes) {
  Incoming& frame = link.frame;
  frame.left -= bytes.size();
  if (frame.header.flags == kPayloadSummed) frame.sum = crc32c(frame.sum, bytes);
  Inbound* const inbound = frame.inbound;
  if (inbound == nullptr) return;
  const std::uint64_t before = inbound->received;
  inbound->received += bytes.size();
  if (inbound->receive == nullptr)
    copy_bytes(inbound->buffer.data() + before, bytes.data(), bytes.size());
  else if (!guard(*inbound->port, [&] { inbound->receive->take(bytes); })) forget(*inbound);
}

// Works through what was read ahead. Returns whether the link is still good.
bool Hub::parse(Link& link) {
  for (;;) {
    const std::size_t there = link.ahead_end - link.ahead_begin;
    const std::byte* const at = link.ahead.data() + link.ahead_begin;
    if (!link.frame.active) {
      if (there < sizeof(Header)) break;
      const Decoded decoded = decode({at, there}, limits_);
      if (decoded.flaw != Flaw::none) {
        lose(link, corrupt(describe(decoded.flaw)));
        return false;
      }
      link.ahead_begin += sizeof(Header);
      link.frame = {.header = decoded.header, .left = decoded.header.payload(), .active = true};
      if (!arrive(link, decoded.header)) return false;
    } else if (const std::size_t run = std::min<std::uint64_t>(there, link.frame.left); run > 0) {
      link.ahead_begin += run;
      absorb(link, {at, run});
    }
    if (link.frame.left > 0 && link.ahead_begin == link.ahead_end) break;
    if (link.frame.left == 0) end_payload(link);
    if (link.loss) return false;
  }
  // The front of a header moves to the front of the buffer.
  const std::size_t rest = link.ahead_end - link.ahead_begin;
  if (link.ahead_begin > 0 && rest > 0)
    std::memmove(link.ahead.data(), link.ahead.data() + link.ahead_begin, rest);
  link.ahead_begin = 0;
  link.ahead_end = rest;
  return true;
}

void Hub::end_payload(Link& link) {
  const Incoming frame = link.frame;
  link.frame = {};
  if (frame.header.flags == kPayloadSummed && frame.sum != frame.header.payload_sum)
    return lose(link, corrupt("the checksum of a payload does not fit"));
  if (frame.inbound != nullptr) complete_inbound(*frame.inbound);
}

// Whoever waits for the peer is told; the others, should they turn to it.
void Hub::lose(Link& link, Loss loss) {
  if (link.loss) return;
  link.loss = std::move(loss);
  for (const auto& [id, port] : ports_) {
    const Rank rank = port->rank_of(link.peer);
    if (rank >= 0 && port->member(rank).pending > 0) fail_by_loss(*port, rank, *link.loss);
  }
  while (!link.outgoing.empty()) {
    Outbound* const frame = link.outgoing.pop();
    frame->queued = false;
    if (frame->port == nullptr || frame->header.type == FrameType::message) outbounds_.put(frame);
  }
  for (const auto& entry : link.requested) outbounds_.put(entry.second);
  link.requested.clear();
  // Messages without a receive stay where they are: those that are complete can still be had.
  if (Inbound* const inbound = link.frame.inbound;
      inbound != nullptr && inbound->receive != nullptr)
    forget(*inbound);
  for (auto entry = link.announced.begin(); entry != link.announced.end();) {
    Inbound& message = *(entry++)->second;
    if (message.receive != nullptr) forget(message);
  }
  link.frame = {};
}

void Hub::fail_by_loss(Port& port, Rank rank, const Loss& loss) {
  port.fail({loss.code, "rank " + std::to_string(rank) + " " + loss.reason,
             loss.code == ErrorCode::peer_dead ? rank : -1});
}

}  // namespace tutti::tcp

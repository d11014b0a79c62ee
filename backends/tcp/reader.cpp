#include "reader.hpp"

#include <cstring>
#include <string>
#include <system_error>

#include <tutti/spi/copy.hpp>

#include "crc32c.hpp"

namespace tutti::tcp {
namespace {

/// The most reads of one link in a row, since a peer that sends without a pause must not keep this
/// rank from its other links.
constexpr int kMostReads = 8;

Loss loss_of(const Moved& moved) {
  if (moved.closed) return {ErrorCode::peer_dead, "has closed its connection"};
  return {ErrorCode::peer_dead,
          "has lost its connection: " + std::generic_category().message(moved.error)};
}

}  // namespace

bool Reader::read(Link& link) {
  for (int i = 0; i < kMostReads; ++i) {
    Vectors<kMostVectors + 1> vectors;
    const std::size_t direct = list_target(link, vectors);
    const Moved moved = link.socket.read(vectors.all());
    if (moved.closed || moved.error != 0) {
      link.loss = loss_of(moved);
      return false;
    }
    if (moved.bytes == 0) return true;
    const std::size_t placed = std::min(moved.bytes, direct);
    if (placed > 0) account(link, placed);
    link.ahead_end += moved.bytes - placed;
    if (!parse(link)) return false;
    if (moved.bytes < vectors.bytes()) return true;
  }
  return true;
}

Moved Reader::discard(Socket& socket) const noexcept {
  const iovec whole{unwanted_.data(), unwanted_.size()};
  return socket.read({&whole, 1});
}

// Lists the destination of the payload, and behind it, if the list has room for all of that, the
// buffer for bytes read ahead. In the middle of a long message only the next header is read ahead,
// so that the payload after it is not copied.
template <std::size_t kMost>
std::size_t Reader::list_target(Link& link, Vectors<kMost>& vectors) {
  const Incoming& frame = link.frame;
  std::size_t ahead = link.ahead.size() - link.ahead_end;
  if (frame.left > 0) {
    Inbound* const inbound = frame.inbound;
    if (inbound == nullptr) {
      vectors.add(unwanted_.data(), std::min<std::uint64_t>(frame.left, unwanted_.size()));
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

// Accounts for payload bytes that were read into the places of list_target.
void Reader::account(Link& link, std::size_t bytes) {
  Incoming& frame = link.frame;
  frame.left -= bytes;
  const auto add = [&frame](std::span<const std::byte> run) { frame.sum = crc32c(frame.sum, run); };
  const bool summed = frame.header.flags == kPayloadSummed;
  Inbound* const inbound = frame.inbound;
  if (inbound == nullptr) {
    if (summed) add({unwanted_.data(), bytes});
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
    if (!inbound->port->guard([&] { receive->store(warm); })) receiver_.abandon(*inbound);
  } else {
    receive->received += bytes;
    receive->cursor.pass(bytes, [&](std::span<const std::byte> run) {
      if (summed) add(run);
    });
  }
}

// Stores payload bytes that were read ahead.
void Reader::store(Link& link, std::span<const std::byte> bytes) {
  Incoming& frame = link.frame;
  frame.left -= bytes.size();
  if (frame.header.flags == kPayloadSummed) frame.sum = crc32c(frame.sum, bytes);
  Inbound* const inbound = frame.inbound;
  if (inbound == nullptr) return;
  const std::uint64_t before = inbound->received;
  inbound->received += bytes.size();
  if (inbound->receive == nullptr)
    copy_bytes(inbound->buffer.data() + before, bytes.data(), bytes.size());
  else if (!inbound->port->guard([&] { inbound->receive->store(bytes); }))
    receiver_.abandon(*inbound);
}

// Parses the frames among the bytes that were read ahead. @return whether the link is still usable.
bool Reader::parse(Link& link) {
  for (;;) {
    const std::size_t there = link.ahead_end - link.ahead_begin;
    const std::span<const std::byte> ahead{link.ahead.data() + link.ahead_begin, there};
    if (!link.frame.active) {
      if (there < sizeof(Header)) break;
      if (!begin_frame(link, ahead)) return false;
    } else if (const std::size_t run = std::min<std::uint64_t>(there, link.frame.left); run > 0) {
      link.ahead_begin += run;
      store(link, ahead.first(run));
    }
    if (link.frame.left > 0 && link.ahead_begin == link.ahead_end) break;
    if (link.frame.left == 0 && !end_frame(link)) return false;
  }
  // Moves an incomplete header to the front of the buffer.
  const std::size_t rest = link.ahead_end - link.ahead_begin;
  if (link.ahead_begin > 0 && rest > 0)
    std::memmove(link.ahead.data(), link.ahead.data() + link.ahead_begin, rest);
  link.ahead_begin = 0;
  link.ahead_end = rest;
  return true;
}

bool Reader::begin_frame(Link& link, std::span<const std::byte> bytes) {
  const Decoded decoded = decode(bytes, limits_);
  if (decoded.flaw != Flaw::none) return link.reject(describe(decoded.flaw));
  link.ahead_begin += sizeof(Header);
  link.frame = {.header = decoded.header, .left = decoded.header.payload(), .active = true};
  return receiver_.begin_frame(link, decoded.header);
}

bool Reader::end_frame(Link& link) {
  const Incoming frame = link.frame;
  link.frame = {};
  if (frame.header.flags == kPayloadSummed && frame.sum != frame.header.payload_sum)
    return link.reject("the checksum of a payload does not fit");
  if (frame.inbound != nullptr) receiver_.end_frame(*frame.inbound);
  return true;
}

}  // namespace tutti::tcp

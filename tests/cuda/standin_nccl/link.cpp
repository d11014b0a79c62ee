#include "link.hpp"

#include <algorithm>
#include <cstring>

#include "failure.hpp"

namespace tutti::nccl_standin {
namespace {

constexpr std::byte kReceived{1};
constexpr std::byte kLeave{2};

[[noreturn]] void fail_as_peer_is_gone() {
  throw Failure{ncclRemoteError, "a peer has closed its connection"};
}

iovec part_of(const void* start, std::size_t bytes) {
  return {.iov_base = const_cast<void*>(start), .iov_len = bytes};
}

std::size_t send_bytes(const Socket& socket, const std::byte* bytes, std::size_t count) {
  std::array parts{part_of(bytes, count)};
  return send_some(socket, parts);
}

}  // namespace

void Link::enqueue(const Send& send) {
  outgoing_.push_back(
      {.header = {.bytes = send.bytes, .purpose = send.purpose, .registered = send.registered},
       .from = send.from});
}

void Link::enqueue(const Receive& receive) {
  incoming_.push_back({.expected = {.bytes = receive.bytes,
                                    .purpose = receive.purpose,
                                    .registered = receive.registered},
                       .into = receive.into});
}

bool Link::progress() {
  if (!data_) return false;
  const bool heard = listen();
  const bool sent = progress_sends();
  const bool received = progress_receives();
  return progress_acknowledgements() || heard || sent || received;
}

bool Link::is_busy() const noexcept {
  return !outgoing_.empty() || !incoming_.empty() || unacknowledged_ > 0 || owed_ > 0;
}

bool Link::progress_sends() {
  bool any = false;
  while (!outgoing_.empty()) {
    Outgoing& message = outgoing_.front();
    const std::size_t header_left = sizeof(Header) - std::min(sizeof(Header), message.sent);
    const std::size_t payload_sent = message.sent - std::min(sizeof(Header), message.sent);
    const auto* const header = reinterpret_cast<const std::byte*>(&message.header);
    std::array parts{part_of(header + (sizeof(Header) - header_left), header_left),
                     part_of(message.from + payload_sent, message.header.bytes - payload_sent)};
    const std::size_t sent = send_some(data_, parts);
    if (sent == 0) return any;
    any = true;
    message.sent += sent;
    if (message.sent < sizeof(Header) + message.header.bytes) continue;
    outgoing_.pop_front();
    ++unacknowledged_;
  }
  return any;
}

// The header is read by itself: only then is it known that the message fits.
std::size_t Link::receive_part(Incoming& message) const {
  const bool in_header = message.received < sizeof(Header);
  const std::size_t done = in_header ? message.received : message.received - sizeof(Header);
  const std::size_t all = in_header ? sizeof(Header) : message.expected.bytes;
  std::byte* const into = in_header ? message.header.data() : message.into;
  const auto received = receive_some(data_, {into + done, all - done});
  if (!received) fail_as_peer_is_gone();
  message.received += *received;
  if (in_header && message.received == sizeof(Header)) {
    Header header;
    std::memcpy(&header, message.header.data(), sizeof header);
    require(header.purpose == message.expected.purpose, ncclInternalError,
            "a peer has called another function");
    require(header.bytes == message.expected.bytes, ncclInternalError,
            "a peer has sent a message of another length than the one that was to be received");
    if (header.bytes > 0) require_same(header.registered, message.expected.registered);
  }
  return *received;
}

bool Link::progress_receives() {
  bool any = false;
  while (!incoming_.empty()) {
    Incoming& message = incoming_.front();
    if (receive_part(message) == 0) return any;
    any = true;
    if (message.received < sizeof(Header) + message.expected.bytes) continue;
    incoming_.pop_front();
    ++owed_;
  }
  return any;
}

bool Link::progress_acknowledgements() {
  if (owed_ == 0) return false;
  std::array<std::byte, 64> words{};
  words.fill(kReceived);
  const std::size_t sent = send_bytes(control_, words.data(), std::min(owed_, words.size()));
  owed_ -= sent;
  return sent > 0;
}

bool Link::listen() {
  std::array<std::byte, 64> words{};
  bool any = false;
  while (control_ && !peer_left_) {
    const auto received = receive_some(control_, words);
    if (!received) fail_as_peer_is_gone();
    if (*received == 0) break;
    any = true;
    const auto end = words.begin() + static_cast<std::ptrdiff_t>(*received);
    peer_left_ = std::find(words.begin(), end, kLeave) != end;
    unacknowledged_ -= static_cast<std::size_t>(std::count(words.begin(), end, kReceived));
  }
  if (peer_left_ && (!outgoing_.empty() || unacknowledged_ > 0)) fail_as_peer_is_gone();
  return any;
}

void Link::add_events(std::vector<pollfd>& events) const {
  if (!data_) return;
  const auto add = [&](const Socket& socket, bool reads, bool writes) {
    const int wanted = (reads ? POLLIN : 0) | (writes ? POLLOUT : 0);
    if (wanted != 0)
      events.push_back({.fd = socket.file(), .events = static_cast<short>(wanted), .revents = 0});
  };
  add(data_, !incoming_.empty(), !outgoing_.empty());
  add(control_, !peer_left_, owed_ > 0);
}

void Link::leave() const noexcept {
  if (!control_) return;
  try {
    send_bytes(control_, &kLeave, 1);
  } catch (const Failure&) {
    return;  // the peer has left before
  }
}

void Link::shut_down() const noexcept {
  data_.shut_down();
  control_.shut_down();
}

}  // namespace tutti::nccl_standin

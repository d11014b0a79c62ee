#include "mesh.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

#include "bootstrap.hpp"
#include "failure.hpp"

namespace tutti::nccl_standin {

Mesh::Mesh() : wake_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
  require(static_cast<bool>(wake_), ncclSystemError, "there is no more file");
}

void Mesh::connect(Membership membership, const Device& device) {
  membership_ = std::move(membership);
  // Pause before the next attempt to connect to a rank that is not there yet.
  constexpr int kAgain_ms = 2;
  Bootstrap bootstrap{membership_, device};
  std::vector<pollfd> events;
  while (!bootstrap.progress()) {
    require_going_on();
    events.clear();
    wait(events, kAgain_ms);
  }
  bootstrap.check_devices();
  const std::scoped_lock lock{exchanging_, links_mutex_};
  links_ = bootstrap.take_links();
  sockets_ = bootstrap.take_sockets();
  require_going_on();
}

void Mesh::exchange(const Stage& stage) {
  const std::scoped_lock lock{exchanging_};
  copy_own(membership_.rank, stage);
  const auto link_of = [&](int peer) -> Link& { return links_[static_cast<std::size_t>(peer)]; };
  for (const Send& send : stage.sends)
    if (send.peer != membership_.rank) link_of(send.peer).enqueue(send);
  for (const Receive& receive : stage.receives)
    if (receive.peer != membership_.rank) link_of(receive.peer).enqueue(receive);
  std::vector<pollfd> events;
  while (true) {
    require_going_on();
    bool moved = false;
    for (Link& link : links_) moved |= link.progress();
    if (std::none_of(links_.begin(), links_.end(), [](const Link& link) { return link.is_busy(); }))
      return;
    if (moved) continue;
    events.clear();
    for (const Link& link : links_) link.add_events(events);
    wait(events, -1);
  }
}

void Mesh::copy_own(int rank, const Stage& stage) {
  auto receive = stage.receives.begin();
  const auto is_own = [rank](const auto& message) { return message.peer == rank; };
  for (const Send& send : stage.sends) {
    if (!is_own(send)) continue;
    receive = std::find_if(receive, stage.receives.end(), is_own);
    require(receive != stage.receives.end() && receive->bytes == send.bytes, ncclInternalError,
            "a message to the own rank has another length than the one that was to be received");
    if (send.bytes > 0) std::memmove(receive->into, send.from, send.bytes);
    ++receive;
  }
}

std::vector<Note> Mesh::exchange(const Note& own, const Mesh& other) {
  std::vector<Note> notes(sockets_.size(), own);
  std::vector<std::size_t> received(sockets_.size(), 0);
  received[static_cast<std::size_t>(membership_.rank)] = sizeof own;
  for (const Socket& socket : sockets_) {
    std::array parts{iovec{.iov_base = const_cast<Note*>(&own), .iov_len = sizeof own}};
    require(!socket || send_some(socket, parts) == sizeof own, ncclSystemError,
            "a peer does not listen");
  }
  while (true) {
    require_going_on();
    other.require_going_on();
    std::vector<pollfd> events{other.wake_event()};
    for (std::size_t peer = 0; peer < notes.size(); ++peer) {
      if (received[peer] == sizeof own) continue;
      const auto into = std::as_writable_bytes(std::span{&notes[peer], 1});
      const auto got = receive_some(sockets_[peer], into.subspan(received[peer]));
      require(got.has_value(), ncclRemoteError, "a peer has closed its connection");
      received[peer] += *got;
      if (received[peer] < sizeof own)
        events.push_back({.fd = sockets_[peer].file(), .events = POLLIN, .revents = 0});
    }
    if (events.size() == 1) return notes;
    wait(events, -1);
  }
}

void Mesh::check_peers() {
  const std::unique_lock lock{exchanging_, std::try_to_lock};
  if (!lock.owns_lock()) return;
  for (Link& link : links_) link.listen();
}

void Mesh::leave() {
  const std::scoped_lock lock{exchanging_};
  for (const Link& link : links_) link.leave();
}

void Mesh::stop() noexcept {
  if (stopped_.exchange(true)) return;
  constexpr std::uint64_t kOne = 1;
  [[maybe_unused]] const ssize_t written = write(wake_.file(), &kOne, sizeof kOne);
  const std::scoped_lock lock{links_mutex_};
  for (const Link& link : links_) link.shut_down();
  for (const Socket& socket : sockets_) socket.shut_down();
}

void Mesh::require_going_on() const {
  require(!stopped_, ncclInternalError, "the communicator was aborted");
}

void Mesh::wait(std::vector<pollfd>& events, int timeout_ms) const {
  events.push_back(wake_event());
  poll(events.data(), events.size(), timeout_ms);
}

}  // namespace tutti::nccl_standin

#include "control.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace tutti::runtime {
namespace {

constexpr std::size_t kMostEarly = 256;
constexpr std::chrono::milliseconds kGoodbye{500};

/// Signals are the program's: none is handled on our thread.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace

Control::Control(Rank self, std::vector<Watched> peers, const Vigilance& vigilance)
    : self_{self}, vigilance_{vigilance}, bell_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
  if (!bell_) throw system_error("make an event descriptor", errno);
  const Clock::time_point now = Clock::now();
  for (Watched& watched : peers) {
    has_remote_ = has_remote_ || !watched.is_local;
    peers_.push_back({.watched = std::move(watched), .heard = now});
  }
  next_beat_ = now + vigilance_.heartbeat;
  const SignalsBlocked blocked;  // the thread inherits it
  thread_ = std::thread{[this] { serve(); }};
}

Control::~Control() {
  {
    const std::lock_guard lock{mutex_};
    is_closing_ = true;
    for (Peer& peer : peers_) send(peer, {.kind = ControlMessage::Kind::goodbye});
  }
  wake();
  thread_.join();
}

void Control::wake() noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(::write(bell_.get(), &one, sizeof one));
}

Control::Peer* Control::find(Rank rank) noexcept {
  const auto found =
      std::ranges::find_if(peers_, [rank](const Peer& peer) { return peer.watched.rank == rank; });
  return found == peers_.end() ? nullptr : &*found;
}

Error Control::death_of(const Peer& peer, const Communicator& communicator) const {
  const auto at = std::ranges::find(communicator.members, peer.watched.rank);
  return {ErrorCode::peer_dead, peer.watched.name + " " + peer.cause,
          static_cast<Rank>(at - communicator.members.begin())};
}

std::shared_ptr<Alarm> Control::watch(std::uint64_t communicator, std::vector<Rank> members) {
  auto alarm = std::make_shared<Alarm>(
      [this, communicator](const Error& cause) { tell(communicator, cause); });
  const std::lock_guard lock{mutex_};
  std::erase_if(communicators_, [](const auto& entry) { return entry.second.alarm.expired(); });
  const Communicator& made =
      communicators_.insert_or_assign(communicator, Communicator{std::move(members), alarm})
          .first->second;
  for (const auto& [id, cause] : early_)
    if (id == communicator) alarm->hear(cause);
  std::erase_if(early_, [communicator](const auto& entry) { return entry.first == communicator; });
  for (const Peer& peer : peers_)
    if (peer.state == State::dead && std::ranges::count(made.members, peer.watched.rank) > 0)
      alarm->hear(death_of(peer, made));
  return alarm;
}

// Called by whoever raises an alarm.
void Control::tell(std::uint64_t communicator, const Error& cause) {
  {
    const std::lock_guard lock{mutex_};
    const auto found = communicators_.find(communicator);
    if (found == communicators_.end()) return;
    const std::vector<Rank>& members = found->second.members;
    const auto own = std::ranges::find(members, self_) - members.begin();
    const ControlMessage message{.kind = ControlMessage::Kind::failure,
                                 .communicator = communicator,
                                 .code = cause.code(),
                                 .culprit = cause.culprit(),
                                 .text = "rank " + std::to_string(own) + " failed (" +
                                         std::string{name_of(cause.code())} + "): " + cause.what()};
    for (const Rank member : members)
      if (Peer* const peer = find(member)) send(*peer, message);
  }
  wake();
}

void Control::send(Peer& peer, const ControlMessage& message) {
  if (peer.state == State::here) peer.outgoing += encode(message);
}

bool Control::has_said_all() const {
  return std::ranges::all_of(
      peers_, [](const Peer& peer) { return peer.state != State::here || peer.outgoing.empty(); });
}

void Control::serve() noexcept {
  Clock::time_point end = Clock::time_point::max();
  try {
    for (;;) {
      {
        const std::lock_guard lock{mutex_};
        for (Peer& peer : peers_) write(peer);
        if (is_closing_ && end == Clock::time_point::max()) end = Clock::now() + kGoodbye;
        if (is_closing_ && (has_said_all() || Clock::now() >= end)) return;
      }
      wait();
      const std::lock_guard lock{mutex_};
      for (Peer& peer : peers_) read(peer);
      beat();
    }
  } catch (const std::exception& error) {
    // Out of memory: nobody watches any more, so nobody may go on.
    const std::lock_guard lock{mutex_};
    for (auto& [id, communicator] : communicators_)
      if (const std::shared_ptr<Alarm> alarm = communicator.alarm.lock())
        alarm->hear(
            {ErrorCode::transport, std::string{"the control thread ended: "} + error.what()});
  }
}

void Control::wait() {
  std::vector<pollfd> descriptors{{bell_.get(), POLLIN, 0}};
  int timeout = -1;
  {
    const std::lock_guard lock{mutex_};
    for (const Peer& peer : peers_) {
      if (peer.state != State::here) continue;
      const short events = peer.outgoing.empty() ? POLLIN : POLLIN | POLLOUT;
      descriptors.push_back({peer.watched.socket.get(), events, 0});
    }
    if (has_remote_ || is_closing_)
      timeout = std::min(milliseconds_until(next_beat_), is_closing_ ? 20 : 1 << 30);
  }
  poll(descriptors.data(), descriptors.size(), timeout);
  std::uint64_t rings = 0;
  static_cast<void>(::read(bell_.get(), &rings, sizeof rings));
}

void Control::beat() {
  const Clock::time_point now = Clock::now();
  if (!has_remote_ || now < next_beat_) return;
  // Where this thread got no processor, the others' messages were not late, we were.
  const Clock::duration late = now - next_beat_;
  for (Peer& peer : peers_) {
    if (peer.watched.is_local || peer.state != State::here) continue;
    if (late > vigilance_.heartbeat) peer.heard += late;
    if (now - peer.heard > vigilance_.lost)
      lose(peer, "has not been heard of for " + std::to_string(vigilance_.lost.count()) + " ms");
    else send(peer, {.kind = ControlMessage::Kind::heartbeat});
  }
  next_beat_ = now + vigilance_.heartbeat;
}

void Control::write(Peer& peer) {
  while (peer.state == State::here && !peer.outgoing.empty()) {
    const ssize_t sent = ::send(peer.watched.socket.get(), peer.outgoing.data(),
                                peer.outgoing.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      peer.outgoing.erase(0, static_cast<std::size_t>(sent));
      continue;
    }
    if (errno == EINTR) continue;
    return;  // a socket that is broken is found so when it is read
  }
}

void Control::read(Peer& peer) {
  char bytes[4096];
  while (peer.state == State::here) {
    const ssize_t got = recv(peer.watched.socket.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got <= 0) {
      lose(peer,
           got == 0 ? "has ended" : std::string{"cannot be reached: "} + std::strerror(errno));
      return;
    }
    peer.heard = Clock::now();
    peer.incoming.append(bytes, static_cast<std::size_t>(got));
    try {
      while (const std::optional<ControlMessage> message = decode(peer.incoming))
        take(peer, *message);
    } catch (const Error& error) {
      lose(peer, std::string{"broke the rules: "} + error.what());
    }
  }
}

void Control::take(Peer& peer, const ControlMessage& message) {
  if (message.kind == ControlMessage::Kind::goodbye) peer.state = State::left;
  if (message.kind != ControlMessage::Kind::failure) return;
  const Error cause{ErrorCode::aborted, message.text, message.culprit};
  const auto found = communicators_.find(message.communicator);
  if (found != communicators_.end()) {
    if (const std::shared_ptr<Alarm> alarm = found->second.alarm.lock()) alarm->hear(cause);
    return;
  }
  early_.emplace_back(message.communicator, cause);
  if (early_.size() > kMostEarly) early_.pop_front();
}

void Control::lose(Peer& peer, const std::string& cause) {
  peer.state = State::dead;
  peer.cause = cause;
  for (auto& [id, communicator] : communicators_) {
    if (std::ranges::count(communicator.members, peer.watched.rank) == 0) continue;
    if (const std::shared_ptr<Alarm> alarm = communicator.alarm.lock())
      alarm->hear(death_of(peer, communicator));
  }
}

}  // namespace tutti::runtime

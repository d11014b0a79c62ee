#include "acceptor.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "runtime/sockets/descriptors.hpp"

namespace tutti::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// The number of connections accepted between two reads of the earlier ones, so that a flood cannot
/// evict a peer before its first message is read.
constexpr int kAcceptedAtOnce = 16;
/// The pause in accepting when the process can open no more descriptors.
constexpr std::chrono::milliseconds kShortagePause{20};
/// A shortage that lasts longer is an error.
constexpr std::chrono::milliseconds kLongestShortage{500};

Descriptor open_reserve() {
  return Descriptor{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
}

}  // namespace

Acceptor::Acceptor(Identity self, std::vector<Listener> listeners, Admit admit,
                   AcceptorLimits limits, Report report)
    : self_{std::move(self)}, admit_{std::move(admit)}, limits_{limits}, report_{std::move(report)},
      listeners_{std::move(listeners)}, events_{::epoll_create1(EPOLL_CLOEXEC)},
      reserve_{open_reserve()} {
  if (!events_) throw_system_error("cannot watch sockets", errno);
  for (const Listener& listener : listeners_) watch(listener.socket.get(), next_id_++);
}

Deadline Acceptor::next_deadline() const noexcept {
  // All peers have the same time limit, and the list is in order of arrival.
  const Deadline first =
      unauthenticated_.empty() ? Deadline::max() : unauthenticated_.front().until;
  return watching_ ? first : std::min(first, closed_until_);
}

void Acceptor::watch(int descriptor, std::uint64_t id) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = id;
  if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0)
    throw system_error("cannot watch a socket", errno);
}

void Acceptor::progress(std::vector<AcceptedConnection>& arrived) {
  const auto now = Clock::now();
  if (!watching_ && now >= closed_until_) {
    watching_ = true;
    for (std::size_t i = 0; i < listeners_.size(); ++i) watch(listeners_[i].socket.get(), i);
  }
  std::array<epoll_event, 128> events;
  const int ready = ::epoll_wait(events_.get(), events.data(), static_cast<int>(events.size()), 0);
  if (ready < 0 && errno != EINTR) throw system_error("cannot watch sockets", errno);
  const auto ready_events = std::span{events}.first(static_cast<std::size_t>(std::max(ready, 0)));
  for (const epoll_event& event : ready_events) {
    const auto id = event.data.u64;
    const auto found = std::ranges::find(unauthenticated_, id, &UnauthenticatedPeer::id);
    if (found != unauthenticated_.end()) receive_from(found, arrived);
  }
  for (const epoll_event& event : ready_events)
    if (event.data.u64 < listeners_.size() && watching_) accept_some(listeners_[event.data.u64]);
  while (!unauthenticated_.empty() && unauthenticated_.front().until <= now)
    drop(unauthenticated_.begin(), Reason::too_slow);
}

void Acceptor::accept_some(const Listener& listener) {
  for (int accepted = 0; accepted < kAcceptedAtOnce && accept_one(listener);) ++accepted;
}

bool Acceptor::accept_one(const Listener& listener) {
  Descriptor socket{
      ::accept4(listener.socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)};
  if (socket) {
    short_since_.reset();
    add_peer(std::move(socket), listener);
    return true;
  }
  switch (errno) {
    case EAGAIN: return false;
    case EMFILE:
    case ENFILE: check_descriptor_shortage(errno); [[fallthrough]];
    case ENOBUFS:
    case ENOMEM: pause_accepting(listener); return false;
    case EBADF:
    case EINVAL:
    case ENOTSOCK: throw system_error("cannot accept connections", errno);
    default: return true;  // an error of one connection before it was accepted
  }
}

/// Waiting does not end a shortage that lasts this long while no unauthenticated peer holds a
/// descriptor. A shortage is not seen while no connection arrives.
void Acceptor::check_descriptor_shortage(int error) {
  const auto now = Clock::now();
  const bool is_new = !short_since_ || now - closed_until_ >= kLongestShortage;
  if (is_new || !unauthenticated_.empty()) short_since_ = now;
  if (now - *short_since_ >= kLongestShortage)
    throw_system_error("cannot accept connections", error);
}

/// Closes one connection by means of the reserved descriptor, so that its peer learns of it at
/// once, and leaves the others in the system's queue for a moment.
void Acceptor::pause_accepting(const Listener& listener) {
  reserve_.reset();
  const Descriptor rejected{::accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC)};
  if (rejected) ++refused_[static_cast<std::size_t>(Reason::no_descriptor)];
  for (const Listener& each : listeners_)
    ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, each.socket.get(), nullptr);
  watching_ = false;
  closed_until_ = Clock::now() + kShortagePause;
}

void Acceptor::add_peer(Descriptor socket, const Listener& listener) {
  const bool local = listener.local;
  if (!reserve_) reserve_ = open_reserve();
  if (local && peer_user(socket.get()) != ::geteuid()) {
    ++refused_[static_cast<std::size_t>(Reason::wrong_user)];
    return;
  }
  const int one = 1;
  if (!local) ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  drop_if_full();
  watch(socket.get(), next_id_);
  unauthenticated_.push_back({.id = next_id_++,
                              .socket = std::move(socket),
                              .local = local,
                              .until = Clock::now() + limits_.time_limit,
                              .handshake = AcceptorHandshake{self_, admit_, listener.accepts_ranks},
                              .buffer = {},
                              .filled = 0});
}

void Acceptor::drop_if_full() {
  if (unauthenticated_.size() < limits_.most_peers) return;
  const auto unnamed = std::ranges::find_if(unauthenticated_, [](const UnauthenticatedPeer& peer) {
    return !peer.handshake.has_named_job();
  });
  drop(unnamed == unauthenticated_.end() ? unauthenticated_.begin() : unnamed, Reason::crowded_out);
}

void Acceptor::receive_from(UnauthenticatedPeers::iterator peer,
                            std::vector<AcceptedConnection>& arrived) {
  AcceptorHandshake& handshake = peer->handshake;
  while (handshake.state() == HandshakeState::active) {
    const std::size_t expected = handshake.expected_bytes();
    const auto room = std::span{peer->buffer}.first(expected).subspan(peer->filled);
    const ssize_t got = ::recv(peer->socket.get(), room.data(), room.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      drop(peer, Reason::closed);
      return;
    }
    peer->filled += static_cast<std::size_t>(got);
    if (peer->filled < expected) continue;
    peer->filled = 0;
    const auto message = handshake.process(std::span{peer->buffer}.first(expected));
    // An accepted peer stays accepted even if it closed before the last message arrived: its owner
    // will notice.
    if (!reply(*peer, message) && handshake.state() != HandshakeState::accepted) {
      drop(peer, Reason::closed);
      return;
    }
  }
  if (handshake.state() == HandshakeState::refused) {
    if (report_) report_refused(*peer);
    drop(peer, handshake.reason());
    return;
  }
  ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, peer->socket.get(), nullptr);
  arrived.push_back({std::move(peer->socket), handshake.request(), peer->local});
  unauthenticated_.erase(peer);
}

/// A peer with another world size has proved that it is a rank of the job. Any process can claim
/// another secret, so that claim is reported only from processes of this user on this host, which
/// could end this process anyway, and from all peers if this rank has no secret: a job without a
/// secret accepts every claim from other hosts.
void Acceptor::report_refused(const UnauthenticatedPeer& peer) const {
  const AcceptorHandshake& handshake = peer.handshake;
  const bool counts = handshake.reason() == Reason::wrong_size ||
                      handshake.reason() == Reason::no_secret ||
                      (handshake.claims_other_secret() &&
                       (!self_.secret || peer.local || is_of_this_user(peer.socket.get())));
  if (counts) report_({handshake.request(), handshake.peer_size(), handshake.reason()});
}

bool Acceptor::reply(UnauthenticatedPeer& peer, std::span<const std::byte> message) {
  // A fresh socket has room for a message; a socket without room is closed.
  return message.empty() || ::send(peer.socket.get(), message.data(), message.size(),
                                   MSG_NOSIGNAL) == static_cast<ssize_t>(message.size());
}

Acceptor::UnauthenticatedPeers::iterator Acceptor::drop(UnauthenticatedPeers::iterator peer,
                                                        Reason reason) {
  ++refused_[static_cast<std::size_t>(reason)];
  return unauthenticated_.erase(peer);
}

std::string Acceptor::refusals_text() const {
  std::string text;
  for (int i = 1; i < kReasons; ++i) {
    const auto reason = static_cast<Reason>(i);
    if (refused(reason) == 0) continue;
    text += (text.empty() ? "; refused connections: " : ", ") + std::to_string(refused(reason)) +
            " " + std::string{name_of(reason)};
  }
  return text;
}

}  // namespace tutti::runtime

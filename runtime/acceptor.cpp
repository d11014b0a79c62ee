#include "acceptor.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "descriptors.hpp"

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
  const Deadline first = strangers_.empty() ? Deadline::max() : strangers_.front().until;
  return watching_ ? first : std::min(first, closed_until_);
}

void Acceptor::watch(int descriptor, std::uint64_t id) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = id;
  if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0)
    throw system_error("cannot watch a socket", errno);
}

void Acceptor::progress(std::vector<Accepted>& arrived) {
  const auto now = Clock::now();
  if (!watching_ && now >= closed_until_) {
    watching_ = true;
    for (std::size_t i = 0; i < listeners_.size(); ++i) watch(listeners_[i].socket.get(), i);
  }
  std::array<epoll_event, 128> events;
  const int ready = ::epoll_wait(events_.get(), events.data(), static_cast<int>(events.size()), 0);
  if (ready < 0 && errno != EINTR) throw system_error("cannot watch sockets", errno);
  const auto heard = std::span{events}.first(static_cast<std::size_t>(std::max(ready, 0)));
  for (const epoll_event& event : heard) {
    const auto id = event.data.u64;
    const auto found = std::ranges::find(strangers_, id, &UnauthenticatedPeer::id);
    if (found != strangers_.end()) listen_to(found, arrived);
  }
  for (const epoll_event& event : heard)
    if (event.data.u64 < listeners_.size() && watching_) accept_some(listeners_[event.data.u64]);
  while (!strangers_.empty() && strangers_.front().until <= now)
    dismiss(strangers_.begin(), Reason::too_slow);
}

void Acceptor::accept_some(const Listener& listener) {
  for (int accepted = 0; accepted < kAcceptedAtOnce && accept_one(listener);) ++accepted;
}

bool Acceptor::accept_one(const Listener& listener) {
  Descriptor socket{
      ::accept4(listener.socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)};
  if (socket) {
    short_since_.reset();
    welcome(std::move(socket), listener);
    return true;
  }
  switch (errno) {
    case EAGAIN: return false;
    case EMFILE:
    case ENFILE: check_shortage(errno); [[fallthrough]];
    case ENOBUFS:
    case ENOMEM: survive_shortage(listener); return false;
    case EBADF:
    case EINVAL:
    case ENOTSOCK: throw system_error("cannot accept connections", errno);
    default: return true;  // an error of one connection before it was accepted
  }
}

/// Waiting does not end a shortage that lasts this long while no unauthenticated peer holds a
/// descriptor. A shortage is not seen while no connection arrives.
void Acceptor::check_shortage(int error) {
  const auto now = Clock::now();
  const bool is_new = !short_since_ || now - closed_until_ >= kLongestShortage;
  if (is_new || !strangers_.empty()) short_since_ = now;
  if (now - *short_since_ >= kLongestShortage)
    throw_system_error("cannot accept connections", error);
}

/// Closes one connection by means of the reserved descriptor, so that its peer learns of it at
/// once, and leaves the others in the system's queue for a moment.
void Acceptor::survive_shortage(const Listener& listener) {
  reserve_.reset();
  const Descriptor unlucky{::accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC)};
  if (unlucky) ++refused_[static_cast<std::size_t>(Reason::no_descriptor)];
  for (const Listener& each : listeners_)
    ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, each.socket.get(), nullptr);
  watching_ = false;
  closed_until_ = Clock::now() + kShortagePause;
}

void Acceptor::welcome(Descriptor socket, const Listener& listener) {
  const bool local = listener.local;
  if (!reserve_) reserve_ = open_reserve();
  if (local && peer_user(socket.get()) != ::geteuid()) {
    ++refused_[static_cast<std::size_t>(Reason::wrong_user)];
    return;
  }
  const int one = 1;
  if (!local) ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  make_room();
  watch(socket.get(), next_id_);
  strangers_.push_back({.id = next_id_++,
                        .socket = std::move(socket),
                        .local = local,
                        .until = Clock::now() + limits_.patience,
                        .handshake = AcceptorHandshake{self_, admit_, listener.takes_ranks},
                        .buffer = {},
                        .filled = 0});
}

void Acceptor::make_room() {
  if (strangers_.size() < limits_.strangers) return;
  const auto silent = std::ranges::find_if(strangers_, [](const UnauthenticatedPeer& stranger) {
    return !stranger.handshake.greeted();
  });
  dismiss(silent == strangers_.end() ? strangers_.begin() : silent, Reason::crowded_out);
}

void Acceptor::listen_to(Strangers::iterator stranger, std::vector<Accepted>& arrived) {
  AcceptorHandshake& handshake = stranger->handshake;
  while (handshake.progress() == Progress::talking) {
    const std::size_t wanted = handshake.wanted();
    const auto room = std::span{stranger->buffer}.first(wanted).subspan(stranger->filled);
    const ssize_t got = ::recv(stranger->socket.get(), room.data(), room.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      dismiss(stranger, Reason::closed);
      return;
    }
    stranger->filled += static_cast<std::size_t>(got);
    if (stranger->filled < wanted) continue;
    stranger->filled = 0;
    const auto message = handshake.feed(std::span{stranger->buffer}.first(wanted));
    // An accepted peer stays accepted even if it closed before the last message arrived: its owner
    // will notice.
    if (!reply(*stranger, message) && handshake.progress() != Progress::agreed) {
      dismiss(stranger, Reason::closed);
      return;
    }
  }
  if (handshake.progress() == Progress::refused) {
    if (report_) judge(*stranger);
    dismiss(stranger, handshake.reason());
    return;
  }
  ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, stranger->socket.get(), nullptr);
  arrived.push_back({std::move(stranger->socket), handshake.request(), stranger->local});
  strangers_.erase(stranger);
}

/// A peer with another world size has proved that it is a rank of the job. Any process can claim
/// another secret, so that claim is reported only from processes of this user on this host, which
/// could end this process anyway, and from all peers if this rank has no secret: a job without a
/// secret accepts every claim from other hosts.
void Acceptor::judge(const UnauthenticatedPeer& stranger) const {
  const AcceptorHandshake& handshake = stranger.handshake;
  const bool counts = handshake.reason() == Reason::wrong_size ||
                      handshake.reason() == Reason::no_secret ||
                      (handshake.admits_another_secret() &&
                       (!self_.secret || stranger.local || is_of_this_user(stranger.socket.get())));
  if (counts) report_({handshake.request(), handshake.peer_size(), handshake.reason()});
}

bool Acceptor::reply(UnauthenticatedPeer& stranger, std::span<const std::byte> message) {
  // A fresh socket has room for a message; a socket without room is closed.
  return message.empty() || ::send(stranger.socket.get(), message.data(), message.size(),
                                   MSG_NOSIGNAL) == static_cast<ssize_t>(message.size());
}

Acceptor::Strangers::iterator Acceptor::dismiss(Strangers::iterator stranger, Reason reason) {
  ++refused_[static_cast<std::size_t>(reason)];
  return strangers_.erase(stranger);
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

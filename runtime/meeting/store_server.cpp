#include "store_server.hpp"

#include <algorithm>
#include <cerrno>

#include "runtime/sockets/descriptors.hpp"
#include "runtime/sockets/interruptible.hpp"
#include "runtime/sockets/missing_ranks.hpp"

#include "folder_note.hpp"

namespace tutti::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// The time in which rank 0 reports its failure to the others.
constexpr std::chrono::milliseconds kReportTime{1000};

/// The time in which the right rank may still connect after a refused one, which may be a stray
/// process.
constexpr std::chrono::milliseconds kReplacementTime{500};

}  // namespace

StoreServer::StoreServer(StoreOptions options, std::vector<Listener> listeners)
    : options_{std::move(options)}, peers_(static_cast<std::size_t>(options_.size)) {
  needs_secret_ = std::ranges::any_of(
      listeners, [](const Listener& listener) { return !listener.accepts_ranks; });
  acceptor_.emplace(
      identity_of(options_), std::move(listeners),
      [this](const ConnectionRequest& request) { return admit(request); }, AcceptorLimits{},
      [this](const RefusedPeer& refused) { record(refused); });
  for (std::size_t rank = 0; rank < options_.hosts.size(); ++rank)
    peers_.at(rank).host = options_.hosts[rank];
  peers_[0].has_joined = true;
  peers_[0].host = options_.host;
  if (options_.listening) options_.listening(options_.address.port);
}

Reason StoreServer::admit(const ConnectionRequest& request) {
  if (request.purpose != Purpose::store && request.purpose != Purpose::end)
    return Reason::unexpected;
  StorePeer& peer = peers_[static_cast<std::size_t>(request.from)];
  if (peer.has_joined) return Reason::duplicate_rank;
  peer.has_joined = true;
  return Reason::none;
}

void StoreServer::record(const RefusedPeer& refused) {
  const Rank rank = refused.request.from;
  if (refused.request.purpose != Purpose::store || refused_peers_.size() >= peers_.size()) return;
  if (refused_peers_.empty()) refused_until_ = Clock::now() + kReplacementTime;
  refused_peers_.emplace(rank, refused);
}

/// Throws if a missing rank was refused, since waiting for it is of no use.
void StoreServer::fail_if_refused() {
  refused_until_ = Deadline::max();
  const bool all_joined = std::ranges::all_of(peers_, &StorePeer::has_joined);
  std::erase_if(refused_peers_, [&](const auto& entry) {
    const auto rank = static_cast<std::size_t>(entry.first);
    return all_joined || (rank < peers_.size() && peers_[rank].has_joined);
  });
  if (refused_peers_.empty()) return;
  const RefusedPeer& first = refused_peers_.begin()->second;
  std::vector<Rank> same_cause;
  for (const auto& [rank, refused] : refused_peers_)
    if (refused.reason == first.reason && refused.size == first.size) same_cause.push_back(rank);
  const auto agreeing =
      static_cast<std::size_t>(std::ranges::count_if(peers_, &StorePeer::has_joined));
  const std::string self = "rank 0 (host " + options_.host + ")";
  if (first.reason == Reason::no_secret)
    throw no_secret(same_cause.front(), "rank 0 at " + url_of(options_));
  const Error error =
      first.reason == Reason::wrong_size
          ? wrong_size({.ranks = same_cause,
                        .theirs = std::to_string(first.size),
                        .rank_0 = self,
                        .own = std::to_string(options_.size),
                        .agreeing = agreeing})
          : Error{ErrorCode::mismatch,
                  ranks_text(same_cause) + " and " + self + " do not share a secret: wrong secret",
                  same_cause.size() > agreeing ? 0 : same_cause.front()};
  throw Error{error.code(), error.what() + acceptor_->refusals_text(), error.culprit()};
}

std::vector<std::string> StoreServer::all_gather(std::string_view own, Deadline deadline) {
  if (failed_) throw Error{*failed_};
  if (own.size() > frame::kLongestValue)
    throw Error{ErrorCode::invalid_argument, "a rank may send at most 64 KiB at once"};
  start_ = Clock::now();
  deadline_ = deadline;
  peers_[0].value = std::string{own};
  try {
    collect();
    if (options_.note) options_.note->remove();
    send_to_all(frame::make({frame::ContentType::gathered, 0, round_, 0}, gathered()), deadline_);
  } catch (const Error& error) {
    failed_ = error;
    acceptor_.reset();
    const Deadline end = Clock::now() + kReportTime;
    send_to_all(frame::make_failure(round_, error), end);
    await_close(end);
    throw;
  }
  acceptor_.reset();
  ++round_;
  std::vector<std::string> values;
  for (StorePeer& peer : peers_) values.push_back(*std::exchange(peer.value, std::nullopt));
  return values;
}

/// poll fails with EINVAL for more entries than the process may have descriptors.
void StoreServer::throw_poll_error(int error) const {
  try {
    if (error == EINVAL) require_descriptors(options_.size);
  } catch (const DescriptorShortage& shortage) {
    throw shortage.with_rank(0, options_.host);
  }
  throw system_error("the store cannot wait", error);
}

/// Waits for the values of all ranks.
void StoreServer::collect() {
  const auto has_no_value = [](const StorePeer& peer) { return !peer.value; };
  while (std::ranges::any_of(peers_, has_no_value)) {
    polled_.clear();
    Deadline next = deadline_;
    if (acceptor_) {
      polled_.push_back({.fd = acceptor_->descriptor(), .events = POLLIN, .revents = 0});
      next = std::min({next, acceptor_->next_deadline(), refused_until_});
    }
    const std::size_t first = polled_.size();
    for (const StorePeer& peer : peers_)  // poll ignores a negative descriptor
      polled_.push_back({.fd = peer.socket.get(), .events = POLLIN, .revents = 0});
    if (::poll(polled_.data(), polled_.size(), milliseconds_until(next_look(next))) < 0 &&
        errno != EINTR)
      throw_poll_error(errno);
    for (std::size_t rank = 1; rank < peers_.size(); ++rank) {
      if (polled_[first + rank].revents != 0) receive_from(static_cast<Rank>(rank));
      else if (peers_[rank].has_joined && !peers_[rank].socket)
        throw lost_rank_error(static_cast<Rank>(rank));
    }
    if (acceptor_) accept_ranks();
    if (Clock::now() >= refused_until_) fail_if_refused();
    if (Clock::now() >= deadline_ && std::ranges::any_of(peers_, has_no_value))
      throw missing_ranks_error();
  }
}

void StoreServer::accept_ranks() {
  std::vector<AcceptedConnection> arrived;
  acceptor_->progress(arrived);
  for (AcceptedConnection& accepted : arrived)
    peers_[static_cast<std::size_t>(accepted.request.from)].socket = std::move(accepted.socket);
}

/// Reads a rank's input, up to its value of this round.
void StoreServer::receive_from(Rank rank) {
  StorePeer& peer = peers_[static_cast<std::size_t>(rank)];
  for (;;) {
    if (peer.value) {  // no input is expected any more, so its end made it readable
      std::array<std::byte, 1> more;
      std::size_t none = 0;
      if (fill(rank, more, none))
        throw Error{ErrorCode::bug, "tutti has a bug: a rank sent two values in one round", rank};
      return;
    }
    if (peer.header_bytes < sizeof peer.header) {
      if (!fill(rank, std::as_writable_bytes(std::span{&peer.header, 1}), peer.header_bytes))
        return;
      begin_content(rank);
    }
    if (!fill(rank, std::as_writable_bytes(std::span{peer.content}), peer.content_bytes)) return;
    end_content(rank);
  }
}

/// Reads into the rest of `room`. @return whether it is full. Throws if the rank has disconnected.
bool StoreServer::fill(Rank rank, std::span<std::byte> room, std::size_t& filled) {
  const int socket = peers_[static_cast<std::size_t>(rank)].socket.get();
  while (filled < room.size()) {
    const ssize_t got = ::recv(socket, room.data() + filled, room.size() - filled, 0);
    if (got > 0) filled += static_cast<std::size_t>(got);
    else if (got < 0 && errno == EINTR) continue;
    else if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
    else throw lost_rank_error(rank);
  }
  return true;
}

void StoreServer::begin_content(Rank rank) {
  StorePeer& peer = peers_[static_cast<std::size_t>(rank)];
  const bool is_host = peer.header.kind == frame::ContentType::host;
  const bool is_end = peer.header.kind == frame::ContentType::ended;
  const std::size_t limit = is_host  ? frame::kLongestHost
                            : is_end ? frame::kLongestEnd
                                     : frame::kLongestValue;
  const bool known = is_host || is_end ||
                     (peer.header.kind == frame::ContentType::value && peer.header.round == round_);
  if (!known || peer.header.length > limit)
    throw Error{ErrorCode::transport,
                "rank " + std::to_string(rank) + " sent the store a frame that is not allowed",
                rank};
  peer.content.assign(peer.header.length, '\0');
  peer.content_bytes = 0;
}

void StoreServer::end_content(Rank rank) {
  StorePeer& peer = peers_[static_cast<std::size_t>(rank)];
  peer.header_bytes = 0;
  if (peer.header.kind == frame::ContentType::ended)
    throw ended_rank(rank, peer.host, peer.content);
  if (peer.header.kind == frame::ContentType::host) {
    peer.host = std::move(peer.content);
    return;
  }
  peer.value = std::move(peer.content);
  const std::chrono::milliseconds left{peer.header.milliseconds};
  deadline_ = std::min(deadline_, Clock::now() + left);
}

/// Sends a message to all ranks. A rank that cannot be reached is disconnected; the next round
/// fails.
void StoreServer::send_to_all(const std::string& message, Deadline deadline) {
  for (StorePeer& peer : peers_) peer.sent = 0;
  for (;;) {
    polled_.clear();
    for (StorePeer& peer : peers_)
      if (peer.socket && !send_rest(peer, message))
        polled_.push_back({.fd = peer.socket.get(), .events = POLLOUT, .revents = 0});
    if (polled_.empty() || Clock::now() >= deadline) return;
    if (::poll(polled_.data(), polled_.size(), milliseconds_until(deadline)) < 0 && errno != EINTR)
      return;
  }
}

/// Sends the rest of a message. @return whether nothing is left.
bool StoreServer::send_rest(StorePeer& peer, const std::string& message) noexcept {
  while (peer.sent < message.size()) {
    const ssize_t sent = ::send(peer.socket.get(), message.data() + peer.sent,
                                message.size() - peer.sent, MSG_NOSIGNAL);
    if (sent >= 0) peer.sent += static_cast<std::size_t>(sent);
    else if (errno == EAGAIN || errno == EWOULDBLOCK) return false;
    else if (errno != EINTR) {
      peer.socket.reset();
      return true;
    }
  }
  return true;
}

/// Waits until the others have closed their connections. Closing one with unread input could
/// destroy the failure on its way.
void StoreServer::await_close(Deadline deadline) noexcept {
  for (StorePeer& peer : peers_)
    if (peer.socket) ::shutdown(peer.socket.get(), SHUT_WR);
  std::array<std::byte, 4096> ignored;
  for (StorePeer& peer : peers_) {
    while (peer.socket) {
      pollfd entry{.fd = peer.socket.get(), .events = POLLIN, .revents = 0};
      if (::poll(&entry, 1, milliseconds_until(deadline)) <= 0 && Clock::now() >= deadline) return;
      const ssize_t got = ::recv(entry.fd, ignored.data(), ignored.size(), MSG_DONTWAIT);
      if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) peer.socket.reset();
    }
  }
}

std::string StoreServer::gathered() const {
  std::size_t total = 0;
  for (const StorePeer& peer : peers_) total += sizeof(std::uint32_t) + peer.value->size();
  if (total > frame::kLongestTotal)
    throw Error{ErrorCode::invalid_argument, "the ranks sent more than 64 MiB at once"};
  std::string content;
  content.reserve(total);
  for (const StorePeer& peer : peers_) write_text(content, *peer.value);
  return content;
}

Error StoreServer::missing_ranks_error() const {
  MissingRanks known{.self = 0,
                     .waited = Clock::now() - start_,
                     .missing = {},
                     .hosts = {},
                     .where = options_.folder.empty() ? "" : url_of(options_)};
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    known.hosts.push_back(peers_[rank].host);
    if (!peers_[rank].value) known.missing.push_back(static_cast<Rank>(rank));
  }
  const Error error = missing_ranks(known);
  std::string text = error.what() + (acceptor_ ? acceptor_->refusals_text() : "");
  if (needs_secret_) text += "; ranks on other hosts need a secret: " + std::string{kSecretHint};
  return {error.code(), text, error.culprit()};
}

Error StoreServer::lost_rank_error(Rank rank) const {
  const std::string& host = peers_[static_cast<std::size_t>(rank)].host;
  return {ErrorCode::peer_dead,
          "rank " + std::to_string(rank) + (host.empty() ? "" : " (host " + host + ")") +
              " disconnected while the world started",
          rank};
}

}  // namespace tutti::runtime

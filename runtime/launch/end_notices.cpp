#include "end_notices.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <utility>
#include <vector>

#include "runtime/meeting/folder_note.hpp"
#include "runtime/meeting/store_server.hpp"
#include "runtime/sockets/missing_ranks.hpp"

namespace tutti::runtime {
namespace {

/// The pauses between two attempts to notify, doubled each time.
constexpr std::chrono::milliseconds kFirstAttempt{250};
constexpr std::chrono::milliseconds kLastAttempt{1000};
/// The longest attempt.
constexpr std::chrono::milliseconds kAttempt{200};
/// The time in which a notified rank must close its connection.
constexpr std::chrono::milliseconds kPeerCloseTime{1000};

std::string host_of(const Launch& launch, Rank rank) {
  const auto index = static_cast<std::size_t>(rank);
  return index < launch.hosts.size() ? launch.hosts[index] : std::string{};
}

/// @return whether a notified peer has closed its connection.
bool has_closed(const Descriptor& socket) {
  std::array<std::byte, 4096> ignored;
  ssize_t got = 0;
  do got = ::recv(socket.get(), ignored.data(), ignored.size(), MSG_DONTWAIT);
  while (got > 0 || (got < 0 && errno == EINTR));
  return got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

}  // namespace

class EndResponder {
 public:
  /// @param options of rank 0. @param deadline of looking up its host. @param error to send. Throws
  /// Error if it cannot listen there.
  EndResponder(StoreOptions options, Deadline deadline, const Error& error)
      : failure_{frame::make_failure(0, error)}, acceptor_{identity_of(options),
                                                           listen_for_ranks(options, deadline),
                                                           [](const ConnectionRequest& request) {
                                                             return request.purpose ==
                                                                            Purpose::store
                                                                        ? Reason::none
                                                                        : Reason::unexpected;
                                                           }} {
    if (!options.folder.empty()) note_ = std::make_unique<FolderNote>(options, deadline);
  }

  /// Notifies the ranks that have connected. The peer must close the connection first, since
  /// closing one with unread input could destroy the answer on its way.
  void progress() {
    std::vector<AcceptedConnection> arrived;
    acceptor_.progress(arrived);
    const Deadline now = std::chrono::steady_clock::now();
    for (AcceptedConnection& accepted : arrived) {
      // A fresh socket has room for a message.
      static_cast<void>(
          ::send(accepted.socket.get(), failure_.data(), failure_.size(), MSG_NOSIGNAL));
      notified_.push_back({std::move(accepted.socket), now + kPeerCloseTime});
    }
    std::erase_if(notified_, [now](const NotifiedPeer& peer) {
      return has_closed(peer.socket) || now >= peer.until;
    });
  }
  [[nodiscard]] int descriptor() const noexcept { return acceptor_.descriptor(); }
  [[nodiscard]] Deadline next_deadline() const noexcept {
    const Deadline next = acceptor_.next_deadline();
    return notified_.empty() ? next : std::min(next, notified_.front().until);
  }

 private:
  struct NotifiedPeer {
    Descriptor socket;
    Deadline until;
  };
  const std::string failure_;
  Acceptor acceptor_;
  std::unique_ptr<FolderNote> note_;
  std::vector<NotifiedPeer> notified_{};
};

EndNotices::EndNotices(Launch launch, Protection protection)
    : launch_{std::move(launch)}, protection_{std::move(protection)}, pause_{kFirstAttempt} {}

EndNotices::~EndNotices() = default;

void EndNotices::add(Rank rank, const std::string& how) {
  if (!first_) first_ = EndedRank{rank, how};
  has_rank_0_left_ = has_rank_0_left_ || rank == 0;
  pause_ = kFirstAttempt;
  next_ = std::chrono::steady_clock::now();
}

void EndNotices::close() noexcept {
  responder_.reset();
  next_ = Deadline::max();
}

void EndNotices::progress() noexcept try {
  if (responder_) responder_->progress();
  const Deadline now = std::chrono::steady_clock::now();
  if (responder_ || now < next_) return;
  next_ = now + pause_;
  pause_ = std::min(2 * pause_, kLastAttempt);
  attempt();
} catch (const std::exception&) {  // such as: a child of rank 0 still listens at its name
  return;
}

void EndNotices::attempt() {
  const Deadline deadline = std::chrono::steady_clock::now() + kAttempt;
  const Error error = ended_rank(first_->rank, host_of(launch_, first_->rank), first_->how);
  StoreOptions options = store_options(launch_, protection_);
  options.rank = has_rank_0_left_ ? 0 : first_->rank;
  if (!options.folder.empty()) meet_in_folder(options, Deadline::min());  // looks once
  if (!has_rank_0_left_) {
    has_rank_0_left_ = send_end_notice(options, first_->how, deadline);
    if (has_rank_0_left_) next_ = std::chrono::steady_clock::now() + kFirstAttempt;
    return;
  }
  responder_ = std::make_unique<EndResponder>(std::move(options), deadline, error);
  next_ = Deadline::max();
}

int EndNotices::descriptor() const noexcept {
  return responder_ ? responder_->descriptor() : -1;
}

Deadline EndNotices::next_deadline() const noexcept {
  return responder_ ? responder_->next_deadline() : next_;
}

}  // namespace tutti::runtime

#include "end_notices.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <utility>
#include <vector>

#include "folder_note.hpp"
#include "missing_ranks.hpp"
#include "store_server.hpp"

namespace tutti::runtime {
namespace {

/// Between two attempts to tell, doubled each time.
constexpr std::chrono::milliseconds kFirstAttempt{250};
constexpr std::chrono::milliseconds kLastAttempt{1000};
/// How long an attempt may take.
constexpr std::chrono::milliseconds kAttempt{200};
/// How long a rank that was answered may take to hang up.
constexpr std::chrono::milliseconds kHangUp{1000};

/// @return the host of a rank, or nothing.
std::string host_of(const Launch& launch, Rank rank) {
  const auto index = static_cast<std::size_t>(rank);
  return index < launch.hosts.size() ? launch.hosts[index] : std::string{};
}

/// @return whether a peer that has been told has hung up.
bool has_hung_up(const Descriptor& socket) {
  std::array<std::byte, 4096> ignored;
  ssize_t got = 0;
  do got = ::recv(socket.get(), ignored.data(), ignored.size(), MSG_DONTWAIT);
  while (got > 0 || (got < 0 && errno == EINTR));
  return got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

}  // namespace

class EndResponder {
 public:
  /// @param options of rank 0. @param deadline for looking up its host. @param error for all who
  /// come. Throws Error where it cannot listen there.
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

  /// Tells those who have come. Closing a connection on which they still talk could destroy the
  /// answer before they read it, so they hang up first.
  void progress() {
    std::vector<Accepted> arrived;
    acceptor_.progress(arrived);
    const Deadline now = std::chrono::steady_clock::now();
    for (Accepted& accepted : arrived) {
      // A fresh socket has room for it.
      static_cast<void>(
          ::send(accepted.socket.get(), failure_.data(), failure_.size(), MSG_NOSIGNAL));
      told_.push_back({std::move(accepted.socket), now + kHangUp});
    }
    std::erase_if(
        told_, [now](const Told& told) { return has_hung_up(told.socket) || now >= told.until; });
  }
  [[nodiscard]] int descriptor() const noexcept { return acceptor_.descriptor(); }
  [[nodiscard]] Deadline next_deadline() const noexcept {
    const Deadline next = acceptor_.next_deadline();
    return told_.empty() ? next : std::min(next, told_.front().until);
  }

 private:
  struct Told {
    Descriptor socket;
    Deadline until;
  };
  const std::string failure_;
  Acceptor acceptor_;
  std::unique_ptr<FolderNote> note_;
  std::vector<Told> told_{};
};

EndNotices::EndNotices(Launch launch, Protection protection)
    : launch_{std::move(launch)}, protection_{std::move(protection)}, pause_{kFirstAttempt} {}

EndNotices::~EndNotices() = default;

void EndNotices::add(Rank rank, const std::string& how) {
  if (!first_) first_ = Ended{rank, how};
  has_rank_0_ended_ = has_rank_0_ended_ || rank == 0;
  pause_ = kFirstAttempt;
  next_ = std::chrono::steady_clock::now();
}

void EndNotices::progress() noexcept try {
  if (responder_) responder_->progress();
  const Deadline now = std::chrono::steady_clock::now();
  if (responder_ || now < next_) return;
  next_ = now + pause_;
  pause_ = std::min(2 * pause_, kLastAttempt);
  attempt();
} catch (const std::exception&) {  // such as rank 0's name, which a process it left still holds
  return;
}

void EndNotices::attempt() {
  const Deadline deadline = std::chrono::steady_clock::now() + kAttempt;
  const Error error = ended_rank(first_->rank, host_of(launch_, first_->rank), first_->how);
  StoreOptions options = store_options(launch_, protection_);
  options.rank = has_rank_0_ended_ ? 0 : first_->rank;
  if (!options.folder.empty()) meet_in_folder(options, Deadline::min());  // looks once
  if (!has_rank_0_ended_) return tell_end(options, first_->how, deadline);
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

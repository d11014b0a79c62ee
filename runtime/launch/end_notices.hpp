/// @file
/// EndNotices: notices from a launcher to ranks in init that another rank has ended.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "launch.hpp"
#include "open_channel.hpp"

namespace tutti::runtime {

/// Answers on behalf of a rank 0 that has ended.
class EndResponder;

/// Notifies the ranks that wait for one that has ended: their init throws Error{peer_dead} with its
/// name. While the object lives it looks for such ranks, first four times a second, later once a
/// second, since ranks may start late: it connects to rank 0 on behalf of the rank, and rank 0
/// notifies the others that have connected. If rank 0 has ended, or has been notified and listens
/// no longer, the object listens on behalf of rank 0.
///
/// Ranks are not notified if their address or secret is not the launcher's.
class EndNotices {
 public:
  /// @param launch of the job; its url, size, job and hosts are used. @param protection of the
  /// ranks.
  EndNotices(Launch launch, Protection protection);
  EndNotices(const EndNotices&) = delete;
  EndNotices& operator=(const EndNotices&) = delete;
  ~EndNotices();

  /// Records an end. Only the first one is reported. @param how such as "exited with status 3".
  void add(Rank rank, const std::string& how);
  /// Stops listening, and removes the note in the folder of the job. For processes that end without
  /// destructors.
  void close() noexcept;
  /// Does what is possible within 0.2 s. A failed attempt is repeated later.
  void progress() noexcept;
  /// @return a descriptor that is readable when progress() has work, or -1.
  [[nodiscard]] int descriptor() const noexcept;
  /// @return the time at which progress() must be called even if the descriptor is not readable.
  [[nodiscard]] Deadline next_deadline() const noexcept;

 private:
  struct EndedRank {
    Rank rank;
    std::string how;
  };
  void attempt();

  const Launch launch_;
  const Protection protection_;
  std::optional<EndedRank> first_{};  // rank that ended
  bool has_rank_0_left_ = false;      ///< It has ended, or the notice has ended its init.
  std::unique_ptr<EndResponder> responder_;
  Deadline next_ = Deadline::max();
  std::chrono::milliseconds pause_;
};

}  // namespace tutti::runtime

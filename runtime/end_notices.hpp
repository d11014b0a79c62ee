/// @file
/// EndNotices: how a launcher tells ranks that wait in init that another one has ended.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "launch.hpp"
#include "open_channel.hpp"

namespace tutti::runtime {

/// Answers in the place of a rank 0 that has ended.
class EndResponder;

/// Tells ranks that wait for one that has ended, in its place: their init throws Error{peer_dead}
/// that names it. As long as the object lives it looks for such ranks, at first four times a second
/// and then once a second, since they may come late:
/// it comes to rank 0 in the place of the rank, and rank 0 tells the others. When rank 0 has ended
/// it listens in the place of rank 0.
///
/// The ranks are not told where their address or secret is not the launcher's.
class EndNotices {
 public:
  /// @param launch of the job, whose url, size, job and hosts count. @param protection as that of
  /// the ranks.
  EndNotices(Launch launch, Protection protection);
  EndNotices(const EndNotices&) = delete;
  EndNotices& operator=(const EndNotices&) = delete;
  ~EndNotices();

  /// Takes note of an end. The first one is told. @param rank that has ended. @param how such as
  /// "exited with status 3".
  void add(Rank rank, const std::string& how);
  /// Does what can be done now, which takes 0.2 s at the most. It tries again later what fails.
  void progress() noexcept;
  /// @return a descriptor that polls readable when progress() has to be called, or -1.
  [[nodiscard]] int descriptor() const noexcept;
  /// @return when progress() must be called even if nothing is readable.
  [[nodiscard]] Deadline next_deadline() const noexcept;

 private:
  struct Ended {
    Rank rank;
    std::string how;
  };
  void attempt();

  const Launch launch_;
  const Protection protection_;
  std::optional<Ended> first_{};  // that ended
  bool has_rank_0_ended_ = false;
  std::unique_ptr<EndResponder> responder_;
  Deadline next_ = Deadline::max();
  std::chrono::milliseconds pause_;
};

}  // namespace tutti::runtime

/// @file
/// Control: the thread that watches the other processes of a world.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include <tutti/spi/failure_signal.hpp>
#include <tutti/spi/group.hpp>

#include "control_peer.hpp"

namespace tutti::runtime {

/// The times of heartbeats and of agreement on a cause. Processes of the own host need no
/// heartbeats: the system reports their end at once.
struct HeartbeatSettings {
  std::chrono::milliseconds interval{250};          ///< Between two heartbeats.
  std::chrono::milliseconds timeout{5000};          ///< After it, a silent rank is lost.
  std::chrono::milliseconds gather_time{2};         ///< From the first report to the decision.
  std::chrono::milliseconds suspicion_time{50};     ///< The same, if all reports are suspicions.
  std::chrono::milliseconds decision_timeout{250};  ///< For the decision of the leader.

  /// Equality of all members.
  friend bool operator==(const HeartbeatSettings&, const HeartbeatSettings&) = default;
};

/// @param timeout after which a rank is lost. @return settings with twenty heartbeats in that time.
[[nodiscard]] HeartbeatSettings heartbeat_settings(std::chrono::nanoseconds timeout);

class ControlState;

/// Watches the other processes of a world over one socket each, and sends their failures to the
/// members of a communicator. No payload passes here. The thread blocks all signals and sleeps
/// until a message arrives or a heartbeat is due. Methods may be called from any thread.
///
/// All ranks of a failed communicator, those on which it failed included, agree on its cause:
/// - Every rank waits for the decision of the leader, which is the first rank that is not known to
///   have ended. The leader collects reports for HeartbeatSettings::gather_time (suspicion_time if
///   all are suspicions) and decides for the first one in the order of `precedes`: deaths, then
///   errors that ranks raised. So all ranks have one cause.
/// - If no decision arrives within HeartbeatSettings::decision_timeout, since the leader is stopped
///   or gets no processor, each rank decides for the first of the reports that it has. Each cause
///   is then true, but they may differ.
/// - Each rank forwards every report and decision to all members before its own signal is raised.
///   So a failure reaches all ranks even if its first reporter ends meanwhile, and the consequences
///   of a failure, such as the end of a rank, are never mistaken for its cause.
class Control {
 public:
  /// Starts the thread. Throws Error{transport}. @param self rank in the world.
  Control(Rank self, std::vector<WatchedProcess> peers, const HeartbeatSettings& heartbeat);
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;
  /// Notifies the other processes, for at most half a second, and ends the thread. Signals that
  /// still exist are raised, since no thread watches for them any more. In a forked child it does
  /// nothing.
  ~Control();

  /// Does what the destructor does, once, but keeps the object.
  void leave() noexcept;
  /// Watches more processes. @param peers not watched yet.
  void add(std::vector<WatchedProcess> peers);
  /// @return whether a process is watched and connected.
  [[nodiscard]] bool reaches(Rank rank);
  /// Makes the signal of a new communicator. It is raised when one of the members fails, ends, or
  /// is lost. FailureSignal::raise returns when the failure is sent to the others. The entry is
  /// removed with the last owner of the signal. Throws Error{invalid_argument} in a forked child.
  /// @param members numbers of their processes, in the communicator's order. @param calls source of
  /// replies to inquiries, or null. @param world the members' ranks in the world, for error texts;
  /// empty: equal to the numbers.
  [[nodiscard]] std::shared_ptr<FailureSignal> watch(
      std::uint64_t communicator, std::vector<Rank> members,
      std::shared_ptr<const CallCounter> calls = nullptr, std::vector<Rank> world = {});
  /// Asks other processes for the status of a call. @param ranks numbers of the processes. @param
  /// call as CallCounter::status_of. @param patience the longest wait for the last reply. @return
  /// the status of each.
  [[nodiscard]] std::vector<CallStatus> inquire(std::uint64_t communicator,
                                                std::span<const Rank> ranks, std::uint64_t call,
                                                Duration patience);

 private:
  std::shared_ptr<const ForkGuard> guard_;
  std::shared_ptr<ControlState> state_;
  std::unique_ptr<std::thread> thread_{};  // a forked child has the object, but no such thread
};

}  // namespace tutti::runtime

/// @file
/// Control: the thread that sleeps until something happens to another process.
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

/// How closely other processes are watched. Those of the own host need no heartbeats: the system
/// says at once when one ends.
struct HeartbeatSettings {
  std::chrono::milliseconds heartbeat{250};  ///< A rank that has nothing to say says that so often.
  std::chrono::milliseconds lost{5000};      ///< A rank silent for so long is given up.
  std::chrono::milliseconds gather_news{2};  ///< So long is news of a failure gathered.
  std::chrono::milliseconds suspicion{50};   ///< So long, if nobody knows better than to suspect.
  std::chrono::milliseconds verdict{250};    ///< So long is the word of the first rank waited for.

  /// Equality of all members.
  friend bool operator==(const HeartbeatSettings&, const HeartbeatSettings&) = default;
};

/// @param lost how long a rank may be silent. @return that vigilance, with twenty heartbeats in the
/// time.
[[nodiscard]] HeartbeatSettings heartbeat_of(std::chrono::nanoseconds lost);

class ControlState;

/// Watches the other processes of a world over one socket each, and carries what communicators have
/// to say when they fail. Payload never passes here. Its thread blocks all signals and sleeps
/// unless a message comes or a heartbeat is due. Methods may be called from any thread.
///
/// Which cause the ranks of a communicator give, also those on which something fails:
/// - All wait for the verdict of the first rank that is not known to be gone. That is,
///   HeartbeatSettings::settle or suspicion after it first heard of a failure, the least of what it
///   heard: deaths first; then what ranks raised. So they all give one cause.
/// - Only if no verdict comes for HeartbeatSettings::verdict, since the first rank is stopped or
/// gets no
///   processor, do they give the least of what they heard themselves. Each then gives a true cause,
///   but perhaps not all the same one.
/// - Each passes on what it hears, verdicts too, to all, before its own alarm goes off. So a
/// failure
///   is heard of everywhere though the rank that told it ends while it tells, and what a rank does
///   because of a failure, its own end included, is nowhere taken for the cause.
class Control {
 public:
  /// Starts the thread. Throws Error{transport}. @param self own rank in the world.
  /// @param peers the other processes. @param vigilance see HeartbeatSettings.
  Control(Rank self, std::vector<Watched> peers, const HeartbeatSettings& heartbeat);
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;
  /// Says goodbye, for half a second at the most, and ends the thread. Alarms that still exist go
  /// off, since nobody watches for them any more. In a forked child it does nothing.
  ~Control();

  /// Watches more processes from now on. @param peers not watched yet.
  void add(std::vector<Watched> peers);
  /// @param rank of a process that is watched. @return whether it can be spoken to.
  [[nodiscard]] bool reaches(Rank rank);
  /// The alarm of a new communicator: goes off when one of its ranks fails, ends, or is lost; what
  /// is raised here has been told to the others when raise returns. Forgotten with the last owner.
  /// Throws Error{invalid_argument} in a forked child.
  /// @param communicator its id. @param members as the processes are numbered here, in the
  /// communicator's order. @param calls what ranks that ask are told, or null. @param world what
  /// the members' ranks in the world are, for a person; empty: what they are numbered here.
  [[nodiscard]] std::shared_ptr<FailureSignal> watch(
      std::uint64_t communicator, std::vector<Rank> members,
      std::shared_ptr<const CallCounter> calls = nullptr, std::vector<Rank> world = {});
  /// Asks other processes what they do. @param communicator its id. @param ranks as they are
  /// numbered here. @param call as CallCounter::tell. @param patience how long to wait for the last
  /// answer. @return what could be found out about each.
  [[nodiscard]] std::vector<CallStatus> inquire(std::uint64_t communicator,
                                                std::span<const Rank> ranks, std::uint64_t call,
                                                Duration patience);

 private:
  std::shared_ptr<const ForkGuard> guard_;
  std::shared_ptr<ControlState> state_;
  std::unique_ptr<std::thread> thread_{};  // a forked child has the object, but no such thread
};

}  // namespace tutti::runtime

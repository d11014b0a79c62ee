/// @file
/// ControlGroup: the processes of a world, in one, that watch each other over socket pairs.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/control/control.hpp"

#include "tests/runtime/ranks.hpp"

namespace tutti::test {

/// Long enough for what should not happen to happen.
inline constexpr std::chrono::milliseconds kQuiet{60};

/// How a group is made.
struct ControlGroupOptions {
  int size = 3;         ///< Processes.
  bool remote = false;  ///< Whether each is on a host of its own.
  /// Every rank is there, so the group waits for a slow one.
  runtime::HeartbeatSettings heartbeat{.suspicion_time = kAmple, .decision_timeout = kAmple};
  std::optional<Rank> impersonated{};  ///< One without control: the test sends in its place.
};

/// The processes of a world: each has a Control, and the test a second descriptor of every socket.
class ControlGroup {
 public:
  explicit ControlGroup(const ControlGroupOptions& options);

  /// @param rank which. @return its control.
  [[nodiscard]] runtime::Control& operator[](Rank rank) { return *controls_[index(rank)]; }
  /// @param rank whose end. @param peer of the other end. @return the socket.
  [[nodiscard]] int socket(Rank rank, Rank peer) const {
    return voices_[index(rank)][index(peer)].get();
  }
  /// Kills a process: the others get the end of its sockets. @param rank which.
  void kill(Rank rank);
  /// A process leaves in good order. @param rank which.
  void leave(Rank rank) { controls_[index(rank)].reset(); }
  /// Every process makes its alarm of a communicator. @param communicator id. @param members of it.
  /// @return alarms by world rank, null where there is none.
  [[nodiscard]] std::vector<std::shared_ptr<FailureSignal>> watch(std::uint64_t communicator,
                                                                  const std::vector<Rank>& members);

 private:
  static std::size_t index(Rank rank) { return static_cast<std::size_t>(rank); }

  std::vector<std::vector<runtime::Descriptor>> voices_;
  std::vector<std::unique_ptr<runtime::Control>> controls_{};
};

/// @param alarm to wait for. @param patience how long. @return what it says, if it goes off.
[[nodiscard]] std::optional<Error> heard(const FailureSignal& failure_signal,
                                         milliseconds patience = kAmple);
/// @param alarm any. @return what it says, or nothing if it did not go off.
[[nodiscard]] std::string text_of(const FailureSignal& failure_signal);

}  // namespace tutti::test

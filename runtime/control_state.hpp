/// @file
/// ControlState: what the control thread and those it serves share.
#pragma once

#include <poll.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <tutti/spi/failure_signal.hpp>

#include "call_inquiries.hpp"
#include "control.hpp"
#include "early_failures.hpp"

namespace tutti::runtime {

/// Peers and communicators behind one mutex. Alarms hold it weakly: they may live longer.
class ControlState : public std::enable_shared_from_this<ControlState> {
 public:
  /// As Control's. Throws Error{transport}. @param guard of the process.
  ControlState(Rank self, std::vector<Watched> peers, const HeartbeatSettings& heartbeat,
               std::shared_ptr<const ForkGuard> guard);

  /// See Control.
  [[nodiscard]] std::shared_ptr<FailureSignal> watch(std::uint64_t communicator,
                                                     std::vector<Rank> members,
                                                     std::shared_ptr<const CallCounter> calls,
                                                     std::vector<Rank> world);
  /// See Control.
  void add(std::vector<Watched> peers);
  /// See Control.
  [[nodiscard]] bool reaches(Rank rank);
  /// See Control.
  [[nodiscard]] std::vector<CallStatus> inquire(std::uint64_t communicator,
                                                std::span<const Rank> ranks, std::uint64_t call,
                                                Duration patience);
  /// Tells the other ranks of a communicator that it failed here. The alarm hears what all say.
  /// @param communicator its id.
  /// @param cause what happened.
  void tell(std::uint64_t communicator, const Error& cause);
  /// Says goodbye to all; serve ends soon. @param until when at the latest.
  void close(std::chrono::steady_clock::time_point until);
  /// What the thread does, until close.
  void serve() noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  struct Communicator {
    std::vector<Rank> members{};
    std::vector<Rank> world{};  // their ranks in the world
    std::weak_ptr<FailureSignal> failure_signal{};
    std::shared_ptr<const CallCounter> calls{};
    std::vector<bool> has_told{};           // by member: that it failed
    std::optional<ControlMessage> cause{};  // the first of those heard of
    Clock::time_point first_word{};         // when one was heard of
    bool is_over = false;                   // the alarm went off
  };
  // What is known of failures: control_state.cpp.
  void take(ControlPeer& peer, const ControlMessage& message);
  void report_early(Communicator& communicator, std::uint64_t id);
  void report(Communicator& communicator, const ControlMessage& failure);
  void report_death(Communicator& communicator, std::uint64_t id, const ControlPeer& peer);
  void lose(ControlPeer& peer, std::string cause);
  void decide_cause(Clock::time_point now);
  void conclude(Communicator& communicator, const ControlMessage& cause);
  void say(const Communicator& communicator, const ControlMessage& message);
  [[nodiscard]] bool leads(const Communicator& communicator) noexcept;
  void forget_gone();
  [[nodiscard]] ControlPeer* find(Rank rank) noexcept;

  void answer(ControlPeer& peer, const ControlMessage& question);

  // What the thread does: control_serve.cpp.
  [[nodiscard]] bool turn();
  void wait();
  void hear(ControlPeer& peer, bool has_ended);
  void beat(Clock::time_point now);
  void give_up(const char* why) noexcept;
  void wake() noexcept;
  [[nodiscard]] Clock::time_point next_event() const noexcept;

  const Rank self_;
  const HeartbeatSettings heartbeat_;
  const std::shared_ptr<const ForkGuard> guard_;
  Descriptor bell_;
  std::vector<pollfd> descriptors_{};    // of the thread alone
  std::vector<ControlPeer*> awaited_{};  // by descriptor, after the bell; the same
  std::mutex mutex_{};                   // of all below
  std::deque<ControlPeer> peers_{};      // the thread points at them while it sleeps
  std::map<std::uint64_t, Communicator> communicators_{};
  std::size_t most_communicators_ = 16;  // more than these, and those that are gone are forgotten
  EarlyFailures early_{};
  CallInquiries inquiries_{};
  std::condition_variable answered_{};
  Clock::time_point next_verdict_ = Clock::time_point::max();
  Clock::time_point next_beat_ = Clock::time_point::max();
  Clock::time_point end_ = Clock::time_point::max();  // less once it is closing
  bool is_closing_ = false;
};

}  // namespace tutti::runtime

/// @file
/// ControlState: the state that the control thread and its users share.
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

/// Peers and communicators behind one mutex. Failure signals hold it weakly: they may outlive it.
class ControlState : public std::enable_shared_from_this<ControlState> {
 public:
  /// As Control's. Throws Error{transport}. @param guard of this process.
  ControlState(Rank self, std::vector<WatchedProcess> peers, const HeartbeatSettings& heartbeat,
               std::shared_ptr<const ForkGuard> guard);

  /// See Control, as the next three.
  [[nodiscard]] std::shared_ptr<FailureSignal> watch(std::uint64_t communicator,
                                                     std::vector<Rank> members,
                                                     std::shared_ptr<const CallCounter> calls,
                                                     std::vector<Rank> world);
  void add(std::vector<WatchedProcess> peers);
  [[nodiscard]] bool reaches(Rank rank);
  [[nodiscard]] std::vector<CallStatus> inquire(std::uint64_t communicator,
                                                std::span<const Rank> ranks, std::uint64_t call,
                                                Duration patience);
  /// Reports a failure of this rank to the other members. The signal is raised after the decision.
  void report_own(std::uint64_t communicator, const Error& cause);
  /// Notifies all peers that this process leaves; serve() ends at `until` at the latest.
  void close(std::chrono::steady_clock::time_point until);
  /// The thread's function: runs until close().
  void serve() noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  struct Communicator {
    std::vector<Rank> members{};
    std::vector<Rank> world{};  // ranks in the world, by member
    std::weak_ptr<FailureSignal> failure_signal{};
    std::shared_ptr<const CallCounter> calls{};
    std::vector<bool> has_reported{};       // by member: it has reported a failure
    std::optional<ControlMessage> cause{};  // the first one by `precedes`
    Clock::time_point first_report{};       // when the first report arrived
    bool is_decided = false;                // the signal is raised
  };
  // Failures and decisions: control_state.cpp.
  void handle(ControlPeer& peer, const ControlMessage& message);
  void record_early(Communicator& communicator, std::uint64_t id);
  void record(Communicator& communicator, const ControlMessage& failure);
  void record_death(Communicator& communicator, std::uint64_t id, const ControlPeer& peer);
  void mark_dead(ControlPeer& peer, std::string cause);
  void decide_cause(Clock::time_point now);
  void decide(Communicator& communicator, const ControlMessage& cause);
  void send_to_members(const Communicator& communicator, const ControlMessage& message);
  [[nodiscard]] bool is_leader(const Communicator& communicator) noexcept;
  void remove_expired();
  [[nodiscard]] ControlPeer* find(Rank rank) noexcept;

  void reply(ControlPeer& peer, const ControlMessage& inquiry);

  // The thread's loop: control_serve.cpp.
  [[nodiscard]] bool advance();
  void wait();
  void receive_from(ControlPeer& peer, bool has_ended);
  void send_heartbeats(Clock::time_point now);
  void fail_all(const char* why) noexcept;
  void wake() noexcept;
  [[nodiscard]] Clock::time_point next_event() const noexcept;

  const Rank self_;
  const HeartbeatSettings heartbeat_;
  const std::shared_ptr<const ForkGuard> guard_;
  Descriptor wake_event_;
  std::vector<pollfd> descriptors_{};         // of the thread alone, as is the next
  std::vector<ControlPeer*> polled_peers_{};  // by descriptor, after the event
  std::mutex mutex_{};                        // of all below
  std::deque<ControlPeer> peers_{};  // a deque, since the thread keeps pointers while it sleeps
  std::map<std::uint64_t, Communicator> communicators_{};
  std::size_t cleanup_size_ = 16;  // above this size, expired ones are removed
  EarlyFailures early_{};
  CallInquiries inquiries_{};
  std::condition_variable reply_arrived_{};
  Clock::time_point next_decision_ = Clock::time_point::max();
  Clock::time_point next_heartbeat_ = Clock::time_point::max();
  Clock::time_point end_ = Clock::time_point::max();  // of a closing thread
  bool is_closing_ = false;
};

}  // namespace tutti::runtime

#include "control.hpp"

#include <tutti/spi/service_thread.hpp>

#include "control_state.hpp"

namespace tutti::runtime {
namespace {

constexpr std::chrono::milliseconds kLeaveTime{500};

}  // namespace

HeartbeatSettings heartbeat_settings(std::chrono::nanoseconds timeout) {
  const auto whole = std::chrono::duration_cast<std::chrono::milliseconds>(timeout);
  return {.interval = whole / 20, .timeout = whole};
}

Control::Control(Rank self, std::vector<WatchedProcess> peers, const HeartbeatSettings& heartbeat)
    : guard_{std::make_shared<ForkGuard>()}, state_{std::make_shared<ControlState>(
                                                 self, std::move(peers), heartbeat, guard_)},
      thread_{std::make_unique<std::thread>(
          start_service_thread("tutti-control", [state = state_.get()] { state->serve(); }))} {}

Control::~Control() {
  if (guard_->is_forked()) {  // the parent owns the thread and the sockets
    static_cast<void>(thread_.release());
    return;
  }
  leave();
}

void Control::leave() noexcept {
  if (guard_->is_forked() || !thread_->joinable()) return;
  state_->close(std::chrono::steady_clock::now() + kLeaveTime);
  thread_->join();
}

std::shared_ptr<FailureSignal> Control::watch(std::uint64_t communicator, std::vector<Rank> members,
                                              std::shared_ptr<const CallCounter> calls,
                                              std::vector<Rank> world) {
  return state_->watch(communicator, std::move(members), std::move(calls), std::move(world));
}

void Control::add(std::vector<WatchedProcess> peers) {
  state_->add(std::move(peers));
}

bool Control::reaches(Rank rank) {
  return state_->reaches(rank);
}

std::vector<CallStatus> Control::inquire(std::uint64_t communicator, std::span<const Rank> ranks,
                                         std::uint64_t call, Duration patience) {
  return state_->inquire(communicator, ranks, call, patience);
}

}  // namespace tutti::runtime

// What the control thread does: it sleeps, listens, and speaks.
#include <algorithm>

#include <sys/socket.h>
#include <unistd.h>

#include "control_state.hpp"

namespace tutti::runtime {
namespace {

// Nothing tells when the other end has acknowledged what it was told.
constexpr std::chrono::milliseconds kGlance{1};

}  // namespace

void ControlState::wake() noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(::write(bell_.get(), &one, sizeof one));
}

void ControlState::close(Clock::time_point until) {
  const std::lock_guard lock{mutex_};
  is_closing_ = true;
  end_ = until;
  for (const auto& [id, communicator] : communicators_)
    if (communicator.calls != nullptr)
      for (const ControlMessage& report : last_calls(id, *communicator.calls))
        say(communicator, report);
  const std::string goodbye = encode({.kind = ControlMessage::Kind::goodbye});
  for (ControlPeer& peer : peers_) peer.say_at_last(goodbye);
  for (auto& [id, communicator] : communicators_)
    if (const std::shared_ptr<FailureSignal> failure_signal = communicator.failure_signal.lock())
      failure_signal->set_cause(
          {ErrorCode::aborted, "this process has left the communicator's world"});
  wake();
}

void ControlState::serve() noexcept {
  try {
    while (turn()) wait();
  } catch (const std::exception& error) {
    give_up(error.what());
  }
}

bool ControlState::turn() {
  const std::lock_guard lock{mutex_};
  for (ControlPeer& peer : peers_) {
    peer.flush();
    if (peer.is_here() && peer.is_deaf()) lose(peer, "does not take what it is told");
  }
  const Clock::time_point now = Clock::now();
  decide_cause(now);
  beat(now);
  const bool is_done = is_closing_ && std::ranges::all_of(peers_, &ControlPeer::has_been_told);
  return !is_done && now < end_;
}

void ControlState::wait() {
  descriptors_.assign(1, {bell_.get(), POLLIN, 0});
  awaited_.assign(1, nullptr);
  Clock::time_point until;
  bool must_hear = false;
  {
    const std::lock_guard lock{mutex_};
    for (ControlPeer& peer : peers_) {
      if (!peer.is_here()) continue;
      const short events = peer.must_flush() ? POLLIN | POLLOUT : POLLIN;
      descriptors_.push_back({peer.socket(), events, 0});
      awaited_.push_back(&peer);
      must_hear = must_hear || peer.holds();
      if (peer.process() < 0) continue;
      descriptors_.push_back({peer.process(), POLLIN, 0});
      awaited_.push_back(&peer);
    }
    until = next_event();
  }
  const int timeout = until == Clock::time_point::max() ? -1 : milliseconds_until(until);
  const int ready = poll(descriptors_.data(), descriptors_.size(), must_hear ? 0 : timeout);
  if (ready <= 0 && !must_hear) return;
  std::uint64_t rings = 0;
  static_cast<void>(::read(bell_.get(), &rings, sizeof rings));
  const std::lock_guard lock{mutex_};
  for (std::size_t i = 1; i < descriptors_.size(); ++i)
    if (descriptors_[i].revents != 0 || awaited_[i]->holds())
      hear(*awaited_[i], descriptors_[i].fd == awaited_[i]->process());
}

ControlState::Clock::time_point ControlState::next_event() const noexcept {
  const Clock::time_point next = std::min({next_beat_, next_verdict_, end_});
  for (const ControlPeer& peer : peers_) {
    if (!peer.is_here()) continue;
    if (peer.is_deaf()) return Clock::now();
    if (is_closing_ && !peer.is_local()) return std::min(next, Clock::now() + kGlance);
  }
  return next;
}

// One read at a time, so that nobody who talks without end keeps others from being heard.
void ControlState::hear(ControlPeer& peer, bool has_ended) {
  for (bool goes_on = true; goes_on && peer.is_here();) {
    const ControlPeer::Found found = peer.read();
    goes_on = has_ended && found == ControlPeer::Found::bytes;
    try {
      while (peer.is_here()) {
        const std::optional<ControlMessage> message = peer.next();
        if (!message) break;
        take(peer, *message);
      }
    } catch (const Error& error) {
      return lose(peer, std::string{"broke the rules: "} + error.what());
    }
    if (peer.is_here() && found == ControlPeer::Found::end) lose(peer, peer.cause());
  }
  if (peer.is_here() && has_ended) lose(peer, "has ended");
}

void ControlState::beat(Clock::time_point now) {
  if (now < next_beat_) return;
  const Clock::duration late = now - next_beat_;
  next_beat_ = now + heartbeat_.heartbeat;
  const std::string message = encode({.kind = ControlMessage::Kind::heartbeat});
  for (ControlPeer& peer : peers_) {
    if (peer.is_local() || !peer.is_here()) continue;
    // Where this thread got no processor, the others were not silent, we were deaf.
    if (late > heartbeat_.heartbeat) peer.excuse(late, now);
    if (peer.silence(now) > heartbeat_.lost)
      lose(peer, "has not been heard of for " + std::to_string(heartbeat_.lost.count()) + " ms");
    else peer.say(message);
  }
}

// Out of memory: nobody watches here any more, so nobody may go on.
void ControlState::give_up(const char* why) noexcept {
  const std::lock_guard lock{mutex_};
  for (const ControlPeer& peer : peers_) shutdown(peer.socket(), SHUT_RDWR);
  for (auto& [id, communicator] : communicators_) {
    const std::shared_ptr<FailureSignal> failure_signal = communicator.failure_signal.lock();
    try {
      if (failure_signal)
        failure_signal->set_cause({ErrorCode::transport, std::string{"control ended: "} + why});
    } catch (const std::exception&) {
      // Its users meet the ends of the links, or their deadlines.
    }
  }
}

}  // namespace tutti::runtime

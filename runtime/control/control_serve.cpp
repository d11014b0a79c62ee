// The loop of the control thread.
#include <algorithm>

#include <sys/socket.h>
#include <unistd.h>

#include "control_state.hpp"

namespace tutti::runtime {
namespace {

// The interval at which a closing thread checks for acknowledgements, which poll does not report.
constexpr std::chrono::milliseconds kAcknowledgementCheck{1};

}  // namespace

void ControlState::wake() noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(::write(wake_event_.get(), &one, sizeof one));
}

void ControlState::close(Clock::time_point until) {
  const std::lock_guard lock{mutex_};
  is_closing_ = true;
  end_ = until;
  for (const auto& [id, communicator] : communicators_)
    if (communicator.calls != nullptr)
      for (const ControlMessage& report : last_calls(id, *communicator.calls))
        send_to_members(communicator, report);
  const std::string message = encode({.kind = ControlMessage::MessageType::leave});
  for (ControlPeer& peer : peers_) peer.send_last(message);
  for (auto& [id, communicator] : communicators_)
    if (const std::shared_ptr<FailureSignal> failure_signal = communicator.failure_signal.lock())
      failure_signal->set_cause(
          {ErrorCode::aborted, "this process has left the communicator's world"});
  wake();
}

void ControlState::serve() noexcept {
  try {
    while (advance()) wait();
  } catch (const std::exception& error) {
    fail_all(error.what());
  }
}

bool ControlState::advance() {
  const std::lock_guard lock{mutex_};
  for (ControlPeer& peer : peers_) {
    peer.flush();
    if (peer.is_connected() && peer.has_overflowed())
      mark_dead(peer, "does not read its control socket");
  }
  const Clock::time_point now = Clock::now();
  decide_cause(now);
  send_heartbeats(now);
  const bool is_done = is_closing_ && std::ranges::all_of(peers_, &ControlPeer::is_drained);
  return !is_done && now < end_;
}

void ControlState::wait() {
  descriptors_.assign(1, {wake_event_.get(), POLLIN, 0});
  polled_peers_.assign(1, nullptr);
  Clock::time_point until;
  bool has_input = false;
  {
    const std::lock_guard lock{mutex_};
    for (ControlPeer& peer : peers_) {
      if (!peer.is_connected()) continue;
      const short events = peer.must_flush() ? POLLIN | POLLOUT : POLLIN;
      descriptors_.push_back({peer.socket(), events, 0});
      polled_peers_.push_back(&peer);
      has_input = has_input || peer.has_unread();
      if (peer.process() < 0) continue;
      descriptors_.push_back({peer.process(), POLLIN, 0});
      polled_peers_.push_back(&peer);
    }
    until = next_event();
  }
  const int timeout = until == Clock::time_point::max() ? -1 : milliseconds_until(until);
  const int ready = poll(descriptors_.data(), descriptors_.size(), has_input ? 0 : timeout);
  if (ready <= 0 && !has_input) return;
  std::uint64_t count = 0;
  static_cast<void>(::read(wake_event_.get(), &count, sizeof count));
  const std::lock_guard lock{mutex_};
  for (std::size_t i = 1; i < descriptors_.size(); ++i)
    if (descriptors_[i].revents != 0 || polled_peers_[i]->has_unread())
      receive_from(*polled_peers_[i], descriptors_[i].fd == polled_peers_[i]->process());
}

ControlState::Clock::time_point ControlState::next_event() const noexcept {
  const Clock::time_point next = std::min({next_heartbeat_, next_decision_, end_});
  for (const ControlPeer& peer : peers_) {
    if (!peer.is_connected()) continue;
    if (peer.has_overflowed()) return Clock::now();
    if (is_closing_ && !peer.is_local())
      return std::min(next, Clock::now() + kAcknowledgementCheck);
  }
  return next;
}

// One read per peer, so that a peer that sends without end does not delay others.
void ControlState::receive_from(ControlPeer& peer, bool has_ended) {
  for (bool continues = true; continues && peer.is_connected();) {
    const ControlPeer::ReadResult result = peer.read();
    continues = has_ended && result == ControlPeer::ReadResult::bytes;
    try {
      while (peer.is_connected()) {
        const std::optional<ControlMessage> message = peer.next_message();
        if (!message) break;
        handle(peer, *message);
      }
    } catch (const Error& error) {
      return mark_dead(peer, std::string{"violated the control protocol: "} + error.what());
    }
    if (peer.is_connected() && result == ControlPeer::ReadResult::end)
      mark_dead(peer, peer.cause());
  }
  if (peer.is_connected() && has_ended) mark_dead(peer, "has ended");
}

void ControlState::send_heartbeats(Clock::time_point now) {
  if (now < next_heartbeat_) return;
  const Clock::duration late = now - next_heartbeat_;
  next_heartbeat_ = now + heartbeat_.interval;
  const std::string message = encode({.kind = ControlMessage::MessageType::heartbeat});
  for (ControlPeer& peer : peers_) {
    if (peer.is_local() || !peer.is_connected()) continue;
    // If this thread got no processor, it was late, and the peer was not.
    if (late > heartbeat_.interval) peer.skip_time(late, now);
    if (peer.idle_time(now) > heartbeat_.timeout)
      mark_dead(peer,
                "has sent no message for " + std::to_string(heartbeat_.timeout.count()) + " ms");
    else peer.send(message);
  }
}

// Without this thread (it is out of memory) failures are not detected any more, so every
// communicator fails.
void ControlState::fail_all(const char* why) noexcept {
  const std::lock_guard lock{mutex_};
  for (const ControlPeer& peer : peers_) shutdown(peer.socket(), SHUT_RDWR);
  for (auto& [id, communicator] : communicators_) {
    const std::shared_ptr<FailureSignal> failure_signal = communicator.failure_signal.lock();
    try {
      if (failure_signal)
        failure_signal->set_cause(
            {ErrorCode::transport, std::string{"the control thread ended: "} + why});
    } catch (const std::exception&) {
      // Its users get an error from the closed connections or at their deadlines.
    }
  }
}

}  // namespace tutti::runtime

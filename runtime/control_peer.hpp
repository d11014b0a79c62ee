/// @file
/// ControlPeer: another process as the control thread sees it, and the socket to it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "backends/tcp/cipher.hpp"
#include "control_message.hpp"
#include "socket.hpp"

namespace tutti::runtime {

/// Another process of the world.
struct Watched {
  Rank rank = 0;         ///< In the world.
  std::string host{};    ///< What its host is called, for a person.
  bool is_local = true;  ///< Whether it shares the host, and so needs no heartbeats.
  Descriptor socket{};   ///< Connected and authenticated.
  std::shared_ptr<tcp::Cipher> cipher{};  ///< Of the socket, or null.
};

/// Another process: what has come from it, and what it is to be told. Nothing here waits.
class ControlPeer {
 public:
  using Clock = std::chrono::steady_clock;

  /// @param watched who. @param now the time.
  ControlPeer(Watched watched, Clock::time_point now);

  [[nodiscard]] Rank rank() const noexcept { return watched_.rank; }
  [[nodiscard]] const std::string& host() const noexcept { return watched_.host; }
  [[nodiscard]] bool is_local() const noexcept { return watched_.is_local; }
  /// @return whether it can still be spoken to.
  [[nodiscard]] bool is_here() const noexcept { return state_ == State::here; }
  /// @return whether it ended without a goodbye, or was given up.
  [[nodiscard]] bool is_dead() const noexcept { return state_ == State::dead; }
  /// @return why it is dead, such as "has ended".
  [[nodiscard]] const std::string& cause() const noexcept { return cause_; }
  /// @return the socket.
  [[nodiscard]] int socket() const noexcept { return watched_.socket.get(); }
  /// @return what becomes readable when the process ends, or -1. The end of the stream tells that
  /// too, but not while a forked child of the process has a copy of its sockets.
  [[nodiscard]] int process() const noexcept { return process_.get(); }

  /// Tells it something, now or when it listens. @param message encoded.
  void say(const std::string& message);
  /// As say, and nothing will be said any more: who has heard a goodbye does not listen longer.
  /// @param message encoded.
  void say_at_last(const std::string& message);
  /// Sends what could not be sent before.
  void flush() noexcept;
  /// @return whether there is such.
  [[nodiscard]] bool must_flush() const noexcept {
    return !outgoing_.empty() || (watched_.cipher && watched_.cipher->has_unsent());
  }
  /// @return whether something may have come although the socket has nothing.
  [[nodiscard]] bool holds() const noexcept { return watched_.cipher && watched_.cipher->has_unread(); }
  /// @return whether all that was said is in the hands of its system, or never will be.
  [[nodiscard]] bool has_been_told() const noexcept;
  /// @return whether it has left more unread than will be kept for it.
  [[nodiscard]] bool is_deaf() const noexcept { return is_deaf_; }

  /// What one read found.
  enum class Found : std::uint8_t { nothing, bytes, end };
  /// Reads once what has come, however much there is. @return what there was; cause() says more of
  /// an end.
  [[nodiscard]] Found read();
  /// @return the next message that has come whole. Throws Error{transport} if it is none.
  [[nodiscard]] std::optional<ControlMessage> next() { return decode(incoming_); }

  /// It has said goodbye.
  void leave() noexcept { state_ = State::left; }
  /// Says why it is about to be lost. @param cause such as "has ended".
  void accuse(std::string cause) noexcept { cause_ = std::move(cause); }
  /// It is dead, or as good as dead: if not, it sees the end of our stream.
  void lose() noexcept;

  /// @param now the time. @return how long ago it was last heard of.
  [[nodiscard]] Clock::duration silence(Clock::time_point now) const noexcept {
    return now - heard_;
  }
  /// Time in which nobody listened does not count as silence. @param late how much.
  /// @param now the time.
  void excuse(Clock::duration late, Clock::time_point now) noexcept {
    heard_ = std::min(now, heard_ + late);
  }

 private:
  [[nodiscard]] tcp::Moved send() noexcept;
  [[nodiscard]] tcp::Moved receive(std::span<char> into) noexcept;

  enum class State : std::uint8_t { here, left, dead };

  Watched watched_;
  Descriptor process_{};
  State state_ = State::here;
  bool is_deaf_ = false;
  bool has_said_all_ = false;
  std::string incoming_{};
  std::string outgoing_{};
  std::string cause_{};
  Clock::time_point heard_;
};

}  // namespace tutti::runtime

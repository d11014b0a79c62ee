/// @file
/// ControlPeer: the socket to another process, and the state of that process.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "backends/tcp/cipher.hpp"
#include "runtime/sockets/socket.hpp"

#include "control_message.hpp"

namespace tutti::runtime {

/// A process to be watched.
struct WatchedProcess {
  Rank rank = 0;         ///< In the world.
  std::string host{};    ///< The name of its host, for error texts.
  bool is_local = true;  ///< Whether it runs on this host, and so needs no heartbeats.
  Descriptor socket{};   ///< Connected and authenticated.
  std::shared_ptr<tcp::Cipher> cipher{};  ///< The cipher of the socket; null: not encrypted.
};

/// The input from another process and the output to it. No method waits.
class ControlPeer {
 public:
  using Clock = std::chrono::steady_clock;

  ControlPeer(WatchedProcess watched, Clock::time_point now);

  [[nodiscard]] Rank rank() const noexcept { return watched_.rank; }
  [[nodiscard]] const std::string& host() const noexcept { return watched_.host; }
  [[nodiscard]] bool is_local() const noexcept { return watched_.is_local; }
  /// @return whether it neither left nor is dead.
  [[nodiscard]] bool is_connected() const noexcept { return state_ == ConnectionState::connected; }
  /// @return whether it ended without notice, or is lost.
  [[nodiscard]] bool is_dead() const noexcept { return state_ == ConnectionState::dead; }
  /// @return why it is dead, such as "has ended".
  [[nodiscard]] const std::string& cause() const noexcept { return cause_; }
  [[nodiscard]] int socket() const noexcept { return watched_.socket.get(); }
  /// @return a descriptor that becomes readable when the process ends, or -1. The end of the stream
  /// is not enough: a forked child of the process may keep a copy of its sockets.
  [[nodiscard]] int process() const noexcept { return process_.get(); }

  /// Sends a message now, or when the socket has room. @param message encoded.
  void send(const std::string& message);
  /// Sends a message and ignores all later ones.
  void send_last(const std::string& message);
  /// Sends the output that is left.
  void flush() noexcept;
  /// @return whether there is such output.
  [[nodiscard]] bool must_flush() const noexcept {
    return !outgoing_.empty() || (watched_.cipher && watched_.cipher->has_unsent());
  }
  /// @return whether there may be input although the socket has none.
  [[nodiscard]] bool has_unread() const noexcept {
    return watched_.cipher && watched_.cipher->has_unread();
  }
  /// @return whether the peer's system has received all output, or never will.
  [[nodiscard]] bool is_drained() const noexcept;
  /// @return whether there was more output than is kept for it.
  [[nodiscard]] bool has_overflowed() const noexcept { return has_overflowed_; }

  /// The result of one read.
  enum class ReadResult : std::uint8_t { nothing, bytes, end };
  /// Reads once. cause() explains an end.
  [[nodiscard]] ReadResult read();
  /// @return the next complete message. Throws Error{transport} if it is malformed.
  [[nodiscard]] std::optional<ControlMessage> next_message() { return decode(incoming_); }

  /// The peer has announced that it leaves.
  void mark_left() noexcept { state_ = ConnectionState::left; }
  /// Sets why the peer is about to be marked dead. @param cause such as "has ended".
  void set_cause(std::string cause) noexcept { cause_ = std::move(cause); }
  /// Marks the peer as dead or lost. If it is alive, it reads the end of the stream.
  void mark_dead() noexcept;

  /// @return the time since the last input.
  [[nodiscard]] Clock::duration idle_time(Clock::time_point now) const noexcept {
    return now - last_input_;
  }
  /// Excludes a time in which this process did not read.
  void skip_time(Clock::duration time, Clock::time_point now) noexcept {
    last_input_ = std::min(now, last_input_ + time);
  }

 private:
  [[nodiscard]] tcp::Moved write_socket() noexcept;
  [[nodiscard]] tcp::Moved read_socket(std::span<char> into) noexcept;

  enum class ConnectionState : std::uint8_t { connected, left, dead };

  WatchedProcess watched_;
  Descriptor process_{};
  ConnectionState state_ = ConnectionState::connected;
  bool has_overflowed_ = false;
  bool is_finished_ = false;
  std::string incoming_{};
  std::string outgoing_{};
  std::string cause_{};
  Clock::time_point last_input_;
};

}  // namespace tutti::runtime

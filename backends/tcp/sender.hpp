/// @file
/// The sender of messages, as frames in the order of their queue.
#pragma once

#include "base/pool.hpp"
#include "fabric.hpp"
#include "port.hpp"

namespace tutti::tcp {

/// Sends messages over the links of a process as frames, and the frames that ask peers for the rest
/// of a message or give them credit. The caller holds the hub's mutex.
class Sender {
 public:
  /// @param options outlives this.
  explicit Sender(const Options& options) noexcept : options_{options} {}

  /// Starts a message: as a whole if credit covers it, otherwise by a request. @param link to its
  /// peer, usable.
  void post(Port& port, const Transfer& transfer, Link& link);
  /// Sends a frame that is no message. @param header without the source.
  void send_control(Link& link, const Header& header);
  /// Sends the rest of a message, for which the peer has asked. @param sequence of the message.
  void grant(Link& link, std::uint64_t sequence);
  /// Writes as many bytes as the socket has room for.
  void flush(Link& link);
  /// Drops all frames of a lost link.
  void abandon(Link& link) noexcept;
  /// Drops the messages of a communicator, whose pieces are not read any more.
  void stop(const Port& port, Link& link);

 private:
  void begin(Link& link, Outbound& message) const;
  void enqueue(Link& link, Outbound& message) noexcept;
  void enqueue_next(Link& link, Outbound& message);
  void account(Link& link, std::uint64_t bytes);
  void end_frame(Link& link, Outbound& message);

  const Options& options_;
  detail::Pool<Outbound> outbounds_{};
};

}  // namespace tutti::tcp

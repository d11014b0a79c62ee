/// @file
/// Sender: messages become frames, frames leave in the order of their queue.
#pragma once

#include "base/pool.hpp"
#include "fabric.hpp"
#include "port.hpp"

namespace tutti::tcp {

/// Sends messages over the links of a process, as frames, and the frames by which it asks peers for
/// the rest of a message or gives them credit. Whoever calls holds the hub's mutex.
class Sender {
 public:
  /// @param options outlive this.
  explicit Sender(const Options& options) noexcept : options_{options} {}

  /// Starts a message: as a whole where credit covers it, else by a request. @param transfer as
  /// posted. @param link to its peer, usable.
  void post(Port& port, const Transfer& transfer, Link& link);
  /// Sends a frame that is no message. @param header but for the source.
  void send_control(Link& link, const Header& header);
  /// The peer asks for the rest of a message. @param link to it. @param sequence of the message.
  void grant(Link& link, std::uint64_t sequence);
  /// Writes as much as the socket has room for.
  void flush(Link& link);
  /// Forgets all frames of a link that was lost.
  void abandon(Link& link) noexcept;
  /// Forgets the messages of a communicator. The pieces are not read any more.
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

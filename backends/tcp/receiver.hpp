/// @file
/// The matching of messages with receives, and the destinations of payloads.
#pragma once

#include <string_view>

#include "sender.hpp"

namespace tutti::tcp {

/// Matches the messages that come over the links of a process with receives. It keeps the bytes of
/// messages without a receive, and accounts for their credit. It copies messages to the own rank.
/// The caller holds the hub's mutex.
class Receiver {
 public:
  /// @param options and @param sender and @param ports outlive this.
  Receiver(const Options& options, Sender& sender, Ports& ports) noexcept
      : options_{options}, sender_{sender}, ports_{ports} {}

  /// Posts a receive.
  void post(Port& port, const Transfer& transfer);
  /// Sends a message to the own rank.
  void send_to_self(Port& port, const Transfer& transfer);
  /// Takes the messages of a new communicator that came before it was made. @param port new.
  void accept_early(Port& port);

  /// Begins a frame: finds the destination of its payload, and sets link.frame. @return whether the
  /// frame is valid; if not, link.loss has the reason.
  [[nodiscard]] bool begin_frame(Link& link, const Header& header);
  /// Ends a frame of a message, whose payload has arrived.
  void end_frame(Inbound& message);
  /// Stops receiving a message, which is in no queue any more.
  void abandon(Inbound& message);
  /// Stops receiving the messages of a lost link. Complete messages without a receive stay, and can
  /// still be received.
  void abandon(Link& link);
  /// Drops a communicator's receives and messages of one sender, whose pieces are not touched any
  /// more.
  void stop(Port& port, Rank rank);

  /// @return the number of dropped frames for communicators that had ended.
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  [[nodiscard]] bool begin_message(Link& link, const Header& header);
  [[nodiscard]] bool resume_message(Link& link, const Header& header);
  [[nodiscard]] bool drop(Link& link, std::uint64_t charge);
  void match(Port& port, Inbound& message);
  void accept(Port& port, Inbound& message, Receive& receive);
  [[nodiscard]] bool check_match(Port& port, const Inbound& message, const Receive& receive);
  void receive_from_self(Port& port, Inbound& message, Receive& receive);
  void keep_bytes(Inbound& message);
  void release_bytes(Inbound& message);
  void return_credit(Link& link, std::uint64_t credit);

  const Options& options_;
  Sender& sender_;
  Ports& ports_;
  Queue<Inbound> early_{};  // messages to communicators that do not exist here yet
  std::uint64_t dropped_ = 0;
  detail::Pool<Receive> receives_{};
  detail::Pool<Inbound> inbounds_{};
  Buffers buffers_{};
};

}  // namespace tutti::tcp

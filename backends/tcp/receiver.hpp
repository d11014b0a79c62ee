/// @file
/// Receiver: which receive a message belongs to, and where the payload of a frame goes.
#pragma once

#include <string_view>

#include "sender.hpp"

namespace tutti::tcp {

/// Matches the messages that come over the links of a process with receives, keeps the bytes of
/// those that have none yet, and accounts for the credit that those hold. Messages to the own rank
/// are copied. Whoever calls holds the hub's mutex.
class Receiver {
 public:
  /// @param options and @param sender and @param ports outlive this.
  Receiver(const Options& options, Sender& sender, Ports& ports) noexcept
      : options_{options}, sender_{sender}, ports_{ports} {}

  /// Posts a receive. @param transfer as posted.
  void post(Port& port, const Transfer& transfer);
  /// Sends a message to the own rank. @param transfer as posted.
  void send_to_self(Port& port, const Transfer& transfer);
  /// A communicator has begun: its messages that came before find their receives. @param port new.
  void accept_early(Port& port);

  /// A frame begins: finds where its payload goes. @param link from where, whose frame is set.
  /// @param header of the frame. @return whether the frame makes sense, else link.loss says why not.
  [[nodiscard]] bool begin_frame(Link& link, const Header& header);
  /// The payload of a frame has come. @param message that it is of.
  void end_frame(Inbound& message);
  /// Stops to receive a message, which is in no queue any more.
  void abandon(Inbound& message);
  /// Stops to receive the messages of a link that was lost, but for those without a receive: if
  /// they are complete they can still be had.
  void abandon(Link& link);
  /// Forgets the receives and messages of a communicator. The pieces are not touched any more.
  /// @param rank of the sender.
  void stop(Port& port, Rank rank);

  /// @return frames for communicators that have ended.
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
  Queue<Inbound> early_{};  // messages to communicators yet to be made
  std::uint64_t dropped_ = 0;
  detail::Pool<Receive> receives_{};
  detail::Pool<Inbound> inbounds_{};
  Buffers buffers_{};
};

}  // namespace tutti::tcp

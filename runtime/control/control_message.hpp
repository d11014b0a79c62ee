/// @file
/// The messages between processes of a world on their control sockets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tutti/error.hpp>

namespace tutti::runtime {

/// One message.
struct ControlMessage {
  /// The kind of a message.
  enum class MessageType : std::uint32_t {
    heartbeat = 1,  ///< Shows that the sender runs.
    failure = 2,    ///< Reports a failure of a communicator.
    leave = 3,      ///< Announces that the sender leaves without an error.
    decision = 4,   ///< The cause that the sender has decided for; fields as for `failure`.
    inquiry = 5,    ///< Asks for the status of a call.
    reply = 6,      ///< Replies to an inquiry, see call_report.hpp.
    last_call =
        7  ///< The status of one of the last calls of a sender that leaves; fields as for a reply.
  };
  MessageType kind = MessageType::heartbeat;
  /// The communicator of a failure, an inquiry or a last call; in a reply, the number of its
  /// inquiry.
  std::uint64_t communicator = 0;
  ErrorCode code = ErrorCode::aborted;  ///< In a failure, the code of its cause.
  Rank culprit = -1;                    ///< In a failure, the rank in the communicator, or -1.
  /// In a failure, the rank in the communicator at which it began; in a death, the dead rank,
  /// whichever rank reports it.
  Rank origin = 0;
  /// In a failure, the cause, for a person; in a reply, see call_report.hpp.
  std::string text{};
  /// In an inquiry, its number; in a reply, the number of calls, or kNoCommunicator; in a last
  /// call, the number of calls.
  std::uint64_t number = 0;
  std::uint64_t call = 0;  ///< In an inquiry or a last call, see CallCounter::status_of.
};

/// The number in a reply about an unknown communicator.
inline constexpr std::uint64_t kNoCommunicator = ~std::uint64_t{0};

/// The longest text, in bytes; longer ones are cut.
inline constexpr std::size_t kMostControlText = 2048;
/// @return a text of at most kMostControlText bytes. A longer one ends with dots after its last
/// whole character of UTF-8.
[[nodiscard]] std::string shortened(std::string text);

/// @return whether a failure is the death of a rank.
[[nodiscard]] inline bool is_death(const ControlMessage& failure) noexcept {
  return failure.code == ErrorCode::peer_dead && failure.culprit == failure.origin;
}
/// @return whether a rank only seems dead to another one, which may be because it left after a
/// failure.
[[nodiscard]] inline bool is_suspicion(const ControlMessage& failure) noexcept {
  return failure.code == ErrorCode::peer_dead && !is_death(failure);
}
/// The order by which ranks choose one of several causes: deaths first, since they explain the
/// rest; then errors that ranks raised; suspicions last; among equals the one of the lowest rank.
/// @return whether `one` goes before `other`, a failure of the same communicator.
[[nodiscard]] bool precedes(const ControlMessage& one, const ControlMessage& other) noexcept;
/// @return the error of a failure, equal on all ranks.
[[nodiscard]] Error error_of(const ControlMessage& failure);

[[nodiscard]] std::string encode(const ControlMessage& message);
/// Extracts the first message from received bytes. @param bytes loses the message. @return nothing
/// if the message is incomplete. Throws Error{transport} if the bytes are malformed.
[[nodiscard]] std::optional<ControlMessage> decode(std::string& bytes);

}  // namespace tutti::runtime

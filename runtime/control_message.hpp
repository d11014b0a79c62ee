/// @file
/// What processes of a world say to each other over their control sockets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tutti/error.hpp>

namespace tutti::runtime {

/// One message.
struct ControlMessage {
  /// What it is.
  enum class Kind : std::uint32_t {
    heartbeat = 1,  ///< Nothing happened.
    failure = 2,    ///< A communicator failed, as the sender has heard.
    goodbye = 3,    ///< The sender leaves in good order.
    verdict = 4,    ///< As failure; and this is the cause that the sender shows.
    question = 5,   ///< What does the receiver do on a communicator?
    answer = 6,     ///< See call_report.hpp.
    last_call = 7  ///< As an answer, of one of the latest calls of a sender that is about to leave.
  };
  Kind kind = Kind::heartbeat;
  /// The communicator of a failure, a question or a last call; in an answer, that of its question.
  std::uint64_t communicator = 0;
  ErrorCode code = ErrorCode::aborted;  ///< Of a failure: of its cause.
  Rank culprit = -1;                    ///< Of a failure: in the communicator; -1: nobody.
  Rank origin = 0;  ///< Of a failure: the rank in the communicator at which it began; of a
                    ///< death the rank that died, whoever says so.
  std::string
      text{};  ///< Of a failure: the cause, for a person; of an answer: see call_report.hpp.
  std::uint64_t number = 0;  ///< Of a question: which; of an answer: calls, or kNoCommunicator; of
                             ///< a last call: calls.
  std::uint64_t call = 0;  ///< Of a question or a last call: see CallCounter::tell.
};

/// Answers a question about a communicator that is not there.
inline constexpr std::uint64_t kNoCommunicator = ~std::uint64_t{0};

/// The longest text; what is longer is cut.
inline constexpr std::size_t kMostControlText = 2048;

/// @param failure of a communicator. @return whether it is the death of a rank.
[[nodiscard]] inline bool is_death(const ControlMessage& failure) noexcept {
  return failure.code == ErrorCode::peer_dead && failure.culprit == failure.origin;
}
/// @param failure of a communicator. @return whether a rank only looks dead to another one, which
/// may be because it heard of a failure and left.
[[nodiscard]] inline bool is_suspicion(const ControlMessage& failure) noexcept {
  return failure.code == ErrorCode::peer_dead && !is_death(failure);
}
/// The order by which ranks choose one of several first causes: deaths before all else, for they
/// explain the rest; then what a rank found beside; suspicions last. The lowest rank goes first.
/// @param one failure. @param other of the same communicator. @return whether one goes before.
[[nodiscard]] bool precedes(const ControlMessage& one, const ControlMessage& other) noexcept;
/// @param failure that was heard of. @return what the alarms of all ranks say.
[[nodiscard]] Error error_of(const ControlMessage& failure);

/// @param message any. @return its bytes.
[[nodiscard]] std::string encode(const ControlMessage& message);
/// Takes one message off the front of what has come. @param bytes what has come; shortened by what
/// was taken. @return the message, or nothing if it has not come whole. Throws Error{transport} if
/// the bytes are none of ours.
[[nodiscard]] std::optional<ControlMessage> decode(std::string& bytes);

}  // namespace tutti::runtime

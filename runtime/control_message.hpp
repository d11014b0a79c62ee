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
    failure = 2,    ///< A communicator failed on the sender.
    goodbye = 3     ///< The sender leaves in good order.
  };
  Kind kind = Kind::heartbeat;
  std::uint64_t communicator = 0;       ///< Of a failure.
  ErrorCode code = ErrorCode::aborted;  ///< Of a failure: the first cause's.
  Rank culprit = -1;                    ///< Of a failure: in the communicator.
  std::string text{};                   ///< Of a failure: the cause, for a person.
};

/// The longest text; what is longer is cut.
inline constexpr std::size_t kMostControlText = 2048;

/// @param message any. @return its bytes.
[[nodiscard]] std::string encode(const ControlMessage& message);
/// Takes one message off the front of what has come. @param bytes what has come; shortened by what
/// was taken. @return the message, or nothing if it has not come whole. Throws Error{transport} if
/// the bytes are none of ours.
[[nodiscard]] std::optional<ControlMessage> decode(std::string& bytes);

}  // namespace tutti::runtime

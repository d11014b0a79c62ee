#include "control_message.hpp"

#include <cstring>

namespace tutti::runtime {
namespace {

constexpr std::uint32_t kMagic = 0x74746c31;

// In the order and size in which it travels; both ends are of one build of one machine type, which
// the handshake has made sure of.
struct Front {
  std::uint32_t magic;
  std::uint32_t kind;
  std::uint64_t communicator;
  std::uint32_t code;
  std::int32_t culprit;
  std::uint32_t text_bytes;
  std::uint32_t reserved;
};
static_assert(sizeof(Front) == 32);

}  // namespace

std::string encode(const ControlMessage& message) {
  const std::string_view text = std::string_view{message.text}.substr(0, kMostControlText);
  const Front front{kMagic,
                    static_cast<std::uint32_t>(message.kind),
                    message.communicator,
                    static_cast<std::uint32_t>(message.code),
                    message.culprit,
                    static_cast<std::uint32_t>(text.size()),
                    0};
  std::string bytes(sizeof front, '\0');
  std::memcpy(bytes.data(), &front, sizeof front);
  return bytes.append(text);
}

std::optional<ControlMessage> decode(std::string& bytes) {
  Front front;
  if (bytes.size() < sizeof front) return std::nullopt;
  std::memcpy(&front, bytes.data(), sizeof front);
  using Kind = ControlMessage::Kind;
  if (front.magic != kMagic || front.kind < static_cast<std::uint32_t>(Kind::heartbeat) ||
      front.kind > static_cast<std::uint32_t>(Kind::goodbye) ||
      front.code > static_cast<std::uint32_t>(ErrorCode::bug) ||
      front.text_bytes > kMostControlText)
    throw Error{ErrorCode::transport, "a control socket carried something that is no message"};
  if (bytes.size() - sizeof front < front.text_bytes) return std::nullopt;
  ControlMessage message{.kind = static_cast<Kind>(front.kind),
                         .communicator = front.communicator,
                         .code = static_cast<ErrorCode>(front.code),
                         .culprit = front.culprit,
                         .text = bytes.substr(sizeof front, front.text_bytes)};
  bytes.erase(0, sizeof front + front.text_bytes);
  return message;
}

}  // namespace tutti::runtime

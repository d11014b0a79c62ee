#include "control_message.hpp"

#include <cstring>
#include <tuple>

namespace tutti::runtime {
namespace {

constexpr std::uint32_t kControlMagic = 0x74746c31;

// The layout of a message; the handshake has ensured that both ends have the same build and type of
// machine.
struct Header {
  std::uint32_t magic;
  std::uint32_t kind;
  std::uint64_t communicator;
  std::uint32_t code;
  std::int32_t culprit;
  std::uint32_t text_bytes;
  std::int32_t origin;
  std::uint64_t number;
  std::uint64_t call;
};
static_assert(sizeof(Header) == 48);

}  // namespace

bool precedes(const ControlMessage& one, const ControlMessage& other) noexcept {
  const auto key = [](const ControlMessage& failure) {
    return std::tuple{!is_death(failure), is_suspicion(failure), failure.origin};
  };
  return key(one) < key(other);
}

Error error_of(const ControlMessage& failure) {
  if (is_death(failure)) return {failure.code, failure.text, failure.culprit};
  return {failure.code, "rank " + std::to_string(failure.origin) + " reports: " + failure.text,
          failure.culprit};
}

std::string shortened(std::string text) {
  constexpr std::string_view kDots = "...";
  if (text.size() <= kMostControlText) return text;
  std::size_t end = kMostControlText - kDots.size();
  const auto is_inside = [&](char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
  };
  while (end > 0 && is_inside(text[end])) --end;
  text.resize(end);
  return text.append(kDots);
}

std::string encode(const ControlMessage& message) {
  const std::string_view text = std::string_view{message.text}.substr(0, kMostControlText);
  const Header header{kControlMagic,        static_cast<std::uint32_t>(message.kind),
                      message.communicator, static_cast<std::uint32_t>(message.code),
                      message.culprit,      static_cast<std::uint32_t>(text.size()),
                      message.origin,       message.number,
                      message.call};
  std::string bytes(sizeof header, '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes.append(text);
}

std::optional<ControlMessage> decode(std::string& bytes) {
  Header header;
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  using MessageType = ControlMessage::MessageType;
  if (header.magic != kControlMagic ||
      header.kind < static_cast<std::uint32_t>(MessageType::heartbeat) ||
      header.kind > static_cast<std::uint32_t>(MessageType::last_call) ||
      header.code > static_cast<std::uint32_t>(ErrorCode::bug) ||
      header.text_bytes > kMostControlText)
    throw Error{ErrorCode::transport, "a control socket received a malformed message"};
  if (bytes.size() - sizeof header < header.text_bytes) return std::nullopt;
  ControlMessage message{.kind = static_cast<MessageType>(header.kind),
                         .communicator = header.communicator,
                         .code = static_cast<ErrorCode>(header.code),
                         .culprit = header.culprit,
                         .origin = header.origin,
                         .text = bytes.substr(sizeof header, header.text_bytes),
                         .number = header.number,
                         .call = header.call};
  bytes.erase(0, sizeof header + header.text_bytes);
  return message;
}

}  // namespace tutti::runtime

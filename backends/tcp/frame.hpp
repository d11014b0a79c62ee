/// @file
/// The format of messages between two ranks: frames, a header of 64 bytes each, some with a
/// payload.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace tutti::tcp {

/// The purpose of a frame.
enum class FrameType : std::uint8_t {
  message = 1,  ///< A whole message: its bytes are the payload.
  request = 2,  ///< Announces a message of `length` bytes, `offset` of which follow unasked.
  grant = 3,    ///< Asks for the rest of an announced message.
  data = 4,     ///< `length` bytes of an announced message, from `offset` on, are the payload.
  credit = 5    ///< The sender may send `length` more bytes unasked.
};

/// Set in Header::flags if payload_sum is the CRC32C of the payload.
inline constexpr std::uint16_t kPayloadSummed = 1;
/// The first bytes of every frame: "tutt".
inline constexpr std::uint32_t kMagic = 0x74747574;
/// The version of the format. Frames of another version are rejected.
inline constexpr std::uint8_t kVersion = 1;

/// The front of every frame, in its format on the wire: lower bytes first.
struct Header {
  std::uint32_t magic = kMagic;         ///< See kMagic.
  std::uint8_t version = kVersion;      ///< See kVersion.
  FrameType type = FrameType::message;  ///< Its purpose.
  std::uint16_t flags = 0;              ///< See kPayloadSummed.
  std::uint32_t header_sum = 0;         ///< CRC32C of the header with zero here.
  std::uint32_t payload_sum = 0;        ///< See kPayloadSummed.
  std::uint64_t communicator = 0;       ///< Number of the message's communicator.
  std::uint32_t source = 0;             ///< Number of the sender, agreed when the link was made.
  std::uint32_t tag = 0;                ///< Tag of the message.
  std::uint64_t sequence = 0;           ///< Messages the source started before, on this link.
  std::uint64_t length = 0;             ///< See FrameType.
  std::uint64_t fingerprint = 0;        ///< Fingerprint of the message.
  std::uint64_t offset = 0;             ///< See FrameType.

  /// @return the bytes that follow the header.
  [[nodiscard]] std::uint64_t payload() const noexcept {
    return type == FrameType::message || type == FrameType::data ? length : 0;
  }
};
static_assert(sizeof(Header) == 64 && alignof(Header) == 8);
static_assert(std::is_trivially_copyable_v<Header> && std::is_standard_layout_v<Header>);
static_assert(std::has_unique_object_representations_v<Header>, "no byte is padding");
static_assert(offsetof(Header, header_sum) == 8 && offsetof(Header, communicator) == 16);
static_assert(offsetof(Header, sequence) == 32 && offsetof(Header, offset) == 56);
static_assert(std::endian::native == std::endian::little, "headers travel as they lie in memory");

/// A fault of a header.
enum class Flaw : std::uint8_t {
  none,      ///< Nothing.
  cut,       ///< It is shorter than a header.
  magic,     ///< It does not start with the magic number.
  checksum,  ///< Its checksum does not fit.
  version,   ///< It has another version.
  type,      ///< There is no such type.
  flags,     ///< It has unknown flags.
  length     ///< Its payload is longer than any may be.
};
/// @return a text, such as "its checksum does not fit".
[[nodiscard]] std::string_view describe(Flaw flaw) noexcept;

/// The longest payloads that ranks send.
struct FrameLimits {
  std::uint64_t message = 0;  ///< Limit of FrameType::message, and of unasked bytes.
  std::uint64_t data = 0;     ///< Limit of FrameType::data.
};

/// A header, or its fault.
struct Decoded {
  Header header{};          ///< Valid only without a flaw.
  Flaw flaw = Flaw::magic;  ///< Its fault.
};

/// Reads a header. @param bytes the front of a frame. @return the header or its flaw.
[[nodiscard]] Decoded decode(std::span<const std::byte> bytes, const FrameLimits& limits) noexcept;
/// Sets the checksum of a header, which is otherwise complete.
void seal(Header& header) noexcept;

}  // namespace tutti::tcp

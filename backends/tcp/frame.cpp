#include "frame.hpp"

#include <cstring>

#include "crc32c.hpp"

namespace tutti::tcp {
namespace {

std::uint32_t sum_of(Header header) noexcept {
  header.header_sum = 0;
  return crc32c(0, std::as_bytes(std::span{&header, 1}));
}

// Only the magic number is tested before the checksum. So a later flaw is one of the sender, and
// not of the connection.
Flaw flaw_of(const Header& header, const FrameLimits& limits) noexcept {
  if (header.magic != kMagic) return Flaw::magic;
  if (header.header_sum != sum_of(header)) return Flaw::checksum;
  if (header.version != kVersion) return Flaw::version;
  if ((header.flags & ~kPayloadSummed) != 0) return Flaw::flags;
  switch (header.type) {
    case FrameType::message: return header.length <= limits.message ? Flaw::none : Flaw::length;
    case FrameType::data: return header.length <= limits.data ? Flaw::none : Flaw::length;
    case FrameType::request:
      return header.offset <= limits.message && header.offset <= header.length ? Flaw::none
                                                                               : Flaw::length;
    case FrameType::grant:
    case FrameType::credit: return Flaw::none;
  }
  return Flaw::type;
}

}  // namespace

std::string_view describe(Flaw flaw) noexcept {
  switch (flaw) {
    case Flaw::none: return "nothing is wrong";
    case Flaw::cut: return "it is shorter than a header";
    case Flaw::magic: return "it does not start with the magic number";
    case Flaw::checksum: return "its checksum does not fit";
    case Flaw::version: return "it is of another version";
    case Flaw::type: return "there is no such type";
    case Flaw::flags: return "it has unknown flags";
    case Flaw::length: return "its length is more than ranks may send at once";
  }
  return "it is unknown";
}

Decoded decode(std::span<const std::byte> bytes, const FrameLimits& limits) noexcept {
  Decoded result{};
  if (bytes.size() < sizeof(Header)) {
    result.flaw = Flaw::cut;
    return result;
  }
  std::memcpy(&result.header, bytes.data(), sizeof(Header));
  result.flaw = flaw_of(result.header, limits);
  return result;
}

void seal(Header& header) noexcept {
  header.header_sum = sum_of(header);
}

}  // namespace tutti::tcp

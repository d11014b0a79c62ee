/// @file
/// CRC32C, the checksum of iSCSI (RFC 3720, appendix B.4), which processors have an instruction
/// for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::tcp {

/// Continues a checksum. @param sum of the bytes before; 0 at the start. @param bytes what follows.
/// @return the checksum of all bytes so far. Uses the processor's instruction where it has one.
[[nodiscard]] std::uint32_t crc32c(std::uint32_t sum, std::span<const std::byte> bytes) noexcept;
/// As crc32c, by table on every processor. @param sum see crc32c. @param bytes see crc32c.
/// @return see crc32c.
[[nodiscard]] std::uint32_t crc32c_by_table(std::uint32_t sum,
                                            std::span<const std::byte> bytes) noexcept;

}  // namespace tutti::tcp

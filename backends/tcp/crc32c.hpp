/// @file
/// CRC32C, the checksum of iSCSI (RFC 3720, appendix B.4), for which processors have an
/// instruction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::tcp {

/// Continues a checksum, by the processor's instruction if it has one. @param sum of the bytes
/// before; 0 at the start. @return the checksum of all bytes so far.
[[nodiscard]] std::uint32_t crc32c(std::uint32_t sum, std::span<const std::byte> bytes) noexcept;
/// As crc32c, by a table on every processor.
[[nodiscard]] std::uint32_t crc32c_by_table(std::uint32_t sum,
                                            std::span<const std::byte> bytes) noexcept;

}  // namespace tutti::tcp

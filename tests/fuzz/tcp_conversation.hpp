/// @file
/// Feeds any bytes to the reader of a TCP link, as an authenticated peer gone mad would.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tutti::fuzz {

/// Sends bytes to a process that has two communicators and posted receives, and lets it read them
/// to the end. Ends the program if anything outside of the posted pieces was written.
/// @param bytes what the peer sends.
void converse(std::span<const std::byte> bytes);

/// Reads bytes as frames and makes their headers right but for what they say, so that they get past
/// the checksum. @param bytes any. @return as many bytes.
[[nodiscard]] std::vector<std::byte> resealed(std::span<const std::byte> bytes);

}  // namespace tutti::fuzz

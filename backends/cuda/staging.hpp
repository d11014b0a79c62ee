/// @file
/// The plan by which messages of device memory pass through little memory of the host.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <tutti/spi/fingerprint.hpp>

namespace tutti::v0::cuda {

/// Chunks of messages, and room for them; equal on all ranks.
struct StagingPlan {
  std::size_t chunk_bytes = 0;  ///< Bytes of every chunk except a message's last.
  std::size_t slots = 0;        ///< The number of chunks that fit at once.
};

/// The most memory of the host that a communicator of up to 2048 ranks takes.
inline constexpr std::size_t kStagingBytes = std::size_t{32} << 20U;
inline constexpr std::size_t kMostChunkBytes = std::size_t{512} << 10U;
inline constexpr std::size_t kLeastChunkBytes = std::size_t{4} << 10U;
inline constexpr std::size_t kLeastSlots = 16;

/// @return a plan with two slots or more for each direction of each other rank: the transport moves
/// one chunk while another one is copied.
[[nodiscard]] constexpr StagingPlan staging_plan(int ranks) noexcept {
  const std::size_t lanes = 2 * static_cast<std::size_t>(ranks - 1);
  if (lanes == 0) return {};
  const std::size_t slots = std::max(2 * lanes, kLeastSlots);
  const std::size_t fair = std::bit_floor(kStagingBytes / slots);
  return {.chunk_bytes = std::clamp(fair, kLeastChunkBytes, kMostChunkBytes), .slots = slots};
}

/// @return the fingerprint of all chunks of a message. If its ends differ in length, the receiver
/// notices at the first chunk. It differs from fingerprints of a communicator's calls.
[[nodiscard]] constexpr std::uint64_t fingerprint_of(std::size_t bytes) noexcept {
  return make_fingerprint(bytes, kFingerprintCalls / 2);
}

}  // namespace tutti::v0::cuda

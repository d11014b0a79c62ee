/// @file
/// How messages of device memory are cut, so that they pass through little memory of the host.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <tutti/spi/fingerprint.hpp>

namespace tutti::v0::cuda {

/// Chunks of messages, and room for them; equal on all ranks.
struct StagingPlan {
  std::size_t chunk_bytes = 0;  ///< Of every chunk but a message's last.
  std::size_t slots = 0;        ///< Chunks that have room at once.
};

/// So much memory of the host a communicator takes at most, up to 2048 ranks.
inline constexpr std::size_t kStagingBytes = std::size_t{32} << 20U;
inline constexpr std::size_t kMostChunkBytes = std::size_t{512} << 10U;
inline constexpr std::size_t kLeastChunkBytes = std::size_t{4} << 10U;
inline constexpr std::size_t kLeastSlots = 16;

/// There are two slots or more for each way to and from each other rank: while a chunk is copied
/// the transport moves another one. @param ranks of the communicator. @return the plan.
[[nodiscard]] constexpr StagingPlan staging_plan(int ranks) noexcept {
  const std::size_t ways = 2 * static_cast<std::size_t>(ranks - 1);
  if (ways == 0) return {};
  const std::size_t slots = std::max(2 * ways, kLeastSlots);
  const std::size_t fair = std::bit_floor(kStagingBytes / slots);
  return {.chunk_bytes = std::clamp(fair, kLeastChunkBytes, kMostChunkBytes), .slots = slots};
}

/// @param bytes of a message. @return what all its chunks have: where the ends of a message differ
/// in length, the receiver finds out with the first chunk. They are of no call of the communicator.
[[nodiscard]] constexpr std::uint64_t fingerprint_of(std::size_t bytes) noexcept {
  return make_fingerprint(bytes, kFingerprintCalls / 2);
}

}  // namespace tutti::v0::cuda

/// @file
/// How ranks come to see memory of each other's GPUs.
#pragma once

#include <cstdint>
#include <memory>

#include <tutti/communicator.hpp>
#include <tutti/spi/communicator.hpp>

#include "device_peers.hpp"

namespace tutti::v0::cuda {

/// What a communicator is duplicated with for what is not the program's: none of a program's keys,
/// and not that of splits.
inline constexpr std::uint64_t kKeyOfOurs = kKeyOfSplits - 1;

/// Collective. @param world of ranks. @param key of ours. @return them, in a communicator that
/// nothing else uses, whatever a program does in theirs. Throws Error.
[[nodiscard]] Communicator duplicate_for_us(Communicator& world, std::uint64_t key);

/// Collective. @param world of ranks. @param device of this one, not null. @param patience as
/// DevicePeers. @return memory that all ranks see of each other; null for a rank that is alone.
/// Throws, on all alike, SharedRegion::Unseen where they do not; Error{transport}.
[[nodiscard]] std::shared_ptr<DevicePeers> connect_peers(
    Communicator& world, const std::shared_ptr<const Device>& device, Duration patience);

}  // namespace tutti::v0::cuda

/// @file
/// Communicators for tutti's own messages.
#pragma once

#include <cstdint>

#include <tutti/communicator.hpp>
#include <tutti/spi/communicator.hpp>

namespace tutti::v0::cuda {

/// Keys differ from those of programs and of splits.
inline constexpr std::uint64_t kKeyOfMessages = kKeyOfSplits - 1;
inline constexpr std::uint64_t kKeyOfAgreements = kKeyOfSplits - 2;

/// Collective. @return the same ranks in a communicator that nothing else uses. Throws Error.
[[nodiscard]] inline Communicator duplicate_privately(Communicator& world, std::uint64_t key) {
  CommunicatorOptions options = world.options();
  options.progress = {};
  options.progress_thread = false;
  return world.duplicate(options, key);
}

}  // namespace tutti::v0::cuda

/// @file
/// Copies and folds, enqueued on a stream of a device.
#pragma once

#include <tutti/spi/memory.hpp>

#include "device.hpp"
#include "fold_work.hpp"

namespace tutti::v0::cuda {

/// Copies without overlap; source and destination may be equal. Throws Error{transport}.
void enqueue_copy(const Device& device, std::byte* to, const std::byte* from, std::size_t bytes,
                  CUstream stream);
/// @param work as Memory::fold, in memory that the device sees. @param peers operands whose
/// addresses only the device knows; they are null in the work. Throws Error{transport};
/// Error{invalid_argument} if a user's operator has no function of the device, or an address is not
/// aligned to elements.
void enqueue_fold(const Device& device, const Fold& work, CUstream stream,
                  std::span<const PeerAddress> peers = {});

}  // namespace tutti::v0::cuda

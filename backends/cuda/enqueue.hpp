/// @file
/// Copies and folds, enqueued on a stream.
#pragma once

#include <tutti/spi/memory.hpp>

#include "device.hpp"

namespace tutti::inline v0::cuda {

/// @param data any. @return its address, as the driver has it.
[[nodiscard]] inline CUdeviceptr address_of(const void* data) noexcept {
  return reinterpret_cast<CUdeviceptr>(data);
}

/// @param device whose context is current. @param to destination. @param from source, which does
/// not overlap. @param bytes how many. @param stream of the device. Throws Error{transport}.
void enqueue_copy(const Device& device, std::byte* to, const std::byte* from, std::size_t bytes,
                  CUstream stream);
/// @param device whose context is current. @param work as Memory::fold, in memory that the device
/// sees. @param stream of the device. Throws Error{transport}; Error{invalid_argument} where the
/// operator is a user's, which is a function of the host, or where an address is none of an
/// element.
void enqueue_fold(const Device& device, const Fold& work, CUstream stream);

}  // namespace tutti::inline v0::cuda

/// @file
/// Copies and folds, enqueued on a stream.
#pragma once

#include <tutti/spi/memory.hpp>

#include "device.hpp"
#include "fold_work.hpp"

namespace tutti::v0::cuda {

/// @param device whose context is current. @param to destination. @param from source, which does
/// not overlap. @param bytes how many. @param stream of the device. Throws Error{transport}.
void enqueue_copy(const Device& device, std::byte* to, const std::byte* from, std::size_t bytes,
                  CUstream stream);
/// @param device whose context is current. @param work as Memory::fold, in memory that the device
/// sees. @param stream of the device. Throws Error{transport}; Error{invalid_argument} where the
/// operator is a user's, which is a function of the host, or where an address is none of an
/// element.
void enqueue_fold(const Device& device, const Fold& work, CUstream stream);
/// The same where operands lie where only the device knows. @param peers these, which are null in
/// the work, among the first kPeerPlaces operands.
void enqueue_fold(const Device& device, const Fold& work, std::span<const PeerPlace> peers,
                  CUstream stream);

}  // namespace tutti::v0::cuda

/// @file
/// The translation of a fold to the arguments of kernels.
#pragma once

#include <cstddef>
#include <span>

#include <tutti/spi/memory.hpp>

#include "kernel_work.hpp"

namespace tutti::v0::cuda {

/// A launch of a kernel.
struct FoldWork {
  Datatype type = Datatype::u8;  ///< Type of the kernel; unsigned if the sign does not matter.
  KernelWork kernel{};
};

/// @return the number of launches of a fold.
[[nodiscard]] std::size_t launches_of(const Fold& fold);
/// @return bytes per element that launches of a fold carry from one to the next.
[[nodiscard]] std::size_t carried_bytes(Datatype type) noexcept;

/// @param fold of one element or more, with an operator that is defined for its datatype. @param
/// launch in [0, launches_of(fold)), which run in this order. @param carried memory of the device
/// for carried_bytes of each element; null with one launch. Throws Error{invalid_argument} if an
/// address is not aligned to elements.
[[nodiscard]] FoldWork work_of(const Fold& fold, std::size_t launch = 0, void* carried = nullptr);

/// An operand whose address only the device knows.
struct PeerAddress {
  std::size_t operand = 0;  ///< Its index.
  void* cell = nullptr;     ///< Memory of the device that holds the address.
  std::size_t offset = 0;   ///< Bytes to be added to the address.
};
/// Makes a kernel read the addresses of operands. @param work of a fold of one launch, in which
/// these are null. @param peers of the first kPeerOperands operands.
void put_peers(KernelWork& work, std::span<const PeerAddress> peers);

}  // namespace tutti::v0::cuda

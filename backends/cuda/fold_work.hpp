/// @file
/// From a fold to what a kernel is given.
#pragma once

#include <cstddef>
#include <span>

#include <tutti/spi/memory.hpp>

#include "kernel_work.hpp"

namespace tutti::v0::cuda {

/// A launch of a kernel.
struct FoldWork {
  Datatype type = Datatype::u8;  ///< The kernel: one of unsigned integers, where no operator sees a
                                 ///< sign.
  KernelWork kernel{};
};

/// @param fold see work_of. @return how many launches it takes.
[[nodiscard]] std::size_t launches_of(const Fold& fold);
/// @param type of a fold. @return bytes that its launches carry from one to the next, for each
/// element.
[[nodiscard]] std::size_t carried_bytes(Datatype type) noexcept;

/// @param fold with an operator that is defined for its datatype; one element or more. @param
/// launch in [0, launches_of(fold)), which run in this order. @param carried memory of the device
/// for carried_bytes of each element; null with one launch. @return it for a kernel: with the
/// elements that can be loaded 16 bytes at a time, if all places agree on where these begin. Throws
/// Error{invalid_argument} where a place is none of an element.
[[nodiscard]] FoldWork work_of(const Fold& fold, std::size_t launch = 0, void* carried = nullptr);

/// An operand whose address only the device knows.
struct PeerPlace {
  std::size_t operand = 0;  ///< Which one.
  void* cell = nullptr;     ///< Where on the device its address stands.
  std::size_t offset = 0;   ///< Bytes that are added to that.
};
/// Has a kernel find operands by itself. @param work of a fold of one launch, where these are null.
/// @param peers of the first kPeerPlaces operands.
void put_peers(KernelWork& work, std::span<const PeerPlace> peers);

}  // namespace tutti::v0::cuda

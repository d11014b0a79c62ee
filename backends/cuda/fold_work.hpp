/// @file
/// From a fold to what a kernel is given.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <tutti/spi/memory.hpp>

#include "kernel_work.hpp"

namespace tutti::v0::cuda {

/// A kernel's work, and the addresses that it is about.
struct FoldWork {
  KernelWork kernel{};          ///< With all places, if they are no more than kPassedPlaces.
  std::vector<void*> places{};  ///< Of the operands, then of the results; where they are more than
                                ///< kPassedPlaces, the operands' exponents follow, if any.
};

/// @param fold with an operator that is defined for its datatype; one element or more. @return it
/// for a kernel: with the elements that can be loaded 16 bytes at a time, if all places agree on
/// where these begin. Throws Error{invalid_argument} where a place is none of an element.
[[nodiscard]] FoldWork work_of(const Fold& fold);

/// An operand whose address only the device knows.
struct PeerPlace {
  std::size_t operand = 0;  ///< Which one.
  void* cell = nullptr;     ///< Where on the device its address stands.
  std::size_t offset = 0;   ///< Bytes that are added to that.
};
/// Has a kernel find operands by itself. @param work of a fold where these are null; not by a
/// table.
/// @param peers of the first kPeerPlaces operands.
void put_peers(KernelWork& work, std::span<const PeerPlace> peers);

}  // namespace tutti::v0::cuda

/// @file
/// The arguments of a kernel. Device code, the host, and tests that run kernels' bodies on the host
/// share this file, so it includes nothing of CUDA.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tutti/version.hpp>

namespace tutti::v0::cuda {

/// Bytes of one load or store.
inline constexpr std::size_t kChunkBytes = 16;
/// The most addresses of a launch.
inline constexpr std::size_t kPassedAddresses = 240;
/// The number of operands, from the first on, whose addresses only the device may know.
inline constexpr std::size_t kPeerOperands = 32;

/// One fold: results[k][i] = operands[0][i] op operands[1][i] op ..., evaluated from left to right,
/// divided, and rounded once. A thread computes all of an element before it stores any of it, so a
/// result may be one of the operands. A fold of more operands takes several launches, which carry
/// undivided and unrounded values between them.
struct KernelWork {
  std::uint32_t op = 0;        ///< As OperatorKind; not user.
  std::uint32_t operands = 0;  ///< One or more; one alone is copied.
  std::uint32_t results = 0;   ///< One or more; none if values are carried out.
  std::int32_t divisor = 1;    ///< One or more.
  std::uint64_t count = 0;     ///< Elements.
  std::uint64_t head = 0;      ///< Elements before the first one that is aligned to 16 bytes.
  std::uint64_t chunks = 0;    ///< Chunks of 16 bytes behind the head; zero: alignments differ.
  /// A bit for each of the first operands whose address is the address of a cell that holds the
  /// operand's address, to which an offset is added. With any, the device finds head and chunks.
  std::uint32_t peers = 0;
  std::int32_t divisor_exponent = 0;       ///< Power of two that multiplies the divisor.
  bool has_exponents = false;              ///< Whether operands and the divisor have exponents.
  const void* carried_in = nullptr;        ///< Values of the operands to the left, or null.
  void* carried_out = nullptr;             ///< Values that replace the results, or null.
  std::uint64_t offsets[kPeerOperands]{};  ///< Bytes.
  void* addresses[kPassedAddresses]{};     ///< Addresses of the operands, then of the results.
  /// Powers of two that multiply the operands of an average of f16 or bf16.
  std::int8_t exponents[kPassedAddresses]{};
};

/// @param index of an operand; behind all operands, of a result.
[[nodiscard]] constexpr std::byte* address_at(const KernelWork& work, std::size_t index) noexcept {
  if (index >= kPeerOperands || (work.peers >> index & 1U) == 0)
    return static_cast<std::byte*>(work.addresses[index]);
  return *static_cast<std::byte**>(work.addresses[index]) + work.offsets[index];
}

/// All addresses of a fold, as a launch passes them.
struct PassedAddresses {
  const KernelWork& work;
  constexpr std::byte* operator[](std::size_t index) const noexcept {
    return address_at(work, index);
  }
};

/// The elements that are loaded 16 bytes at a time.
struct Chunks {
  std::uint64_t head = 0;    ///< As KernelWork.
  std::uint64_t chunks = 0;  ///< As KernelWork.
};

/// @return the chunks of a fold; none unless chunks begin at the same index for all addresses.
template <class Addresses>
[[nodiscard]] constexpr Chunks chunks_of(const Addresses& addresses, const KernelWork& work,
                                         std::size_t element_bytes) {
  const auto offset_of = [&](std::size_t index) {
    return reinterpret_cast<std::uintptr_t>(addresses[index]) % kChunkBytes;
  };
  const Chunks none{work.count, 0};
  const std::size_t offset = offset_of(0);
  for (std::size_t i = 1; i < std::size_t{work.operands} + work.results; ++i)
    if (offset_of(i) != offset) return none;
  const std::size_t bytes = (kChunkBytes - offset) % kChunkBytes;
  if (bytes % element_bytes != 0 || bytes / element_bytes >= work.count) return none;
  const std::uint64_t head = bytes / element_bytes;
  return {head, (work.count - head) / (kChunkBytes / element_bytes)};
}

}  // namespace tutti::v0::cuda

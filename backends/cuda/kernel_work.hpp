/// @file
/// What a kernel is given. Shared by device code, the host, and tests that run kernels' bodies on
/// the host; so it includes nothing of CUDA.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tutti/version.hpp>

namespace tutti::v0::cuda {

/// So many bytes are loaded and stored at once.
inline constexpr std::size_t kChunkBytes = 16;
/// So many addresses are passed with a launch; more are in a table in device memory.
inline constexpr std::size_t kPassedPlaces = 240;
/// So many operands may lie where the device only knows.
inline constexpr std::size_t kPeerPlaces = 32;

/// One fold: results[k][i] = operands[0][i] op operands[1][i] op ..., evaluated from left to right,
/// divided, and rounded once. A thread computes all of an element before it stores any of it, so a
/// result may be one of the operands.
struct KernelWork {
  std::uint32_t op = 0;          ///< As OperatorKind; not user.
  std::uint32_t operands = 0;    ///< One or more; one alone is copied.
  std::uint32_t results = 0;     ///< One or more.
  std::int32_t divisor = 1;      ///< One or more.
  std::uint64_t count = 0;       ///< Elements.
  std::uint64_t head = 0;        ///< Elements before the first that lies at 16 bytes everywhere.
  std::uint64_t chunks = 0;      ///< Of 16 bytes, behind the head; zero: places differ modulo 16.
  void* const* table = nullptr;  ///< Device memory with all addresses, or null: see places.
  /// A bit for each of the first operands whose place holds the address of its address, to which
  /// an offset is added. With any, head and chunks are found on the device; there is no table then.
  std::uint32_t peers = 0;
  std::uint64_t offsets[kPeerPlaces]{};  ///< Bytes.
  void* places[kPassedPlaces]{};         ///< Addresses of the operands, then of the results.
  /// Powers of two that multiply the operands of an average of f16 or bf16. With a table, they
  /// follow its addresses, as numbers.
  std::int8_t exponents[kPassedPlaces]{};
  std::int32_t divisor_exponent = 0;  ///< Likewise of the divisor.
  bool has_exponents = false;         ///< Whether there are any.
};

/// @param work see KernelWork. @param index of an operand, or behind all of them of a result.
/// @return its address.
[[nodiscard]] constexpr void* place_of(const KernelWork& work, std::size_t index) noexcept {
  if (work.table != nullptr) return work.table[index];
  if (index >= kPeerPlaces || (work.peers >> index & 1U) == 0) return work.places[index];
  return *static_cast<std::byte**>(work.places[index]) + work.offsets[index];
}

/// @param work see KernelWork. @param operand an index. @return its exponent; with has_exponents.
[[nodiscard]] constexpr std::int32_t exponent_of(const KernelWork& work, std::size_t operand) {
  if (work.table == nullptr) return work.exponents[operand];
  void* const number = work.table[std::size_t{work.operands} + work.results + operand];
  return static_cast<std::int32_t>(reinterpret_cast<std::intptr_t>(number));
}

/// The elements that are loaded 16 bytes at a time.
struct Chunks {
  std::uint64_t head = 0;    ///< As KernelWork.
  std::uint64_t chunks = 0;  ///< Likewise.
};

/// @param work with all places. @param element_bytes size of an element. @return its chunks: all
/// places must agree on where they begin.
[[nodiscard]] constexpr Chunks chunks_of(const KernelWork& work, std::size_t element_bytes) {
  const auto offset_of = [&](std::size_t index) {
    return reinterpret_cast<std::uintptr_t>(place_of(work, index)) % kChunkBytes;
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

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
/// A launch passes up to this many addresses.
inline constexpr std::size_t kPassedPlaces = 240;
/// Among the first of these, an operand may lie where only the device knows.
inline constexpr std::size_t kPeerPlaces = 32;

/// One fold: results[k][i] = operands[0][i] op operands[1][i] op ..., evaluated from left to right,
/// divided, and rounded once. A thread computes all of an element before it stores any of it, so a
/// result may be one of the operands. A fold of more operands takes several launches, which carry
/// values between them that are neither divided nor rounded.
struct KernelWork {
  std::uint32_t op = 0;        ///< As OperatorKind; not user.
  std::uint32_t operands = 0;  ///< One or more; one alone is copied.
  std::uint32_t results = 0;   ///< One or more; none where values are carried out.
  std::int32_t divisor = 1;    ///< One or more.
  std::uint64_t count = 0;     ///< Elements.
  std::uint64_t head = 0;      ///< Elements before the first that lies at 16 bytes everywhere.
  std::uint64_t chunks = 0;    ///< Of 16 bytes, behind the head; zero: places differ modulo 16.
  /// A bit for each of the first operands whose place holds the address of its address, to which
  /// an offset is added. With any, head and chunks are found on the device.
  std::uint32_t peers = 0;
  std::int32_t divisor_exponent = 0;     ///< Power of two that multiplies the divisor.
  bool has_exponents = false;            ///< Whether operands and the divisor have exponents.
  const void* carried_in = nullptr;      ///< The value of what is left of all operands, or null.
  void* carried_out = nullptr;           ///< Where the value goes instead of results, or null.
  std::uint64_t offsets[kPeerPlaces]{};  ///< Bytes.
  void* places[kPassedPlaces]{};         ///< Addresses of the operands, then of the results.
  /// Powers of two that multiply the operands of an average of f16 or bf16.
  std::int8_t exponents[kPassedPlaces]{};
};

/// @param work see KernelWork. @param index of an operand, or behind all of them of a result.
/// @return its address.
[[nodiscard]] constexpr std::byte* place_of(const KernelWork& work, std::size_t index) noexcept {
  if (index >= kPeerPlaces || (work.peers >> index & 1U) == 0)
    return static_cast<std::byte*>(work.places[index]);
  return *static_cast<std::byte**>(work.places[index]) + work.offsets[index];
}

/// All addresses of a fold, as a launch passes them.
struct PassedPlaces {
  const KernelWork& work;
  constexpr std::byte* operator[](std::size_t index) const noexcept {
    return place_of(work, index);
  }
};

/// The elements that are loaded 16 bytes at a time.
struct Chunks {
  std::uint64_t head = 0;    ///< As KernelWork.
  std::uint64_t chunks = 0;  ///< As KernelWork.
};

/// @param places all addresses of a fold. @param work of it. @param element_bytes size of an
/// element. @return its chunks: all places must agree on where they begin.
template <class Places>
[[nodiscard]] constexpr Chunks chunks_of(const Places& places, const KernelWork& work,
                                         std::size_t element_bytes) {
  const auto offset_of = [&](std::size_t index) {
    return reinterpret_cast<std::uintptr_t>(places[index]) % kChunkBytes;
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

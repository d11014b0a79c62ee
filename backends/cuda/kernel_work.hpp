/// @file
/// What a kernel is given. Shared by device code, the host, and tests that run kernels' bodies on
/// the host; so it includes nothing of CUDA.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::inline v0::cuda {

/// So many bytes are loaded and stored at once.
inline constexpr std::size_t kChunkBytes = 16;
/// So many addresses are passed with a launch; more are in a table in device memory.
inline constexpr std::size_t kPassedPlaces = 240;

/// One fold: results[k][i] = operands[0][i] op operands[1][i] op ..., evaluated from left to right,
/// divided, and rounded once. A thread computes all of an element before it stores any of it, so a
/// result may be one of the operands.
struct KernelWork {
  std::uint32_t op = 0;           ///< As OperatorKind; not user.
  std::uint32_t operands = 0;     ///< One or more; one alone is copied.
  std::uint32_t results = 0;      ///< One or more.
  std::int32_t divisor = 1;       ///< One or more.
  std::uint64_t count = 0;        ///< Elements.
  std::uint64_t head = 0;         ///< Elements before the first that lies at 16 bytes everywhere.
  std::uint64_t chunks = 0;       ///< Of 16 bytes, behind the head; zero: places differ modulo 16.
  void* const* table = nullptr;   ///< Device memory with all addresses, or null: see places.
  void* places[kPassedPlaces]{};  ///< Addresses of the operands, then of the results.
};

}  // namespace tutti::inline v0::cuda

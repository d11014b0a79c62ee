/// @file
/// Loops over gradients in memory of the host, compiled for each instruction set. All tables give
/// the same bits, on every machine. This header must stay free of inline functions and templates,
/// since files that are compiled for newer processors include it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tutti/export.hpp>
#include <tutti/types.hpp>

namespace tutti::v0 {

/// Number of partial results of add_squares and add_hash.
constexpr std::size_t kGradientLanes = 16;
/// Number of counters of count_magnitudes: one for each value of the upper bits of a magnitude.
constexpr std::size_t kMagnitudeBins = 2048;
/// Number of lower bits of a magnitude, which its bin omits.
constexpr unsigned kMagnitudeShift = 20;

/// Each member is a pure function of its arguments and thread-safe. `type` is f16, bf16, f32 or
/// f64. Pointers to void and to std::byte may have any alignment, except that of multiply. Arrays
/// do not overlap.
struct GradientKernels {
  /// Adds squares to kGradientLanes partial sums: element i of a call to number i mod
  /// kGradientLanes, in the order of elements. So an array may be given in parts whose lengths are
  /// multiples of kGradientLanes.
  void (*add_squares)(Datatype type, const void* elements, std::size_t count, double* sums);
  /// Whether no element is infinite or a NaN.
  bool (*are_finite)(Datatype type, const void* elements, std::size_t count);
  /// Mixes bytes into kGradientLanes hashes: the i-th eight bytes of a call into number i mod
  /// kGradientLanes, where zeros follow the last byte. Each step is h = (h ^ word) *
  /// 0x9e3779b97f4a7c15, then h ^= h >> 32, which can be reversed.
  void (*add_hash)(const void* bytes, std::size_t count, std::uint64_t* hashes);
  /// Multiplies elements in f64, and rounds each result to its type.
  void (*multiply)(Datatype type, void* elements, std::size_t count, double factor);

  /// Rounds to f16 or bf16, as Float16 and BFloat16 do.
  void (*shorten)(Datatype type, const float* from, std::size_t count, void* to);
  /// Widens elements of f16 or bf16, as Float16 and BFloat16 do.
  void (*lengthen)(Datatype type, const void* from, std::size_t count, float* to);
  /// Adds what lengthen stores.
  void (*add_lengthened)(Datatype type, const void* from, std::size_t count, float* to);

  /// Stores blocks of a scale (f32) and a byte per element. The scale is the largest magnitude
  /// divided by 127, or NaN if an element is infinite or a NaN.
  void (*pack_bytes)(const float* from, std::size_t count, std::size_t block, std::byte* to);
  /// Stores the elements of such blocks.
  void (*unpack_bytes)(const std::byte* from, std::size_t count, std::size_t block, float* to);
  /// Adds what unpack_bytes stores.
  void (*add_bytes)(const std::byte* from, std::size_t count, std::size_t block, float* to);

  /// Stores blocks of a scale (f32) and a bit per element, its sign, from the lowest bit of a byte
  /// to the highest. The scale is the mean magnitude: the sum in f64 in the order of elements,
  /// divided by their number. Blocks begin at whole bytes.
  void (*pack_signs)(const float* from, std::size_t count, std::size_t block, std::byte* to);
  /// Stores the elements of such blocks: the scale with their signs.
  void (*unpack_signs)(const std::byte* from, std::size_t count, std::size_t block, float* to);
  /// Adds what unpack_signs stores.
  void (*add_signs)(const std::byte* from, std::size_t count, std::size_t block, float* to);

  /// Adds elements to others.
  void (*add)(const float* from, std::size_t count, float* to);
  /// Stores wanted - sent where that is finite, else 0.
  void (*keep_errors)(const float* wanted, const float* sent, std::size_t count, float* errors);

  /// Counts elements by bin. The magnitude of an element is its bits without the sign, as an
  /// integer, which sorts like the absolute values; a NaN counts as infinity. Its bin is the
  /// magnitude without the lowest kMagnitudeShift bits.
  void (*count_magnitudes)(const float* elements, std::size_t count, std::uint32_t* bins);
  /// Stores the indices of elements whose magnitude is at least `least`, in ascending order.
  /// `indices` has room for `count`. Returns their number.
  std::size_t (*find_magnitudes)(const float* elements, std::size_t count, std::uint32_t least,
                                 std::uint32_t* indices);
};

/// @return the kernels of the widest instruction set of this processor.
[[nodiscard]] TUTTI_API const GradientKernels& gradient_kernels();

}  // namespace tutti::v0

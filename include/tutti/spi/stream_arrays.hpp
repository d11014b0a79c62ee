/// @file
/// What else than collectives is computed on a stream: elements of another datatype, and what there
/// is to see of elements. Shared with device code, so it includes little.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tutti/types.hpp>

namespace tutti::v0 {

/// Elements that become others, of the same datatype or another one.
struct Conversion {
  Datatype from_type = Datatype::f32;  ///< f16, bf16, f32 or f64.
  Datatype to_type = Datatype::f32;    ///< Likewise.
  std::size_t count = 0;               ///< Elements.
  double factor = 1;                   ///< By which each is multiplied before it is rounded.
  const std::byte* from = nullptr;     ///< Where they are.
  std::byte* to =
      nullptr;  ///< Where they go: without overlap, or the same place where the sizes are.
};

/// What was seen of elements, as sums.
struct Inspected {
  double squares = 0;            ///< Of them.
  std::uint64_t not_finite = 0;  ///< How many are infinite or no numbers.
  std::uint64_t hash = 0;        ///< Of a hash for each with its index, modulo 2^64.
};

/// So many sums an inspection adds to, each by itself.
inline constexpr std::size_t kInspectors = 16'384;

/// Elements to be looked at.
struct Inspection {
  Datatype type = Datatype::f32;    ///< f16, bf16, f32 or f64; or u8, for bytes of whatever kind.
  bool with_hash = false;           ///< Whether hashes are wanted, which take time.
  std::size_t count = 0;            ///< Elements.
  std::uint64_t seed = 0;           ///< Of the hashes.
  const std::byte* data = nullptr;  ///< Where they are.
  Inspected* sums = nullptr;        ///< kInspectors of them.
};

}  // namespace tutti::v0

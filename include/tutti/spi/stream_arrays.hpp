/// @file
/// Work on a stream beside collectives: conversion to another datatype, and inspection of elements.
/// Shared with device code, so it includes little.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tutti/types.hpp>

namespace tutti::v0 {

/// A conversion of elements to the same datatype or another one.
struct Conversion {
  Datatype from_type = Datatype::f32;  ///< f16, bf16, f32 or f64.
  Datatype to_type = Datatype::f32;    ///< f16, bf16, f32 or f64.
  std::size_t count = 0;               ///< Elements.
  double factor = 1;                   ///< Factor of each element, before it is rounded.
  const std::byte* from = nullptr;     ///< The source.
  std::byte* to = nullptr;  ///< The destination: no overlap, or the source if sizes are equal.
};

/// Sums over inspected elements.
struct Inspected {
  double squares = 0;            ///< Sum of squares.
  std::uint64_t not_finite = 0;  ///< Number of elements that are infinite or NaN.
  std::uint64_t hash = 0;        ///< Sum of a hash of each element and its index, modulo 2^64.
};

/// Number of partial sums of an inspection.
inline constexpr std::size_t kInspectors = 16'384;

/// An inspection of elements.
struct Inspection {
  Datatype type = Datatype::f32;    ///< f16, bf16, f32 or f64; or u8, for bytes of any kind.
  bool with_hash = false;           ///< Whether to compute hashes, which take time.
  std::size_t count = 0;            ///< Elements.
  std::uint64_t seed = 0;           ///< Seed of the hashes.
  const std::byte* data = nullptr;  ///< The elements.
  Inspected* sums = nullptr;        ///< The partial sums, kInspectors of them.
};

}  // namespace tutti::v0

/// @file
/// The copy of many bytes. Included once by each kernels_*.cpp; see vectors.inl for why it is in an
/// unnamed namespace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vectors.inl"

namespace {

/// Copies more than 64 bytes. Vectors are stored at multiples of their size, so that none is stored
/// to two cache lines. Only the first and the last may be unaligned, and overlap others.
void copy_many(void* to, const void* from, std::size_t bytes) noexcept {
  using V = Vector<Bytes, kVectorBytes>;
  store_to(to, 0, load_from<V>(from, 0));
  std::size_t at = kVectorBytes - reinterpret_cast<std::uintptr_t>(to) % kVectorBytes;
  for (; bytes - at >= 4 * kVectorBytes; at += 4 * kVectorBytes) {
    const V a = load_from<V>(from, at);
    const V b = load_from<V>(from, at + kVectorBytes);
    const V c = load_from<V>(from, at + 2 * kVectorBytes);
    const V d = load_from<V>(from, at + 3 * kVectorBytes);
    store_to(to, at, a);
    store_to(to, at + kVectorBytes, b);
    store_to(to, at + 2 * kVectorBytes, c);
    store_to(to, at + 3 * kVectorBytes, d);
  }
  for (; bytes - at > kVectorBytes; at += kVectorBytes) store_to(to, at, load_from<V>(from, at));
  store_to(to, bytes - kVectorBytes, load_from<V>(from, bytes - kVectorBytes));
}

}  // namespace

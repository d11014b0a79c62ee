/// @file
/// Sizes of slots in bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tutti/spi/schedule.hpp>

namespace tutti::v0 {

/// The offset of each unit of the vector, in bytes. Scratch planes have the shape of the vector.
struct ByteOffsets {
  std::vector<std::int64_t> begin{};  // one more than there are units

  [[nodiscard]] std::int64_t at(std::uint64_t slot) const {
    const auto units = static_cast<std::uint64_t>(begin.size() - 1);
    return static_cast<std::int64_t>(slot / units) * begin.back() + begin[slot % units];
  }
  /// @return the bytes of a run of slots.
  std::int64_t operator()(const Slots& slots) const {
    return at(std::uint64_t{slots.first} + slots.count) - at(slots.first);
  }
};

/// @param units of the vector. @param block_bytes the size of each block. @param element_bytes the
/// size of an element; parts of a block consist of whole elements. Throws Error{invalid_argument}
/// if the units are not a multiple of the blocks.
[[nodiscard]] ByteOffsets offsets_of(std::uint32_t units, std::span<const std::size_t> block_bytes,
                                     std::size_t element_bytes);

}  // namespace tutti::v0

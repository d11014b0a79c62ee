/// @file
/// The data of a program's arguments as bytes in one piece. Memory without gaps is used where it
/// lies; other data is packed and unpacked by the MPI.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <span>
#include <vector>

#include "dropin/engine/datatypes.hpp"

namespace tutti::dropin {

/// Elements at an address.
struct Block {
  void* at = nullptr;  ///< Not written to where a call reads only.
  std::size_t count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;

  /// @return its bytes. The type of no elements may be anything.
  [[nodiscard]] std::size_t bytes() const { return count == 0 ? 0 : count * facts_of(type).size; }
};

/// @return the address of an element. @param index may be negative.
[[nodiscard]] inline void* element_at(const void* vector, std::ptrdiff_t index, MPI_Datatype type) {
  return static_cast<std::byte*>(const_cast<void*>(vector)) + index * facts_of(type).extent;
}

/// The data of some blocks, one after the other.
class Bytes {
 public:
  /// @param blocks whose types are valid.
  explicit Bytes(std::span<const Block> blocks);
  /// The data of one block.
  explicit Bytes(const Block& block) : Bytes{std::span{&block, 1}} {}

  /// Copies the data of the blocks here, if they are not here. Throws Error{transport} if the MPI
  /// does not pack a datatype.
  void load(std::span<const Block> blocks);
  void load(const Block& block) { load(std::span{&block, 1}); }
  /// Copies the data of the blocks back. Throws Error{transport}.
  void store(std::span<const Block> blocks) const;
  void store(const Block& block) const { store(std::span{&block, 1}); }

  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// @return the bytes of each block, if there are several.
  [[nodiscard]] std::span<const std::size_t> counts() const { return counts_; }
  /// @return whether the data is the blocks' own memory.
  [[nodiscard]] bool is_in_place() const { return copy_.empty(); }

 private:
  std::vector<std::size_t> counts_;
  std::size_t size_ = 0;
  std::vector<std::byte> copy_{};
  void* data_ = nullptr;
};

/// Puts the block that a rank keeps in its place among the results. MPI demands that both have the
/// same length, but MPIs accept a shorter block; the place keeps what it had behind it.
/// @param block or @param place may be at MPI_IN_PLACE. @param may_copy whether a shorter block may
/// be copied now. @return whether the block is in its place.
bool puts_shorter(const Block& block, const Block& place, bool may_copy);

}  // namespace tutti::dropin

/// @file
/// Arrays that are whole in a checkpoint, and of which each rank has a part, or nothing.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <tutti/communicator.hpp>

#include "overlap/bucket_reduction.hpp"
#include "checkpoint_file.hpp"

namespace tutti::v0::detail {

/// This rank's parts, by parameter: at most one of each.
struct OwnBlocks {
  std::vector<Block> blocks{};     ///< Elements of the parameter; none where count is 0.
  std::vector<std::byte*> data{};  ///< Their memory.
};

/// An array of which ranks have parts.
struct DividedArray {
  std::size_t count = 0;        ///< Elements.
  std::size_t bytes = 0;        ///< Of an element.
  std::vector<Block> blocks{};  ///< By rank; none of them overlap.
};

/// Gathers the blocks of all ranks. Collective. @param world the ranks. @param own blocks of this
/// one. @param options of which the timeout counts. @return blocks by parameter, and of each by
/// rank.
[[nodiscard]] std::vector<std::vector<Block>> gather_blocks(Communicator& world,
                                                            std::span<const Block> own,
                                                            const Options& options);

/// Moves arrays between ranks and a file on rank 0, a few MiB at a time. All its calls are
/// collective. What the file throws is kept, since the other ranks wait for bytes anyway.
class ArrayMover {
 public:
  /// @param world whose ranks take part. @param options of which the timeout counts. Throws
  /// std::bad_alloc.
  ArrayMover(Communicator& world, const Options& options);
  /// Writes an array; elements that no rank has are zeros. @param file on rank 0, else null. @param
  /// own part of it. @param outcome of the file so far.
  void save(CheckpointFile* file, const DividedArray& array, const std::byte* own,
            Result<void>& outcome);
  /// Reads an array, and drops what no rank has. @param file on rank 0, else null. @param own where
  /// this rank's part goes. @param outcome of the file so far.
  void load(CheckpointFile* file, const DividedArray& array, std::byte* own, Result<void>& outcome);

 private:
  /// The parts of a chunk that ranks have, one behind the other.
  struct Chunk;
  [[nodiscard]] Chunk chunk_of(const DividedArray& array, std::size_t first);

  Communicator& world_;
  Options options_;
  std::vector<std::byte> whole_;   // a chunk
  std::vector<std::byte> packed_;  // what ranks have of it
};

}  // namespace tutti::v0::detail

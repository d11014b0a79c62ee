/// @file
/// Arrays that are whole in a checkpoint, while each rank has a part of them, or none.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <tutti/communicator.hpp>

#include "checkpoint_file.hpp"
#include "overlap/bucket_reduction.hpp"

namespace tutti::v0::detail {

/// This rank's parts: at most one of each parameter, by parameter.
struct OwnBlocks {
  std::vector<Block> blocks{};     ///< Elements of the parameter; none where count is 0.
  std::vector<std::byte*> data{};  ///< Their memory.
};

/// An array that is divided among ranks.
struct DividedArray {
  std::size_t count = 0;        ///< Elements.
  std::size_t bytes = 0;        ///< Bytes of an element.
  std::vector<Block> blocks{};  ///< By rank; none of them overlap.
};

/// Gathers the blocks of all ranks. Collective. @param own blocks of this rank. @param options only
/// the timeout counts. @return blocks by parameter, then by rank.
[[nodiscard]] std::vector<std::vector<Block>> gather_blocks(Communicator& world,
                                                            std::span<const Block> own,
                                                            const Options& options);

/// Moves arrays between ranks and a file on rank 0, a few MiB at a time. All its calls are
/// collective. Errors of the file are stored, since the other ranks wait for bytes.
class ArrayMover {
 public:
  /// @param options only the timeout counts. Throws std::bad_alloc.
  ArrayMover(Communicator& world, const Options& options);
  /// Writes an array; elements that no rank has are zeros. @param file on rank 0, else null.
  /// @param own this rank's part. @param outcome of the file so far.
  void save(CheckpointFile* file, const DividedArray& array, const std::byte* own,
            Result<void>& outcome);
  /// Reads an array, and drops elements that no rank has. @param file on rank 0, else null.
  /// @param own gets this rank's part. @param outcome of the file so far.
  void load(CheckpointFile* file, const DividedArray& array, std::byte* own, Result<void>& outcome);

 private:
  /// A chunk of an array, and the ranks' parts of it.
  struct Chunk;
  [[nodiscard]] Chunk chunk_of(const DividedArray& array, std::size_t first);

  Communicator& world_;
  Options options_;
  std::vector<std::byte> whole_;   // a chunk
  std::vector<std::byte> packed_;  // the ranks' parts of it, one after the other
};

}  // namespace tutti::v0::detail

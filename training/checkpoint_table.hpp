/// @file
/// The table of a checkpoint's arrays, the replacement of an old checkpoint by a new one, and the
/// broadcast of the bytes that rank 0 reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include <tutti/communicator.hpp>

#include "checkpoint_file.hpp"

namespace tutti::v0::detail {

/// Throws Error{invalid_argument}.
[[noreturn]] void reject_checkpoint(const std::string& text);
/// @param arrays of a checkpoint. @return a line for each: for the comparison of a file and a
/// program.
[[nodiscard]] std::string table_of(std::span<const Parameter> arrays);
/// Rejects arrays that cannot be saved. @param arrays of the program. Throws
/// Error{invalid_argument}.
void check_saved(std::span<const Parameter> arrays);
/// @param table of the arrays. @param extra_bytes behind them. @return the header of a checkpoint.
[[nodiscard]] CheckpointHeader header_of(std::span<const Parameter> arrays,
                                         const std::string& table, std::uint64_t extra_bytes);
/// Throws Error{invalid_argument} if this rank's arrays differ from those of the file. @param rank
/// this rank. @param saved the file's table. @param arrays of this rank.
void compare_saved(Rank rank, const CheckpointHeader& header, const std::string& saved,
                   std::span<const Parameter> arrays);
/// Broadcasts bytes that rank 0 reads. An exception of a read is stored, since the other ranks wait
/// for bytes.
/// @param file on rank 0, else null. @param outcome of rank 0's reads so far. @param options only
/// the timeout counts.
void spread(Communicator& world, CheckpointFile* file, std::span<std::byte> bytes,
            Result<void>& outcome, const Options& options);

/// Writes a checkpoint. The old one stays until the new one is complete; an incomplete one is
/// deleted.
class NewCheckpoint {
 public:
  /// @param path of the file. Throws Error{transport}.
  explicit NewCheckpoint(std::filesystem::path path);
  NewCheckpoint(const NewCheckpoint&) = delete;
  NewCheckpoint& operator=(const NewCheckpoint&) = delete;
  ~NewCheckpoint();
  /// Writes the header and the table. @param arrays follow. @param extra_bytes behind them. Throws
  /// Error{transport}.
  void begin(std::span<const Parameter> arrays, std::uint64_t extra_bytes);
  /// @return the file, to write arrays.
  [[nodiscard]] CheckpointFile& file() noexcept { return file_; }
  /// Writes the end, and replaces the old file. @param extra bytes. Throws
  /// Error{transport}.
  void finish(std::span<const std::byte> extra);

 private:
  std::filesystem::path path_;
  std::filesystem::path partial_;
  CheckpointFile file_;
  bool is_whole_ = false;
};

}  // namespace tutti::v0::detail

/// @file
/// The file of a checkpoint: what its header says, and how its bytes are written and read.
///
/// | bytes | what |
/// |---|---|
/// | sizeof(CheckpointHeader) | the header |
/// | header.table_bytes | a line for each array: its name, count and type |
/// | ... | the arrays, one behind the other |
/// | header.extra_bytes | bytes of the program's own |
/// | 8 | the hash of all bytes before |
///
/// Zeros fill each of them to a multiple of 8 bytes, so that hashes do not depend on the parts in
/// which bytes come.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "bytes.hpp"

namespace tutti::inline v0::detail {

/// How a file begins.
struct CheckpointHeader {
  std::array<char, 8> magic{'t', 'u', 't', 't', 'i', 'c', 'k', 'p'};
  std::uint32_t version = 2;
  std::uint32_t byte_order = 0x01020304;  // another number on machines of another byte order
  std::uint64_t file_bytes = 0;
  std::uint64_t table_bytes = 0;
  std::uint64_t extra_bytes = 0;
};

/// @param bytes of something. @return how many it takes in the file.
[[nodiscard]] constexpr std::uint64_t filled(std::uint64_t bytes) noexcept {
  return (bytes + 7) / 8 * 8;
}

/// A file that is open. Its calls throw Error{transport} with the file's name and what the system
/// says. Move-only.
class CheckpointFile {
 public:
  /// @param path of the file. @param is_new whether to write it anew, or to read what is there.
  CheckpointFile(std::filesystem::path path, bool is_new);
  CheckpointFile(const CheckpointFile&) = delete;
  CheckpointFile& operator=(const CheckpointFile&) = delete;
  ~CheckpointFile();
  /// @param bytes are written behind what is there, filled, and hashed.
  void write(std::span<const std::byte> bytes);
  /// Writes the hash, and waits until the disk has everything.
  void finish();
  /// @param bytes are read as they were written, and hashed. Throws Error{invalid_argument} where
  /// the file ends before.
  void read(std::span<std::byte> bytes);
  /// @return the hash of what was read or written since the start or the last rewind.
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }
  /// Reads from the start again.
  void rewind();
  /// @return bytes of the file.
  [[nodiscard]] std::uint64_t size() const;

 private:
  [[noreturn]] void fail(const char* what) const;
  std::filesystem::path path_;
  int file_;
  std::uint64_t hash_ = hash_of({});
};

/// Has the disk store a folder's list of files. @param folder which. Throws Error{transport}.
void sync_folder(const std::filesystem::path& folder);

}  // namespace tutti::inline v0::detail

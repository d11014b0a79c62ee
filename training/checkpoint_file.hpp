/// @file
/// The file of a checkpoint: its header, and its bytes.
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
#include <string>

#include "overlap/bytes.hpp"

namespace tutti::v0::detail {

/// The beginning of a file.
struct CheckpointHeader {
  std::array<char, 8> magic{'t', 'u', 't', 't', 'i', 'c', 'k', 'p'};
  std::uint32_t version = 2;
  std::uint32_t byte_order = 0x01020304;  // another number on machines of another byte order
  std::uint64_t file_bytes = 0;
  std::uint64_t table_bytes = 0;
  std::uint64_t extra_bytes = 0;
};

/// The bytes of a file beside the table, the arrays and the extra bytes.
inline constexpr std::uint64_t kFixedBytes = sizeof(CheckpointHeader) + sizeof(std::uint64_t);

/// @param bytes of something. @return its bytes in the file.
[[nodiscard]] constexpr std::uint64_t filled(std::uint64_t bytes) noexcept {
  return (bytes + 7) / 8 * 8;
}

/// A file that is open. Its calls throw Error{transport} with the file's name and the system's
/// text. Neither copied nor moved.
class CheckpointFile {
 public:
  /// @param path of the file. @param is_new whether to write it anew, or to read what is there,
  /// which may be a folder.
  CheckpointFile(std::filesystem::path path, bool is_new);
  CheckpointFile(const CheckpointFile&) = delete;
  CheckpointFile& operator=(const CheckpointFile&) = delete;
  ~CheckpointFile();
  /// @param bytes are written behind what is there, filled, and hashed.
  void write(std::span<const std::byte> bytes);
  /// Writes the hash, and waits until the disk has everything.
  void finish();
  /// Waits until the disk has everything; of a folder the list of its files.
  void sync();
  /// @param bytes are read as they were written, and hashed. Throws Error{invalid_argument} where
  /// the file ends before.
  void read(std::span<std::byte> bytes);
  /// Reads all, and goes back to what is behind the header. @return that. Throws
  /// Error{invalid_argument} where the file was cut short or changed, or is none of this machine's.
  [[nodiscard]] CheckpointHeader check();
  /// When all has been read for the second time. Throws Error{invalid_argument} where it was
  /// changed since check.
  void check_again() const;

 private:
  [[noreturn]] void fail(const char* what) const;
  [[noreturn]] void reject(const std::string& why) const;
  void check_header(const CheckpointHeader& header, std::uint64_t bytes) const;
  std::filesystem::path path_;
  int file_;
  std::uint64_t hash_ = hash_of({});  // of what was read or written
  std::uint64_t checked_ = 0;         // by check
};

}  // namespace tutti::v0::detail

/// @file
/// The file of a checkpoint: its header, and its bytes.
///
/// | bytes | what | |---|---| | sizeof(CheckpointHeader) | the header | | header.table_bytes | a
/// line for each array: its name, count and type | | ... | the arrays, one behind the other | |
/// header.extra_bytes | bytes of the program | | 8 | the hash of all bytes before |
///
/// Zeros fill each part to a multiple of 8 bytes, so that hashes do not depend on the lengths of
/// reads and writes.
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
  std::uint32_t byte_order = 0x01020304;  // differs on machines of another byte order
  std::uint64_t file_bytes = 0;
  std::uint64_t table_bytes = 0;
  std::uint64_t extra_bytes = 0;
};

/// The bytes of a file except the table, the arrays and the extra bytes.
inline constexpr std::uint64_t kFixedBytes = sizeof(CheckpointHeader) + sizeof(std::uint64_t);

/// @return the bytes in the file of a part of this length.
[[nodiscard]] constexpr std::uint64_t filled(std::uint64_t bytes) noexcept {
  return (bytes + 7) / 8 * 8;
}

/// An open file. Its calls throw Error{transport} with the file's name and the system's text.
class CheckpointFile {
 public:
  /// @param path of the file; to read, it may be a folder. @param is_new whether to write a new
  /// file, or to read.
  CheckpointFile(std::filesystem::path path, bool is_new);
  CheckpointFile(const CheckpointFile&) = delete;
  CheckpointFile& operator=(const CheckpointFile&) = delete;
  ~CheckpointFile();
  /// Appends bytes, filled with zeros, and hashes them.
  void write(std::span<const std::byte> bytes);
  /// Writes the hash, and waits until the disk has everything.
  void finish();
  /// Waits until the disk has everything; for a folder, the list of its files.
  void sync();
  /// Reads bytes that one call of write wrote, and hashes them. Throws Error{invalid_argument} if
  /// the file ends before.
  void read(std::span<std::byte> bytes);
  /// Reads the whole file, and goes back to the end of its header. @return the header. Throws
  /// Error{invalid_argument} if the file is truncated, changed, or of a machine with another byte
  /// order.
  [[nodiscard]] CheckpointHeader check();
  /// Call it after the second reading. Throws Error{invalid_argument} if the file has changed since
  /// check.
  void check_again() const;

 private:
  [[noreturn]] void fail(const char* what) const;
  [[noreturn]] void reject(const std::string& why) const;
  void check_header(const CheckpointHeader& header, std::uint64_t bytes) const;
  std::filesystem::path path_;
  int file_;
  std::uint64_t hash_ = hash_of({});  // of all bytes read or written
  std::uint64_t checked_ = 0;         // the hash that check found
};

}  // namespace tutti::v0::detail

/// @file
/// The file of a checkpoint: what its header says, and how its bytes are written and read.
///
/// | bytes | what |
/// |---|---|
/// | 40 | CheckpointHeader |
/// | header.table_bytes | for each array its name's length, type and count, 8 bytes each; its name
/// | | ... | the arrays, one behind the other | | header.extra_bytes | bytes of the program's own |
/// | 8 | the hash of all bytes before |
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <tutti/gradient_sync.hpp>

namespace tutti::inline v0::detail {

/// How a file begins.
struct CheckpointHeader {
  std::array<char, 8> magic{'t', 'u', 't', 't', 'i', 'c', 'k', 'p'};
  std::uint32_t version = 1;
  std::uint32_t byte_order = 0x01020304;  // another number on machines of another byte order
  std::uint64_t file_bytes = 0;
  std::uint64_t table_bytes = 0;
  std::uint64_t extra_bytes = 0;
};

/// What stands in the table, of each array.
struct ArrayEntry {
  std::string name{};
  Datatype type = Datatype::f32;
  std::uint64_t count = 0;
  /// Equality of all members.
  friend bool operator==(const ArrayEntry&, const ArrayEntry&) = default;
};

/// A 64-bit hash of bytes that come in parts: the parts do not matter. Each step can be reversed,
/// so that a change within any eight bytes is always noticed.
class StreamHash {
 public:
  /// @param bytes that follow.
  void add(std::span<const std::byte> bytes) noexcept;
  /// @return the hash of all bytes so far.
  [[nodiscard]] std::uint64_t value() const noexcept;

 private:
  void add_word(std::uint64_t word) noexcept;
  std::uint64_t hash_ = 0x7475747469636b70;
  std::uint64_t total_ = 0;
  std::array<std::byte, 8> rest_{};  // the last total_ % 8 bytes
};

/// A file that is open. Its calls throw Error{transport} with the file's name and what the system
/// says. Move-only.
class CheckpointFile {
 public:
  /// @param path of the file. @param is_new whether to write it anew, or to read what is there.
  CheckpointFile(std::filesystem::path path, bool is_new);
  CheckpointFile(const CheckpointFile&) = delete;
  CheckpointFile& operator=(const CheckpointFile&) = delete;
  ~CheckpointFile();
  /// @param bytes are written behind what is there, and hashed.
  void write(std::span<const std::byte> bytes);
  /// Writes the hash, and waits until the disk has everything.
  void finish();
  /// @param bytes are filled with what follows, and hashed. Throws Error{invalid_argument} where
  /// the file ends before.
  void read(std::span<std::byte> bytes);
  /// @return the hash of what was read or written since the start or the last rewind.
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_.value(); }
  /// Reads from the start again.
  void rewind();
  /// @return bytes of the file.
  [[nodiscard]] std::uint64_t size() const;

 private:
  [[noreturn]] void fail(const char* what) const;
  std::filesystem::path path_;
  int file_;
  StreamHash hash_{};
};

/// Has the disk store a folder's list of files. @param folder which. Throws Error{transport}.
void sync_folder(const std::filesystem::path& folder);

/// @param arrays of the program. @return the same in the form of a file.
[[nodiscard]] std::vector<ArrayEntry> entries_of(std::span<const Parameter> arrays);
/// @param entries what to write. @return the bytes of the table.
[[nodiscard]] std::vector<std::byte> table_of(std::span<const ArrayEntry> entries);
/// @param table bytes of a table whose hash was right. @return what stands in it. Throws
/// Error{invalid_argument} where it is none.
[[nodiscard]] std::vector<ArrayEntry> entries_of(std::span<const std::byte> table);

}  // namespace tutti::inline v0::detail

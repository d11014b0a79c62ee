// Checkpoints: written by rank 0, given to all ranks.
#include <algorithm>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include <tutti/attempt.hpp>
#include <tutti/training.hpp>

#include "agreement.hpp"
#include "checkpoint_file.hpp"

namespace tutti::inline v0 {
namespace {

using detail::ArrayEntry;
using detail::CheckpointFile;
using detail::CheckpointHeader;

[[noreturn]] void refuse_checkpoint(const std::string& text) {
  throw Error{ErrorCode::invalid_argument, "checkpoint: " + text};
}

std::string words_of_entry(const ArrayEntry& entry) {
  return "'" + entry.name + "' of " + std::to_string(entry.count) + " " +
         std::string{name_of(entry.type)};
}

std::span<std::byte> contents_of(const Parameter& array) {
  return {static_cast<std::byte*>(array.data), array.count * size_of(array.type)};
}

std::uint64_t bytes_of_arrays(std::span<const ArrayEntry> entries) {
  std::uint64_t bytes = 0;
  for (const ArrayEntry& entry : entries) bytes += entry.count * size_of(entry.type);
  return bytes;
}

void check_arrays(std::span<const Parameter> arrays) {
  for (const Parameter& array : arrays) {
    if (size_of(array.type) == 0) refuse_checkpoint("array '" + array.name + "' is opaque");
    if (array.data == nullptr && array.count > 0)
      refuse_checkpoint("array '" + array.name + "' has no data");
  }
}

void write_checkpoint(const std::filesystem::path& path, std::span<const Parameter> arrays,
                      std::span<const std::byte> extra) {
  const std::vector<ArrayEntry> entries = detail::entries_of(arrays);
  const std::vector<std::byte> table = detail::table_of(entries);
  CheckpointHeader header{.table_bytes = table.size(), .extra_bytes = extra.size()};
  header.file_bytes = sizeof header + table.size() + bytes_of_arrays(entries) + extra.size() +
                      sizeof(std::uint64_t);
  CheckpointFile file{path, true};
  file.write(std::as_bytes(std::span{&header, 1}));
  file.write(table);
  for (const Parameter& array : arrays) file.write(contents_of(array));
  file.write(extra);
  file.finish();
}

/// The old file is there until the new one is whole.
void replace_checkpoint(const std::filesystem::path& path, std::span<const Parameter> arrays,
                        std::span<const std::byte> extra) {
  check_arrays(arrays);
  std::filesystem::path partial = path;
  partial += ".partial";
  std::error_code error;
  try {
    write_checkpoint(partial, arrays, extra);
    std::filesystem::rename(partial, path, error);
    if (error)
      throw Error{ErrorCode::transport, "checkpoint: cannot rename '" + partial.string() +
                                            "' to '" + path.string() + "': " + error.message()};
  } catch (...) {
    if (std::filesystem::is_regular_file(partial, error)) std::filesystem::remove(partial, error);
    throw;
  }
  const std::filesystem::path folder = path.parent_path();
  detail::sync_folder(folder.empty() ? "." : folder);
}

/// Reads a checkpoint, on rank 0.
class CheckpointReader {
 public:
  explicit CheckpointReader(const std::filesystem::path& path)
      : name_{"'" + path.string() + "'"}, file_{path, false} {
    const std::uint64_t bytes = file_.size();
    if (bytes < sizeof header_) refuse_checkpoint(name_ + " is cut short");
    file_.read(std::as_writable_bytes(std::span{&header_, 1}));
    check_header(bytes);
    check_hash(bytes);
    go_to_table();
    entries_ = detail::entries_of(std::span<const std::byte>{table_});
    if (header_.file_bytes - kFixed - header_.table_bytes - header_.extra_bytes !=
        bytes_of_arrays(entries_))
      refuse_checkpoint(name_ + " has arrays of other sizes than its header says");
  }

  [[nodiscard]] const CheckpointHeader& header() const noexcept { return header_; }
  [[nodiscard]] std::vector<std::byte>& table() noexcept { return table_; }
  void read(std::span<std::byte> bytes) { file_.read(bytes); }
  /// After the last byte: it is what was checked.
  void finish() {
    const std::uint64_t hash = file_.hash();
    if (hash != hash_) refuse_checkpoint(name_ + " was changed while it was read");
  }

 private:
  static constexpr std::uint64_t kFixed = sizeof(CheckpointHeader) + sizeof(std::uint64_t);

  void check_header(std::uint64_t bytes) const {
    const CheckpointHeader expected;
    if (header_.magic != expected.magic) refuse_checkpoint(name_ + " is no checkpoint of tutti");
    if (header_.byte_order != expected.byte_order)
      refuse_checkpoint(name_ + " is of a machine of another byte order, or was changed");
    if (header_.version != expected.version)
      refuse_checkpoint(name_ + " is of version " + std::to_string(header_.version) +
                        ", expected " + std::to_string(expected.version));
    if (bytes < header_.file_bytes)
      refuse_checkpoint(name_ + " is cut short: it has " + std::to_string(bytes) + " of " +
                        std::to_string(header_.file_bytes) + " bytes");
    const std::uint64_t free = bytes < kFixed ? 0 : bytes - kFixed;
    if (bytes != header_.file_bytes || bytes < kFixed || header_.table_bytes > free ||
        header_.extra_bytes > free - header_.table_bytes)
      refuse_checkpoint(name_ + " was changed: its sizes are not those of its header");
  }
  void check_hash(std::uint64_t bytes) {
    std::vector<std::byte> block(std::size_t{1} << 20);
    for (std::uint64_t left = bytes - kFixed; left > 0;) {
      const std::size_t count = std::min<std::uint64_t>(left, block.size());
      file_.read(std::span{block}.first(count));
      left -= count;
    }
    hash_ = file_.hash();
    std::uint64_t written = 0;
    file_.read(std::as_writable_bytes(std::span{&written, 1}));
    if (written != hash_) refuse_checkpoint(name_ + " was changed: its hash is not that written");
  }
  void go_to_table() {
    file_.rewind();
    file_.read(std::as_writable_bytes(std::span{&header_, 1}));
    table_.resize(header_.table_bytes);
    file_.read(table_);
  }

  std::string name_;
  CheckpointFile file_;
  CheckpointHeader header_{};
  std::vector<std::byte> table_{};
  std::vector<ArrayEntry> entries_{};
  std::uint64_t hash_ = 0;
};

/// Throws where this rank wants other arrays than there are.
void compare_arrays(Rank rank, std::span<const ArrayEntry> saved,
                    std::span<const Parameter> arrays) {
  check_arrays(arrays);
  const std::vector<ArrayEntry> wanted = detail::entries_of(arrays);
  const auto words = [](std::span<const ArrayEntry> entries, std::size_t i) {
    return i < entries.size() ? words_of_entry(entries[i]) : std::string{"no more"};
  };
  for (std::size_t i = 0; i < std::max(saved.size(), wanted.size()); ++i)
    if (i >= saved.size() || i >= wanted.size() || saved[i] != wanted[i])
      refuse_checkpoint("the arrays differ: array " + std::to_string(i) + " of the file is " +
                        words(saved, i) + ", rank " + std::to_string(rank) + " wants " +
                        words(wanted, i));
}

/// Rank 0 reads, all get. What one reading throws is kept: the other ranks wait for bytes anyway.
void spread(Communicator& world, CheckpointReader* reader, std::span<std::byte> bytes,
            Result<void>& outcome, const Options& options) {
  if (reader != nullptr && outcome) outcome = detail::attempt([&] { reader->read(bytes); });
  world.broadcast(bytes, 0, options);
}

}  // namespace

void save_checkpoint(Communicator& world, const std::filesystem::path& path,
                     std::span<const Parameter> arrays, std::span<const std::byte> extra,
                     const Options& options) {
  Result<void> outcome;
  if (world.rank() == 0)
    outcome = detail::attempt([&] { replace_checkpoint(path, arrays, extra); });
  detail::agree(world, outcome, options.timeout);
}

std::vector<std::byte> load_checkpoint(Communicator& world, const std::filesystem::path& path,
                                       std::span<const Parameter> arrays, const Options& options) {
  const Options own{.timeout = options.timeout};
  std::optional<CheckpointReader> file;
  Result<void> outcome;
  if (world.rank() == 0) outcome = detail::attempt([&] { file.emplace(path); });
  detail::agree(world, outcome, own.timeout);
  const CheckpointHeader header =
      world.broadcast(file ? file->header() : CheckpointHeader{}, 0, own);
  std::vector<std::byte> table(header.table_bytes), extra;
  if (file) table = file->table();
  world.broadcast(table, 0, own);
  outcome = detail::attempt([&] {
    extra.resize(header.extra_bytes);
    compare_arrays(world.rank(), detail::entries_of(std::span<const std::byte>{table}), arrays);
  });
  detail::agree(world, outcome, own.timeout);
  CheckpointReader* reader = file ? &*file : nullptr;
  for (const Parameter& array : arrays) spread(world, reader, contents_of(array), outcome, own);
  spread(world, reader, extra, outcome, own);
  if (reader != nullptr && outcome) outcome = detail::attempt([&] { reader->finish(); });
  detail::agree(world, outcome, own.timeout);
  return extra;
}

}  // namespace tutti::inline v0

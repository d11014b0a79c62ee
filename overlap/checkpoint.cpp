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

using detail::bytes_of;
using detail::CheckpointFile;
using detail::CheckpointHeader;
using detail::filled;

/// What a file has beside the table, the arrays and the extra bytes.
constexpr std::uint64_t kFixed = sizeof(CheckpointHeader) + sizeof(std::uint64_t);

[[noreturn]] void refuse_checkpoint(const std::string& text) {
  throw Error{ErrorCode::invalid_argument, "checkpoint: " + text};
}

/// A line for each array: what a file and a program compare.
std::string table_of(std::span<const Parameter> arrays) {
  std::string table;
  for (const Parameter& array : arrays)
    table += "'" + array.name + "' of " + std::to_string(array.count) + " " +
             std::string{name_of(array.type)} + "\n";
  return table;
}

void check_arrays(std::span<const Parameter> arrays) {
  for (const Parameter& array : arrays) {
    if (size_of(array.type) == 0) refuse_checkpoint("array '" + array.name + "' is opaque");
    if (array.data == nullptr && array.count > 0)
      refuse_checkpoint("array '" + array.name + "' has no data");
  }
}

CheckpointHeader header_of(std::span<const Parameter> arrays, const std::string& table,
                           std::uint64_t extra_bytes) {
  CheckpointHeader header{.table_bytes = table.size(), .extra_bytes = extra_bytes};
  header.file_bytes = kFixed + filled(table.size()) + filled(extra_bytes);
  for (const Parameter& array : arrays) header.file_bytes += filled(bytes_of(array).size());
  return header;
}

void write_checkpoint(const std::filesystem::path& path, std::span<const Parameter> arrays,
                      std::span<const std::byte> extra) {
  const std::string table = table_of(arrays);
  const CheckpointHeader header = header_of(arrays, table, extra.size());
  CheckpointFile file{path, true};
  file.write(std::as_bytes(std::span{&header, 1}));
  file.write(std::as_bytes(std::span{table}));
  for (const Parameter& array : arrays) file.write(bytes_of(array));
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
    file_.rewind();
    file_.read(std::as_writable_bytes(std::span{&header_, 1}));
  }

  [[nodiscard]] const CheckpointHeader& header() const noexcept { return header_; }
  void read(std::span<std::byte> bytes) { file_.read(bytes); }
  /// After the last byte: it is what was checked.
  void finish() {
    if (file_.hash() != hash_) refuse_checkpoint(name_ + " was changed while it was read");
  }

 private:
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

  std::string name_;
  CheckpointFile file_;
  CheckpointHeader header_{};
  std::uint64_t hash_ = 0;
};

/// Throws where this rank wants other arrays than there are.
void compare_arrays(Rank rank, const CheckpointHeader& header, const std::string& saved,
                    std::span<const Parameter> arrays) {
  check_arrays(arrays);
  if (const auto other = detail::first_other_line(saved, table_of(arrays), "no more"))
    refuse_checkpoint("the arrays differ: array " + std::to_string(other->number) +
                      " of the file is " + other->left + ", rank " + std::to_string(rank) +
                      " wants " + other->right);
  if (header_of(arrays, saved, header.extra_bytes).file_bytes != header.file_bytes)
    refuse_checkpoint("the file has arrays of other sizes than its header says");
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
  CheckpointReader* reader = file ? &*file : nullptr;
  std::string table(header.table_bytes, ' ');
  spread(world, reader, std::as_writable_bytes(std::span{table}), outcome, own);
  std::vector<std::byte> extra;
  if (outcome)
    outcome = detail::attempt([&] {
      extra.resize(header.extra_bytes);
      compare_arrays(world.rank(), header, table, arrays);
    });
  detail::agree(world, outcome, own.timeout);
  for (const Parameter& array : arrays) spread(world, reader, bytes_of(array), outcome, own);
  spread(world, reader, extra, outcome, own);
  if (reader != nullptr && outcome) outcome = detail::attempt([&] { reader->finish(); });
  detail::agree(world, outcome, own.timeout);
  return extra;
}

}  // namespace tutti::inline v0

// Checkpoints: written by rank 0, given to all ranks.
#include <memory>
#include <system_error>

#include <tutti/attempt.hpp>
#include <tutti/call_name.hpp>
#include <tutti/training.hpp>

#include "agreement.hpp"
#include "arrays.hpp"
#include "checkpoint_file.hpp"

namespace tutti::inline v0 {
namespace {

using detail::bytes_of;
using detail::CheckpointFile;
using detail::CheckpointHeader;
using detail::filled;

[[noreturn]] void refuse_checkpoint(const std::string& text) {
  throw Error{ErrorCode::invalid_argument, "checkpoint: " + text};
}

/// A line for each array: what a file and a program compare.
std::string table_of(std::span<const Parameter> arrays) {
  std::string table;
  for (const Parameter& array : arrays)
    table += "'" + array.name + "' of " + std::to_string(array.count) + " " +
             std::string{name_of(array.type)} + (array.tied ? ", tied to an array before" : "") +
             "\n";
  return table;
}

CheckpointHeader header_of(std::span<const Parameter> arrays, const std::string& table,
                           std::uint64_t extra_bytes) {
  CheckpointHeader header{.table_bytes = table.size(), .extra_bytes = extra_bytes};
  header.file_bytes = detail::kFixedBytes + filled(table.size()) + filled(extra_bytes);
  for (const Parameter& array : arrays)
    if (!array.tied) header.file_bytes += filled(bytes_of(array).size());
  return header;
}

void write_checkpoint(const std::filesystem::path& path, std::span<const Parameter> arrays,
                      std::span<const std::byte> extra) {
  const std::string table = table_of(arrays);
  const CheckpointHeader header = header_of(arrays, table, extra.size());
  CheckpointFile file{path, true};
  file.write(std::as_bytes(std::span{&header, 1}));
  file.write(std::as_bytes(std::span{table}));
  for (const Parameter& array : arrays)
    if (!array.tied) file.write(bytes_of(array));
  file.write(extra);
  file.finish();
}

/// The old file is there until the new one is whole.
void replace_checkpoint(const std::filesystem::path& path, std::span<const Parameter> arrays,
                        std::span<const std::byte> extra) {
  detail::check_sizes("checkpoint", arrays, true);
  static_cast<void>(detail::check_apart("checkpoint", arrays));
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
  CheckpointFile{folder.empty() ? "." : folder, false}.sync();
}

/// Throws where this rank wants other arrays than there are.
void compare_arrays(Rank rank, const CheckpointHeader& header, const std::string& saved,
                    std::span<const Parameter> arrays) {
  detail::check_sizes("checkpoint", arrays, true);
  if (const auto other = detail::first_other_line(saved, table_of(arrays), "no more"))
    refuse_checkpoint("the arrays differ: array " + std::to_string(other->number) +
                      " of the file is " + other->left + ", rank " + std::to_string(rank) +
                      " wants " + other->right);
  if (header_of(arrays, saved, header.extra_bytes).file_bytes != header.file_bytes)
    refuse_checkpoint("the file has arrays of other sizes than its header says");
  static_cast<void>(detail::check_apart("checkpoint", arrays));
}

/// Rank 0 reads, all get. What one reading throws is kept: the other ranks wait for bytes anyway.
void spread(Communicator& world, CheckpointFile* file, std::span<std::byte> bytes,
            Result<void>& outcome, const Options& options) {
  if (file != nullptr && outcome) outcome = detail::attempt([&] { file->read(bytes); });
  world.broadcast(bytes, 0, options);
}

std::vector<std::byte> load_arrays(Communicator& world, const std::filesystem::path& path,
                                   std::span<const Parameter> arrays, const Options& own) {
  std::unique_ptr<CheckpointFile> file;  // on rank 0
  CheckpointHeader header;
  Result<void> outcome = detail::attempt([&] {
    if (world.rank() != 0) return;
    file = std::make_unique<CheckpointFile>(path, false);
    header = file->check();
  });
  detail::agree(world, outcome, own.timeout);
  header = world.broadcast(header, 0, own);
  std::string table(header.table_bytes, ' ');
  spread(world, file.get(), std::as_writable_bytes(std::span{table}), outcome, own);
  std::vector<std::byte> extra;
  if (outcome)
    outcome = detail::attempt([&] {
      extra.resize(header.extra_bytes);
      compare_arrays(world.rank(), header, table, arrays);
    });
  detail::agree(world, outcome, own.timeout);
  for (const Parameter& array : arrays)
    if (!array.tied) spread(world, file.get(), bytes_of(array), outcome, own);
  spread(world, file.get(), extra, outcome, own);
  if (file && outcome) outcome = detail::attempt([&] { file->check_again(); });
  detail::agree(world, outcome, own.timeout);
  return extra;
}

}  // namespace

void save_checkpoint(Communicator& world, const std::filesystem::path& path,
                     std::span<const Parameter> arrays, std::span<const std::byte> extra,
                     const Options& options) {
  const CallName name{"save_checkpoint"};
  run_as_one(world, [&] {
    Result<void> outcome;
    if (world.rank() == 0)
      outcome = detail::attempt([&] { replace_checkpoint(path, arrays, extra); });
    detail::agree(world, outcome, options.timeout);
  });
}

std::vector<std::byte> load_checkpoint(Communicator& world, const std::filesystem::path& path,
                                       std::span<const Parameter> arrays, const Options& options) {
  const CallName name{"load_checkpoint"};
  return run_as_one(world,
                    [&] { return load_arrays(world, path, arrays, {.timeout = options.timeout}); });
}

}  // namespace tutti::inline v0

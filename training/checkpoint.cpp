// Checkpoints: rank 0 writes them, and all ranks load them.
#include <memory>
#include <system_error>

#include <tutti/attempt.hpp>
#include <tutti/call_name.hpp>
#include <tutti/training/checkpoint.hpp>

#include "base/all_or_none.hpp"
#include "base/different_lines.hpp"
#include "checkpoint_table.hpp"
#include "overlap/arrays.hpp"

namespace tutti::v0 {
namespace detail {

void reject_checkpoint(const std::string& text) {
  throw Error{ErrorCode::invalid_argument, "checkpoint: " + text};
}

std::string table_of(std::span<const Parameter> arrays) {
  std::string table;
  for (const Parameter& array : arrays)
    table += "'" + array.name + "' of " + std::to_string(array.count) + " " +
             std::string{name_of(array.type)} + (array.tied ? ", tied to an array before" : "") +
             "\n";
  return table;
}

void check_saved(std::span<const Parameter> arrays) {
  check_sizes("checkpoint", arrays, true);
  static_cast<void>(check_apart("checkpoint", arrays));
}

CheckpointHeader header_of(std::span<const Parameter> arrays, const std::string& table,
                           std::uint64_t extra_bytes) {
  CheckpointHeader header{.table_bytes = table.size(), .extra_bytes = extra_bytes};
  header.file_bytes = kFixedBytes + filled(table.size()) + filled(extra_bytes);
  for (const Parameter& array : arrays)
    if (!array.tied) header.file_bytes += filled(bytes_of(array).size());
  return header;
}

NewCheckpoint::NewCheckpoint(std::filesystem::path path)
    : path_{std::move(path)}, partial_{path_}, file_{partial_ += ".partial", true} {}

NewCheckpoint::~NewCheckpoint() {
  std::error_code error;
  if (!is_whole_ && std::filesystem::is_regular_file(partial_, error))
    std::filesystem::remove(partial_, error);
}

void NewCheckpoint::begin(std::span<const Parameter> arrays, std::uint64_t extra_bytes) {
  const std::string table = table_of(arrays);
  const CheckpointHeader header = header_of(arrays, table, extra_bytes);
  file_.write(std::as_bytes(std::span{&header, 1}));
  file_.write(std::as_bytes(std::span{table}));
}

void NewCheckpoint::finish(std::span<const std::byte> extra) {
  file_.write(extra);
  file_.finish();
  std::error_code error;
  std::filesystem::rename(partial_, path_, error);
  if (error)
    throw Error{ErrorCode::transport, "checkpoint: cannot rename '" + partial_.string() + "' to '" +
                                          path_.string() + "': " + error.message()};
  is_whole_ = true;
  const std::filesystem::path folder = path_.parent_path();
  CheckpointFile{folder.empty() ? "." : folder, false}.sync();
}

void compare_saved(Rank rank, const CheckpointHeader& header, const std::string& saved,
                   std::span<const Parameter> arrays) {
  if (const auto other = first_different_lines(saved, table_of(arrays), "no more"))
    reject_checkpoint("the arrays differ: array " + std::to_string(other->number) +
                      " of the file is " + other->left + ", rank " + std::to_string(rank) +
                      " wants " + other->right);
  if (header_of(arrays, saved, header.extra_bytes).file_bytes != header.file_bytes)
    reject_checkpoint("the file has arrays of other sizes than its header says");
}

void spread(Communicator& world, CheckpointFile* file, std::span<std::byte> bytes,
            Result<void>& outcome, const Options& options) {
  if (file != nullptr && outcome) outcome = attempt([&] { file->read(bytes); });
  world.broadcast(bytes, 0, options);
}

}  // namespace detail

namespace {

std::vector<std::byte> load_arrays(Communicator& world, const std::filesystem::path& path,
                                   std::span<const Parameter> arrays, const Options& own) {
  const detail::Exchange exchange = detail::exchange_over(world, own.timeout);
  std::unique_ptr<detail::CheckpointFile> file;  // on rank 0
  detail::CheckpointHeader header;
  detail::all_or_none(exchange, [&] {
    if (world.rank() != 0) return;
    file = std::make_unique<detail::CheckpointFile>(path, false);
    header = file->check();
  });
  Result<void> outcome;
  header = world.broadcast(header, 0, own);
  std::string table(header.table_bytes, ' ');
  const auto spread = [&](std::span<std::byte> bytes) {
    detail::spread(world, file.get(), bytes, outcome, own);
  };
  spread(std::as_writable_bytes(std::span{table}));
  std::vector<std::byte> extra;
  detail::all_or_none(exchange, [&] {
    outcome.value();
    extra.resize(header.extra_bytes);
    detail::check_sizes("checkpoint", arrays, true);
    detail::compare_saved(world.rank(), header, table, arrays);
    detail::check_saved(arrays);
  });
  for (const Parameter& array : arrays)
    if (!array.tied) spread(detail::bytes_of(array));
  spread(extra);
  detail::all_or_none(exchange, [&] {
    outcome.value();
    if (file) file->check_again();
  });
  return extra;
}

}  // namespace

void save_checkpoint(Communicator& world, const std::filesystem::path& path,
                     std::span<const Parameter> arrays, std::span<const std::byte> extra,
                     const Options& options) {
  const CallName name{"save_checkpoint"};
  run_as_one(world, [&] {
    detail::all_or_none(detail::exchange_over(world, options.timeout), [&] {
      if (world.rank() != 0) return;
      detail::check_saved(arrays);
      detail::NewCheckpoint checkpoint{path};
      checkpoint.begin(arrays, extra.size());
      for (const Parameter& array : arrays)
        if (!array.tied) checkpoint.file().write(detail::bytes_of(array));
      checkpoint.finish(extra);
    });
  });
}

std::vector<std::byte> load_checkpoint(Communicator& world, const std::filesystem::path& path,
                                       std::span<const Parameter> arrays, const Options& options) {
  const CallName name{"load_checkpoint"};
  return run_as_one(world,
                    [&] { return load_arrays(world, path, arrays, {.timeout = options.timeout}); });
}

}  // namespace tutti::v0

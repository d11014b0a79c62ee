// Checkpoints of arrays divided among ranks, and of the state of a GradientSync.
#include <algorithm>
#include <memory>
#include <optional>

#include <tutti/attempt.hpp>
#include <tutti/spi/copy.hpp>
#include <tutti/training/checkpoint.hpp>

#include "base/all_or_none.hpp"
#include "checkpoint_table.hpp"
#include "divided_arrays.hpp"
#include "overlap/kept_state.hpp"
#include "saved_sync.hpp"

namespace tutti::v0 {
namespace {

using detail::ArrayMover;
using detail::Block;
using detail::CheckpointFile;
using detail::OwnBlocks;
using detail::ParameterElements;
using detail::SavedSync;

/// @return this rank's parts of all parameters, without data.
OwnBlocks own_blocks(const GradientSync& sync, std::size_t parameters) {
  OwnBlocks own{std::vector<Block>(parameters), std::vector<std::byte*>(parameters)};
  for (const auto& bucket : sync.shards())
    for (const ParameterShard& part : bucket) own.blocks[part.parameter] = {part.first, part.count};
  return own;
}

/// @param shards has an element for each element of this rank's parts. @return the parts, with
/// their places in it.
OwnBlocks own_blocks_in(const GradientSync& sync, std::size_t parameters, const Parameter& shards) {
  OwnBlocks own = own_blocks(sync, parameters);
  for (const auto& bucket : sync.shards())
    for (const ParameterShard& part : bucket)
      own.data[part.parameter] =
          static_cast<std::byte*>(shards.data) + part.offset * size_of(shards.type);
  return own;
}

/// @return the elements that are kept, by parameter.
OwnBlocks own_blocks(std::span<const ParameterElements> kept, std::size_t parameters) {
  OwnBlocks own{std::vector<Block>(parameters), std::vector<std::byte*>(parameters)};
  for (const ParameterElements& part : kept) {
    own.blocks[part.parameter] = {part.first, part.elements.size()};
    own.data[part.parameter] = std::as_writable_bytes(part.elements).data();
  }
  return own;
}

void check_ranks(const Communicator& world, const Communicator& own) {
  if (world.size() != own.size() || world.rank() != own.rank())
    detail::reject_checkpoint("rank " + std::to_string(world.rank()) + " of " +
                              std::to_string(world.size()) + " is rank " +
                              std::to_string(own.rank()) + " of " + std::to_string(own.size()) +
                              " in the GradientSync; pass the communicator that it was made with");
}

void check_sync(const Communicator& world, const detail::SyncAccess& access) {
  check_ranks(world, access.world());
  if (access.has_groups())
    detail::reject_checkpoint(
        "with GradientOptions::groups ranks have other parameters of the same name; save those of "
        "each group by themselves");
}

void check_shards(const GradientSync& sync, std::span<const Parameter> shards) {
  std::size_t owned = 0;
  for (const auto& bucket : sync.shards())
    for (const ParameterShard& part : bucket) owned += part.count;
  detail::check_saved(shards);
  for (const Parameter& shard : shards)
    if (shard.count != owned)
      detail::reject_checkpoint("shard '" + shard.name + "' has " + std::to_string(shard.count) +
                                " elements, but the parts of this rank have " +
                                std::to_string(owned));
}

/// Rejects arrays and shards that overlap.
void check_together(std::span<const Parameter> arrays, std::span<const Parameter> shards) {
  std::vector<Parameter> all{arrays.begin(), arrays.end()};
  all.insert(all.end(), shards.begin(), shards.end());
  detail::check_saved(all);
}

void check_whole(std::span<const Parameter> whole, std::span<const Parameter> parameters,
                 const Parameter& shards) {
  detail::check_saved(whole);
  if (whole.size() != parameters.size())
    detail::reject_checkpoint("there are " + std::to_string(whole.size()) + " arrays for " +
                              std::to_string(parameters.size()) + " parameters");
  for (std::size_t p = 0; p < whole.size(); ++p)
    if (whole[p].count != parameters[p].count || whole[p].type != shards.type)
      detail::reject_checkpoint(
          "array '" + whole[p].name + "' has " + std::to_string(whole[p].count) + " " +
          std::string{name_of(whole[p].type)} + ", but parameter '" + parameters[p].name +
          "' has " + std::to_string(parameters[p].count) + " elements, and shard '" + shards.name +
          "' is of " + std::string{name_of(shards.type)});
}

/// The state that saving and loading share.
struct CheckpointTransfer {
  Communicator& world;
  Options options;
  std::vector<Parameter> parameters;  // tied ones have no elements
  Result<void> outcome{};
  CheckpointFile* file = nullptr;  // on rank 0
  std::optional<ArrayMover> mover{};
  std::vector<float> whole{};  // memory for one array of any parameter

  /// Throws on all ranks if one has failed so far, or fails in this part.
  template <class Part>
  void all_or_none(Part part) {
    detail::all_or_none(detail::exchange_over(world, options.timeout), [&] {
      outcome.value();
      part();
    });
  }
  [[nodiscard]] bool is_first() const { return world.rank() == 0; }
  [[nodiscard]] auto blocks_of(const OwnBlocks& own) {
    return detail::gather_blocks(world, own.blocks, options);
  }

  /// Calls `move` for each parameter, with its array and this rank's part.
  template <class Move>
  void for_each(const OwnBlocks& own, std::size_t bytes, Move move) {
    const auto blocks = blocks_of(own);
    for (std::size_t p = 0; p < parameters.size(); ++p)
      move(p, detail::DividedArray{parameters[p].count, bytes, blocks[p]}, own.data[p]);
  }
};

/// An array with one rank's part only, since each rank has its own version of it.
detail::DividedArray of_rank(const detail::DividedArray& all, std::size_t rank) {
  detail::DividedArray one = all;
  for (std::size_t i = 0; i < one.blocks.size(); ++i)
    if (i != rank) one.blocks[i] = {};
  return one;
}

void save_kept(CheckpointTransfer& transfer, const SavedSync& saved,
               const detail::KeptState& kept) {
  const std::size_t count = transfer.parameters.size();
  const OwnBlocks gradients = own_blocks(kept.gradients, count);
  const OwnBlocks sums = own_blocks(kept.sums, count);
  const auto of_gradients = transfer.blocks_of(gradients);
  const auto of_sums = transfer.blocks_of(sums);
  for (std::size_t p = 0; p < count; ++p) {
    const std::size_t elements = transfer.parameters[p].count;
    const detail::DividedArray all{elements, sizeof(float), of_gradients[p]};
    for (std::size_t rank = 0; saved.has_gradients && rank < saved.ranks; ++rank)
      transfer.mover->save(transfer.file, of_rank(all, rank), gradients.data[p], transfer.outcome);
    if (saved.has_sums)
      transfer.mover->save(transfer.file, {elements, sizeof(float), of_sums[p]}, sums.data[p],
                           transfer.outcome);
    if (saved.factors[p] == 0 || transfer.file == nullptr || !transfer.outcome) continue;
    const auto own = std::ranges::find(kept.factors, p, &ParameterElements::parameter);
    transfer.outcome = detail::attempt([&] { transfer.file->write(std::as_bytes(own->elements)); });
  }
}

/// Divides the elements of one parameter that a job of another number of ranks has left out: each
/// rank gets an equal share. @param is_kept whether this program's compression keeps such elements.
void share_out(CheckpointTransfer& transfer, const SavedSync& saved, std::size_t parameter,
               double share, bool is_kept, const OwnBlocks& own) {
  const std::size_t count = transfer.parameters[parameter].count;
  std::vector<float> part(transfer.is_first() ? count : 0);
  std::vector<double> sum(part.size());
  for (std::uint64_t rank = 0; rank < saved.ranks; ++rank) {
    if (transfer.file == nullptr || !transfer.outcome) continue;
    transfer.outcome =
        detail::attempt([&] { transfer.file->read(std::as_writable_bytes(std::span{part})); });
    for (std::size_t i = 0; i < part.size(); ++i) sum[i] += static_cast<double>(part[i]);
  }
  if (!is_kept) return;
  const std::span<float> whole = std::span{transfer.whole}.first(count);
  for (std::size_t i = 0; i < sum.size(); ++i) whole[i] = static_cast<float>(sum[i] * share);
  transfer.world.broadcast(whole, 0, transfer.options);
  const Block& block = own.blocks[parameter];
  if (block.count > 0)
    copy_bytes(own.data[parameter], whole.data() + block.first, block.count * sizeof(float));
}

void load_kept(CheckpointTransfer& transfer, const SavedSync& saved,
               const detail::KeptState& kept) {
  const std::size_t count = transfer.parameters.size();
  const bool is_known = saved.compression == kept.compression;
  const bool is_kept = is_known && kept.has_gradients;
  const OwnBlocks none = own_blocks(std::span<const ParameterElements>{}, count);
  const OwnBlocks gradients = is_kept ? own_blocks(kept.gradients, count) : none;
  const OwnBlocks sums = is_known ? own_blocks(kept.sums, count) : none;
  const auto of_gradients = transfer.blocks_of(gradients);
  const auto of_sums = transfer.blocks_of(sums);
  const auto ranks = static_cast<std::uint64_t>(transfer.world.size());
  const double share = 1 / static_cast<double>(kept.is_average ? saved.ranks : ranks);
  std::vector<float> factors;
  for (std::size_t p = 0; p < count; ++p) {
    const std::size_t elements = transfer.parameters[p].count;
    const detail::DividedArray all{elements, sizeof(float), of_gradients[p]};
    if (saved.has_gradients && saved.ranks != ranks)
      share_out(transfer, saved, p, share, is_kept, gradients);
    for (std::size_t rank = 0; saved.has_gradients && saved.ranks == ranks && rank < ranks; ++rank)
      transfer.mover->load(transfer.file, of_rank(all, rank), gradients.data[p], transfer.outcome);
    if (saved.has_sums)
      transfer.mover->load(transfer.file, {elements, sizeof(float), of_sums[p]}, sums.data[p],
                           transfer.outcome);
    if (saved.factors[p] == 0) continue;
    factors.resize(saved.factors[p]);
    detail::spread(transfer.world, transfer.file, std::as_writable_bytes(std::span{factors}),
                   transfer.outcome, transfer.options);
    const auto own = std::ranges::find(kept.factors, p, &ParameterElements::parameter);
    if (is_known && own != kept.factors.end() && own->elements.size() == factors.size())
      copy_bytes(own->elements.data(), factors.data(), factors.size() * sizeof factors[0]);
  }
}

}  // namespace

void save_checkpoint(Communicator& world, const std::filesystem::path& path,
                     std::span<const Parameter> arrays, GradientSync& sync,
                     std::span<const Parameter> shards, std::span<const std::byte> extra,
                     const Options& options) {
  run_as_one(world, [&] {
    const detail::SyncAccess access{sync};
    CheckpointTransfer transfer{world, {.timeout = options.timeout}, access.parameters()};
    detail::KeptState kept;
    SavedSync saved;
    std::unique_ptr<detail::NewCheckpoint> checkpoint;  // on rank 0
    transfer.all_or_none([&] {
      access.check_between_steps("save_checkpoint");
      check_sync(world, access);
      check_shards(sync, shards);
      kept = access.kept();
      saved = SavedSync::of(world.size(), kept, transfer.parameters.size());
      transfer.mover.emplace(world, transfer.options);
      if (!transfer.is_first()) return;
      check_together(arrays, shards);
      checkpoint = std::make_unique<detail::NewCheckpoint>(path);
      transfer.file = &checkpoint->file();
    });
    if (transfer.is_first())
      transfer.outcome = detail::attempt([&] {
        const std::vector<std::uint64_t> words = saved.words();
        checkpoint->begin(saved.arrays(words.size(), arrays, transfer.parameters, shards),
                          extra.size());
        transfer.file->write(std::as_bytes(std::span{words}));
        for (const Parameter& array : arrays)
          if (!array.tied) transfer.file->write(detail::bytes_of(array));
      });
    for (const Parameter& shard : shards)
      transfer.for_each(own_blocks_in(sync, transfer.parameters.size(), shard), size_of(shard.type),
                        [&](std::size_t, const detail::DividedArray& array, std::byte* own) {
                          transfer.mover->save(transfer.file, array, own, transfer.outcome);
                        });
    save_kept(transfer, saved, kept);
    if (checkpoint && transfer.outcome)
      transfer.outcome = detail::attempt([&] { checkpoint->finish(extra); });
    checkpoint.reset();  // afterwards no rank finds an incomplete file
    transfer.all_or_none([] {});
  });
}

std::vector<std::byte> load_checkpoint(Communicator& world, const std::filesystem::path& path,
                                       std::span<const Parameter> arrays, GradientSync& sync,
                                       std::span<const Parameter> shards, const Options& options) {
  return run_as_one(world, [&] {
    const detail::SyncAccess access{sync};
    CheckpointTransfer transfer{world, {.timeout = options.timeout}, access.parameters()};
    std::unique_ptr<CheckpointFile> file;  // on rank 0
    detail::CheckpointHeader header;
    transfer.all_or_none([&] {
      access.check_between_steps("load_checkpoint");
      check_sync(world, access);
      check_shards(sync, shards);
      transfer.mover.emplace(world, transfer.options);
      if (!transfer.is_first()) return;
      file = std::make_unique<CheckpointFile>(path, false);
      header = file->check();
      transfer.file = file.get();
    });
    header = world.broadcast(header, 0, transfer.options);
    std::string table(header.table_bytes, ' ');
    const auto spread = [&](auto&& elements) {
      detail::spread(world, transfer.file, std::as_writable_bytes(std::span{elements}),
                     transfer.outcome, transfer.options);
    };
    spread(table);
    std::vector<std::uint64_t> words;
    transfer.all_or_none([&] { words.resize(detail::words_of_sync(table, header.file_bytes)); });
    spread(words);
    SavedSync saved;
    std::vector<std::byte> extra;
    transfer.all_or_none([&] {
      saved = SavedSync::from(words, transfer.parameters.size(), table.size());
      check_together(arrays, shards);
      detail::compare_saved(world.rank(), header, table,
                            saved.arrays(words.size(), arrays, transfer.parameters, shards));
      extra.resize(header.extra_bytes);
      std::size_t most = 0;
      for (const Parameter& parameter : transfer.parameters) most = std::max(most, parameter.count);
      const bool is_shared = saved.has_gradients && saved.ranks != std::uint64_t(world.size());
      transfer.whole.resize(is_shared ? most : 0);
    });
    access.restore(saved.step, saved.order);
    for (const Parameter& array : arrays)
      if (!array.tied) spread(detail::bytes_of(array));
    for (const Parameter& shard : shards)
      transfer.for_each(own_blocks_in(sync, transfer.parameters.size(), shard), size_of(shard.type),
                        [&](std::size_t, const detail::DividedArray& array, std::byte* own) {
                          transfer.mover->load(transfer.file, array, own, transfer.outcome);
                        });
    load_kept(transfer, saved, access.kept());
    spread(extra);
    transfer.all_or_none([&] {
      if (file) file->check_again();
    });
    return extra;
  });
}

void gather_shards(Communicator& world, const GradientSync& sync, const Parameter& shards,
                   std::span<const Parameter> whole, const Options& options) {
  run_as_one(world, [&] {
    const detail::SyncAccess access{sync};
    CheckpointTransfer transfer{world, {.timeout = options.timeout}, access.parameters()};
    transfer.all_or_none([&] {
      check_sync(world, access);
      check_shards(sync, {&shards, 1});
      check_whole(whole, transfer.parameters, shards);
    });
    const std::size_t bytes = size_of(shards.type);
    transfer.for_each(own_blocks_in(sync, whole.size(), shards), bytes,
                      [&](std::size_t p, const detail::DividedArray& array, std::byte* own) {
                        std::vector<std::size_t> counts;
                        for (const Block& block : array.blocks)
                          counts.push_back(block.count * bytes);
                        const std::size_t rank = static_cast<std::size_t>(world.rank());
                        const std::span<const std::byte> part{own, counts[rank]};
                        world.all_gatherv(part, detail::bytes_of(whole[p]), counts,
                                          transfer.options);
                      });
  });
}

void extract_shards(const GradientSync& sync, std::span<const Parameter> whole,
                    const Parameter& shards) {
  const detail::SyncAccess access{sync};
  check_shards(sync, {&shards, 1});
  check_whole(whole, access.parameters(), shards);
  const OwnBlocks own = own_blocks_in(sync, whole.size(), shards);
  const std::size_t bytes = size_of(shards.type);
  for (std::size_t p = 0; p < whole.size(); ++p)
    if (own.blocks[p].count > 0)
      copy_bytes(own.data[p], detail::bytes_of(whole[p]).data() + own.blocks[p].first * bytes,
                 own.blocks[p].count * bytes);
}

}  // namespace tutti::v0

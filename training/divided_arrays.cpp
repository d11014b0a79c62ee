#include "divided_arrays.hpp"

#include <algorithm>

#include <tutti/attempt.hpp>
#include <tutti/spi/copy.hpp>

namespace tutti::v0::detail {
namespace {

/// Large enough that messages and writes cost only their bytes, and small compared to any model.
constexpr std::size_t kChunkBytes = std::size_t{4} << 20;

}  // namespace

struct ArrayMover::Chunk {
  std::size_t first = 0;              // element of the array
  std::size_t count = 0;              // elements
  std::vector<Block> blocks{};        // by rank: its elements of the chunk
  std::vector<std::size_t> counts{};  // by rank: bytes of its elements
  bool has_any = false;
};

std::vector<std::vector<Block>> gather_blocks(Communicator& world, std::span<const Block> own,
                                              const Options& options) {
  std::vector<std::uint64_t> words;
  for (const Block& block : own) words.insert(words.end(), {block.first, block.count});
  const auto ranks = static_cast<std::size_t>(world.size());
  std::vector<std::uint64_t> all(words.size() * ranks);
  world.all_gather(words, all, options);
  std::vector<std::vector<Block>> blocks(own.size(), std::vector<Block>(ranks));
  for (std::size_t rank = 0; rank < ranks; ++rank)
    for (std::size_t i = 0; i < own.size(); ++i) {
      const std::size_t at = rank * words.size() + 2 * i;
      blocks[i][rank] = {all[at], all[at + 1]};
    }
  return blocks;
}

ArrayMover::ArrayMover(Communicator& world, const Options& options)
    : world_{world}, options_{.timeout = options.timeout}, whole_(kChunkBytes),
      packed_(kChunkBytes) {}

ArrayMover::Chunk ArrayMover::chunk_of(const DividedArray& array, std::size_t first) {
  // Chunks are whole words, so that the file has no padding between them.
  const std::size_t most = kChunkBytes / array.bytes / 8 * 8;
  Chunk chunk{.first = first, .count = std::min(most, array.count - first)};
  for (const Block& block : array.blocks) {
    const std::size_t from = std::max(first, block.first);
    const std::size_t to = std::min(first + chunk.count, block.first + block.count);
    const std::size_t count = from < to ? to - from : 0;
    chunk.blocks.push_back({from, count});
    chunk.counts.push_back(count * array.bytes);
    chunk.has_any = chunk.has_any || count > 0;
  }
  return chunk;
}

void ArrayMover::save(CheckpointFile* file, const DividedArray& array, const std::byte* own,
                      Result<void>& outcome) {
  const auto rank = static_cast<std::size_t>(world_.rank());
  for (std::size_t first = 0; first < array.count;) {
    const Chunk chunk = chunk_of(array, first);
    const std::size_t begin = (chunk.blocks[rank].first - array.blocks[rank].first) * array.bytes;
    std::span<const std::byte> part;
    if (chunk.counts[rank] > 0) part = {own + begin, chunk.counts[rank]};
    std::size_t packed = 0;
    for (const std::size_t bytes : chunk.counts) packed += bytes;
    if (chunk.has_any)
      world_.gatherv(part, std::span{packed_}.first(rank == 0 ? packed : 0), chunk.counts, 0,
                     options_);
    first += chunk.count;
    if (file == nullptr || !outcome) continue;
    const std::span whole = std::span{whole_}.first(chunk.count * array.bytes);
    std::ranges::fill(whole, std::byte{0});
    const std::byte* from = packed_.data();
    for (std::size_t i = 0; i < chunk.blocks.size(); ++i) {
      if (chunk.counts[i] == 0) continue;
      copy_bytes(whole.data() + (chunk.blocks[i].first - chunk.first) * array.bytes, from,
                 chunk.counts[i]);
      from += chunk.counts[i];
    }
    outcome = attempt([&] { file->write(whole); });
  }
}

void ArrayMover::load(CheckpointFile* file, const DividedArray& array, std::byte* own,
                      Result<void>& outcome) {
  const auto rank = static_cast<std::size_t>(world_.rank());
  for (std::size_t first = 0; first < array.count;) {
    const Chunk chunk = chunk_of(array, first);
    first += chunk.count;
    const std::span whole = std::span{whole_}.first(chunk.count * array.bytes);
    if (file != nullptr && outcome) outcome = attempt([&] { file->read(whole); });
    if (!chunk.has_any) continue;
    std::size_t packed = 0;
    for (std::size_t i = 0; rank == 0 && i < chunk.blocks.size(); ++i) {
      if (chunk.counts[i] == 0) continue;
      copy_bytes(packed_.data() + packed,
                 whole.data() + (chunk.blocks[i].first - chunk.first) * array.bytes,
                 chunk.counts[i]);
      packed += chunk.counts[i];
    }
    const std::size_t begin = (chunk.blocks[rank].first - array.blocks[rank].first) * array.bytes;
    std::span<std::byte> part;
    if (chunk.counts[rank] > 0) part = {own + begin, chunk.counts[rank]};
    world_.scatterv(std::span<const std::byte>{packed_}.first(packed), chunk.counts, part, 0,
                    options_);
  }
}

}  // namespace tutti::v0::detail

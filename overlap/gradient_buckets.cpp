#include "gradient_buckets.hpp"

#include <algorithm>

#include "bytes.hpp"

namespace tutti::v0::detail {

void GradientBuckets::adopt(std::span<const std::size_t> order) {
  // If ranks see each other's memory, an array of the program is a bucket in place only if it is
  // Parameter::visible, since they see copies.
  const bool is_copy_seen = setup_.streams ? setup_.streams->are_seen()
                                           : setup_.all_ranks().allocate<std::byte>(1).is_visible();
  const InPlace seen = setup_.streams ? InPlace::none : InPlace::visible;
  plan_ = make_plan(setup_.parameters, setup_.options, order, is_copy_seen ? seen : InPlace::all);
  shard_offsets_.clear();
  std::size_t owned = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    shard_offsets_.push_back(owned);
    owned += own_block(i).count;
  }
  buffers_.clear();
  buffers_ = setup_.streams ? make_buffers_on_gpu() : make_buffers();
}

/// Makes memory that peers see, if there is any: then no transport copies the gradients again.
std::vector<Buffer<std::byte>> GradientBuckets::make_buffers() {
  std::vector<Buffer<std::byte>> buffers;
  for (std::size_t i = 0; i < size(); ++i) {
    const Bucket& bucket = plan_.buckets[i];
    const std::size_t bytes =
        setup_.owns_memory_of(bucket) ? bucket.count * size_of(bucket.type) : 0;
    buffers.push_back(ranks_of(i).allocate<std::byte>(bytes));
  }
  return buffers;
}

/// A new plan takes the memory of the old one. The host need not wait for the GPU, which may still
/// use it, since the new work follows on the same stream.
std::vector<Buffer<std::byte>> GradientBuckets::make_buffers_on_gpu() {
  if (!setup_.streams->has_memory()) {
    std::vector<std::size_t> most(setup_.groups.size());  // bytes by group, for any plan
    for (std::size_t i = 0; i < setup_.parameters.size(); ++i) {
      const Parameter& parameter = setup_.parameters[i];
      if (!parameter.tied && setup_.owns_memory_of(plan_.buckets[plan_.locations[i].bucket]))
        most[parameter.group] += GradientStreams::padded(parameter.count * size_of(parameter.type));
    }
    setup_.streams->allocate(most);
  }
  std::vector<std::uint32_t> groups;
  std::vector<std::size_t> bytes;
  for (const Bucket& bucket : plan_.buckets) {
    groups.push_back(bucket.group);
    bytes.push_back(setup_.owns_memory_of(bucket) ? bucket.count * size_of(bucket.type) : 0);
  }
  return setup_.streams->divide(groups, bytes);
}

std::span<std::byte> GradientBuckets::memory_of(std::size_t index) noexcept {
  const Bucket& bucket = plan_.buckets[index];
  const std::size_t bytes = bucket.count * size_of(bucket.type);
  if (setup_.owns_memory_of(bucket)) return {buffers_[index].data(), bytes};
  return {static_cast<std::byte*>(setup_.parameters[bucket.parameters.front()].data), bytes};
}

bool GradientBuckets::is_visible(std::size_t index) const {
  const Bucket& bucket = plan_.buckets[index];
  if (setup_.owns_memory_of(bucket)) return buffers_[index].is_visible();
  return std::ranges::all_of(bucket.parameters,
                             [this](std::size_t i) { return setup_.parameters[i].visible; });
}

Block GradientBuckets::own_block(std::size_t index) const {
  const Communicator& ranks = ranks_of(index);
  return block_of(plan_.buckets[index].count, ranks.size(), ranks.rank());
}

std::vector<ParameterShard> GradientBuckets::shards_in(std::size_t index, const Block& block,
                                                       std::byte* data) const {
  const Bucket& bucket = plan_.buckets[index];
  const std::size_t bytes = size_of(bucket.type);
  std::vector<ParameterShard> shards;
  for (const std::size_t i : bucket.parameters) {
    const std::size_t begin = plan_.locations[i].offset / bytes;
    const std::size_t from = std::max(begin, block.first);
    const std::size_t to = std::min(begin + setup_.parameters[i].count, block.first + block.count);
    if (from < to)
      shards.push_back({.parameter = i,
                        .first = from - begin,
                        .count = to - from,
                        .data = data == nullptr ? nullptr : data + (from - block.first) * bytes,
                        .stream = data == nullptr ? Stream{} : setup_.stream(),
                        .offset = shard_offsets_[index] + from - block.first});
  }
  return shards;
}

/// Copies and inspects one parameter after the other, so that a small one is still in a cache.
std::optional<std::size_t> GradientBuckets::load(std::size_t index, const Readiness& readiness,
                                                 bool inspects) {
  std::optional<std::size_t> found;
  const Bucket& bucket = plan_.buckets[index];
  const bool is_copy = setup_.options.storage == GradientStorage::copies && !bucket.is_in_place;
  for (const std::size_t i : bucket.parameters) {
    const Parameter& parameter = setup_.parameters[i];
    const std::size_t bytes = parameter.count * size_of(bucket.type);
    if (!readiness.is_used(i)) {
      if (setup_.detects_unused()) keep(i);
      setup_.clear(address_of(i), bytes);
    } else if (is_copy) {
      setup_.copy(address_of(i), static_cast<const std::byte*>(parameter.data), bytes);
    }
    if (inspects && !found && has_not_finite(bucket.type, address_of(i), parameter.count))
      found = i;
  }
  return found;
}

/// Keeps a copy of an unused gradient that lies in its bucket, until ranks know whether one of them
/// uses it.
void GradientBuckets::keep(std::size_t index) {
  const std::size_t bytes = bytes_of(setup_.parameters[index]).size();
  if (setup_.options.storage == GradientStorage::copies || bytes == 0) return;
  kept_[index] = setup_.streams ? setup_.streams->allocate_scratch(bytes)
                                : std::shared_ptr<std::byte>{new std::byte[bytes],
                                                             std::default_delete<std::byte[]>{}};
  setup_.copy(kept_[index].get(), address_of(index), bytes);
}

void GradientBuckets::put_back(std::size_t index) {
  if (kept_[index])
    setup_.copy(address_of(index), kept_[index].get(), bytes_of(setup_.parameters[index]).size());
}

void GradientBuckets::forget_kept() noexcept {
  for (auto& kept : kept_) kept.reset();
}

void GradientBuckets::store(std::size_t index) {
  const Parameter& parameter = setup_.parameters[index];
  void* to = setup_.options.on_shard ? parameter.result : nullptr;
  if (to == nullptr && setup_.options.storage == GradientStorage::copies) to = parameter.data;
  const std::byte* const from = address_of(index);
  if (to == nullptr || to == from) return;
  setup_.copy(static_cast<std::byte*>(to), from, parameter.count * size_of(parameter.type));
}

}  // namespace tutti::v0::detail

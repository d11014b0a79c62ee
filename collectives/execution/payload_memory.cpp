#include "payload_memory.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include <tutti/spi/memory.hpp>

namespace tutti::v0::detail {

RawBytes PayloadMemory::acquire(std::size_t bytes) {
  RawBytes* best = nullptr;
  for (RawBytes& block : blocks_) {
    if (block.bytes < bytes) continue;
    const bool is_better =
        best == nullptr || (bytes == 0 ? block.bytes > best->bytes : block.bytes < best->bytes);
    if (is_better) best = &block;
  }
  if (best != nullptr) return {std::move(best->data), std::exchange(best->bytes, 0)};
  RawBytes block{std::make_unique_for_overwrite<std::byte[]>(bytes), bytes};
  populate({block.data.get(), bytes});
  return block;
}

void PayloadMemory::give_back(RawBytes memory) noexcept {
  if (memory.bytes > kept_bytes_ / blocks_.size()) return;
  RawBytes& smallest = *std::ranges::min_element(blocks_, {}, &RawBytes::bytes);
  if (smallest.bytes < memory.bytes)
    smallest = {std::move(memory.data), std::exchange(memory.bytes, 0)};
}

Buffer<std::byte> PayloadMemory::acquire_visible(std::size_t bytes) {
  if (visible_.size() >= bytes) return std::move(visible_);
  const auto memory = group_ != nullptr ? group_->visible_memory() : nullptr;
  if (memory == nullptr || bytes > kept_bytes_ / blocks_.size()) return {};
  try {
    return {allocate_zeroed(memory, bytes), bytes, true};
  } catch (const std::bad_alloc&) {  // ordinary memory may still be available
    return {};
  }
}

void PayloadMemory::give_back_visible(Buffer<std::byte> memory) noexcept {
  if (memory.size() > visible_.size()) visible_ = std::move(memory);
}

}  // namespace tutti::v0::detail

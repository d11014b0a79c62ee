#include "scratch.hpp"

#include <algorithm>
#include <iterator>

namespace tutti::v0::detail {

Scratch::~Scratch() {
  for (const ScratchBlock& block : idle_) memory_.deallocate(block.data, block.bytes);
}

/// Takes the smallest idle block that is large enough, the latest one of equal blocks. A block of
/// more than twice the size is left for larger requests.
ScratchBlock Scratch::acquire(std::size_t bytes) {
  auto best = idle_.rend();
  for (auto block = idle_.rbegin(); block != idle_.rend(); ++block) {
    if (block->bytes < bytes || block->bytes / 2 > bytes) continue;
    if (best == idle_.rend() || block->bytes < best->bytes) best = block;
    if (best->bytes == bytes) break;
  }
  if (best == idle_.rend()) {
    idle_.reserve(blocks_ + 1);  // so that give_back never allocates, hence never fails
    std::byte* const data = memory_.allocate(bytes);
    ++blocks_;
    return {data, bytes};
  }
  const ScratchBlock block = *best;
  idle_.erase(std::prev(best.base()));
  idle_bytes_ -= block.bytes;
  return block;
}

void Scratch::give_back(ScratchBlock block) noexcept {
  idle_.push_back(block);
  idle_bytes_ += block.bytes;
  if (idle_bytes_ <= kept_bytes_) return;
  auto first = idle_.begin();
  for (; idle_bytes_ > kept_bytes_ && first + 1 != idle_.end(); ++first) {
    memory_.deallocate(first->data, first->bytes);
    idle_bytes_ -= first->bytes;
    --blocks_;
  }
  idle_.erase(idle_.begin(), first);
}

}  // namespace tutti::v0::detail

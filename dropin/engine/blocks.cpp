#include "dropin/engine/blocks.hpp"

#include <algorithm>
#include <limits>

namespace tutti::dropin {
namespace {

constexpr std::size_t kMost = std::numeric_limits<int>::max();  // bytes of a call of the MPI

// Elements that one call of the MPI packs.
std::size_t elements_per_call(std::size_t size) {
  return std::max<std::size_t>(1, kMost / std::max<std::size_t>(1, size));
}

// @param move packs or unpacks elements at an address, and the number of their bytes.
template <class Move>
void in_pieces(const Block& block, std::byte* bytes, const Move& move) {
  const std::size_t size = facts_of(block.type).size;
  if (size == 0) return;
  const std::size_t most = elements_per_call(size);
  for (std::size_t done = 0; done < block.count; done += std::min(most, block.count - done)) {
    const std::size_t now = std::min(most, block.count - done);
    move(element_at(block.at, static_cast<std::ptrdiff_t>(done), block.type), static_cast<int>(now),
         bytes + done * size, static_cast<int>(now * size));
  }
}

// Whether the blocks are one piece of memory, in order.
bool are_one_piece(std::span<const Block> blocks) {
  const void* end = nullptr;
  for (const Block& block : blocks) {
    if (block.count == 0) continue;
    const DatatypeFacts& facts = facts_of(block.type);
    if (!facts.is_contiguous || (end != nullptr && block.at != end)) return false;
    end = static_cast<std::byte*>(block.at) + block.count * facts.size;
  }
  return true;
}

}  // namespace

Bytes::Bytes(std::span<const Block> blocks) {
  if (blocks.size() > 1) counts_.reserve(blocks.size());
  for (const Block& block : blocks) {
    const std::size_t bytes = block.count == 0 ? 0 : block.bytes();
    size_ += bytes;
    if (blocks.size() > 1) counts_.push_back(bytes);
  }
  if (size_ == 0) return;
  if (are_one_piece(blocks)) {
    data_ = std::ranges::find_if(blocks, [](const Block& block) { return block.count > 0; })->at;
    return;
  }
  copy_.resize(size_);
  data_ = copy_.data();
}

void Bytes::load(std::span<const Block> blocks) {
  std::byte* to = copy_.data();
  if (is_in_place()) return;
  for (const Block& block : blocks) {
    if (block.count == 0) continue;
    in_pieces(block, to, [&block](const void* elements, int count, std::byte* bytes, int size) {
      int position = 0;
      PMPI_Pack(elements, count, block.type, bytes, size, &position, MPI_COMM_SELF);
    });
    to += block.bytes();
  }
}

void Bytes::store(std::span<const Block> blocks) const {
  const std::byte* from = copy_.data();
  if (is_in_place()) return;
  for (const Block& block : blocks) {
    if (block.count == 0) continue;
    in_pieces(block, const_cast<std::byte*>(from),
              [&block](void* elements, int count, const std::byte* bytes, int size) {
                int position = 0;
                PMPI_Unpack(bytes, size, &position, elements, count, block.type, MPI_COMM_SELF);
              });
    from += block.bytes();
  }
}

}  // namespace tutti::dropin

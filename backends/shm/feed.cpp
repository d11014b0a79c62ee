#include "feed.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tutti::shm {
namespace {

/// As much as stays in the cache until the sink has it.
constexpr std::size_t kJoin = std::size_t{32} << 10;

}  // namespace

void Feed::start(const Transfer& transfer, std::uint64_t bytes) {
  sink_ = transfer.sink;
  grain_ = std::max<std::size_t>(transfer.grain, 1);
  alignment_ = std::has_single_bit(grain_) ? std::min<std::size_t>(grain_, 64) : 1;
  left_ = bytes;
  given_ = 0;
  joined_bytes_ = 0;
}

bool Feed::is_aligned(const std::byte* data, std::size_t offset) const noexcept {
  return ((reinterpret_cast<std::uintptr_t>(data) + offset) & (alignment_ - 1)) == 0;
}

void Feed::take(std::span<const std::byte> part) {
  left_ -= part.size();
  while (!part.empty()) {
    const std::size_t whole = left_ == 0 ? part.size() : part.size() / grain_ * grain_;
    if (joined_bytes_ > 0 || whole == 0 || !is_aligned(part.data(), 0)) {
      join(part);
      continue;
    }
    sink_->take(given_, part.first(whole));
    given_ += whole;
    part = part.subspan(whole);
  }
}

void Feed::join(std::span<const std::byte>& part) {
  const std::size_t room = std::max(kJoin / grain_, std::size_t{1}) * grain_;
  if (joined_.size() * sizeof(Line) < room) joined_.resize((room + 63) / sizeof(Line));
  std::byte* const joined = joined_.front().bytes;
  // An element that was begun is joined alone, if what follows it may be given as it lies.
  const std::size_t rest = (grain_ - joined_bytes_ % grain_) % grain_;
  const bool ends_soon = rest > 0 && is_aligned(part.data(), rest);
  const std::size_t wanted = ends_soon ? joined_bytes_ + rest : room;
  const std::size_t bytes = std::min(part.size(), wanted - joined_bytes_);
  std::memcpy(joined + joined_bytes_, part.data(), bytes);
  joined_bytes_ += bytes;
  part = part.subspan(bytes);
  const bool is_last = left_ == 0 && part.empty();
  if (joined_bytes_ < wanted && !is_last) return;
  sink_->take(given_, {joined, joined_bytes_});
  given_ += joined_bytes_;
  joined_bytes_ = 0;
}

}  // namespace tutti::shm

#include "landing.hpp"

#include <algorithm>
#include <cstring>

namespace tutti::inline v0::mpi {

Landing::Landing(std::size_t chunk_bytes, std::size_t grain)
    : chunk_bytes_{chunk_bytes},
      most_grain_{grain}, stride_{(chunk_bytes + grain + sizeof(Line) - 1) / sizeof(Line)},
      lines_{std::make_unique_for_overwrite<Line[]>(2 * stride_)} {}

void Landing::start(const Transfer& transfer, std::uint64_t bytes) noexcept {
  sink_ = transfer.sink;
  room_ = sink_->room();
  grain_ = transfer.grain;
  bytes_ = bytes;
  asked_ = taken_ = 0;
  has_come_[0] = has_come_[1] = false;
}

Piece Landing::next() noexcept {
  const std::uint64_t begun = asked_ % grain_;  // of an element, by the chunk before
  std::byte* const data = room_ != nullptr ? room_ + asked_ : at(next_half()) + begun;
  const std::uint64_t bytes = std::min<std::uint64_t>(chunk_bytes_, bytes_ - asked_);
  asked_ += bytes;
  return {data, bytes};
}

void Landing::take(unsigned half) {
  has_come_[half] = true;
  while (has_come_[half_of(taken_)] && taken_ < bytes_) give_next();
}

void Landing::give_next() {
  const unsigned half = half_of(taken_);
  has_come_[half] = false;
  const std::uint64_t begun = taken_ % grain_;
  const std::uint64_t first = taken_ - begun;
  taken_ += std::min<std::uint64_t>(chunk_bytes_, bytes_ - taken_);
  const std::uint64_t left = taken_ == bytes_ ? 0 : taken_ % grain_;
  const std::uint64_t whole = taken_ - first - left;
  std::byte* const data = room_ != nullptr ? room_ + first : at(half);
  if (whole > 0) sink_->take(first, {data, whole});
  if (room_ == nullptr) std::memcpy(at(1 - half), data + whole, left);
}

Landing* Landings::get(std::size_t grain) {
  if (free_.empty()) {
    free_.reserve(all_.size() + 1);
    all_.push_back(std::make_unique<Landing>(chunk_bytes_, grain));
    return all_.back().get();
  }
  Landing* const landing = free_.back();
  if (landing->grain() < grain) *landing = Landing{chunk_bytes_, grain};
  free_.pop_back();
  return landing;
}

}  // namespace tutti::inline v0::mpi

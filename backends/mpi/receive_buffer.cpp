#include "receive_buffer.hpp"

#include <algorithm>

namespace tutti::v0::mpi {

ReceiveBuffer::ReceiveBuffer(std::size_t chunk_bytes)
    : chunk_bytes_{chunk_bytes}, stride_{(chunk_bytes + sizeof(Line) - 1) / sizeof(Line)},
      lines_{std::make_unique_for_overwrite<Line[]>(2 * stride_)} {}

void ReceiveBuffer::start(const Transfer& transfer, std::uint64_t bytes) noexcept {
  combiner_ = transfer.combiner;
  staging_ = combiner_->staging();
  bytes_ = bytes;
  asked_ = combined_ = 0;
  has_come_[0] = has_come_[1] = false;
}

Piece ReceiveBuffer::next() noexcept {
  const Piece piece{at(asked_), std::min<std::uint64_t>(chunk_bytes_, bytes_ - asked_)};
  asked_ += piece.bytes;
  return piece;
}

void ReceiveBuffer::combine(unsigned half) {
  has_come_[half] = true;
  while (combined_ < bytes_ && has_come_[half_of(combined_)]) {
    has_come_[half_of(combined_)] = false;
    const std::size_t bytes = std::min<std::uint64_t>(chunk_bytes_, bytes_ - combined_);
    combiner_->combine({at(combined_), bytes});
    combined_ += bytes;
  }
}

ReceiveBuffer* ReceiveBuffers::acquire() {
  if (free_.empty()) {
    free_.reserve(all_.size() + 1);
    all_.push_back(std::make_unique<ReceiveBuffer>(chunk_bytes_));
    return all_.back().get();
  }
  ReceiveBuffer* const receive_buffer = free_.back();
  free_.pop_back();
  return receive_buffer;
}

}  // namespace tutti::v0::mpi

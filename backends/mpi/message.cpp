#include "message.hpp"

#include <algorithm>

#include "check.hpp"

namespace tutti::v0::mpi {

void BufferPool::grow() {
  const std::size_t count = std::max<std::size_t>(32, buffers_);
  free_.reserve(buffers_ + count);
  constexpr std::size_t kShift = alignof(std::max_align_t) - sizeof(Header);
  slabs_.push_back(std::make_unique_for_overwrite<std::byte[]>(kShift + count * kBufferBytes));
  for (std::size_t i = 0; i < count; ++i)
    free_.push_back(slabs_.back().get() + kShift + i * kBufferBytes);
  buffers_ += count;
}

void Cutter::advance(std::size_t bytes) noexcept {
  offset_ += bytes;
  if (offset_ < pieces_[index_].bytes) return;
  ++index_;
  offset_ = 0;
}

Cutter::Chunk Cutter::next() {
  const Piece& piece = pieces_[index_];
  const std::size_t left = piece.bytes - offset_;
  const bool last_piece = index_ + 1 == pieces_.size();
  if (left < chunk_bytes_ && !last_piece) return gather();
  const std::size_t bytes = std::min(left, chunk_bytes_);
  const Chunk chunk{piece.data + offset_, static_cast<int>(bytes), MPI_BYTE};
  advance(bytes);
  return chunk;
}

Cutter::Chunk Cutter::gather() {
  auto& [lengths, addresses] = *scattered_;
  lengths.clear();
  addresses.clear();
  for (std::size_t room = chunk_bytes_; room > 0 && more();) {
    const Piece& piece = pieces_[index_];
    const std::size_t bytes = std::min(piece.bytes - offset_, room);
    addresses.emplace_back();
    check(PMPI_Get_address(piece.data + offset_, &addresses.back()), "find an address");
    lengths.push_back(static_cast<int>(bytes));
    room -= bytes;
    advance(bytes);
  }
  MPI_Datatype type = MPI_DATATYPE_NULL;
  check(PMPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(),
                                  addresses.data(), MPI_BYTE, &type),
        "describe scattered bytes");
  check(PMPI_Type_commit(&type), "describe scattered bytes");
  return {MPI_BOTTOM, 1, type};
}

}  // namespace tutti::v0::mpi

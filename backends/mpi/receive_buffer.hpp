/// @file
/// Memory for payloads that are combined, so small that it stays in the cache, however long the
/// message is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <tutti/spi/transport.hpp>

namespace tutti::v0::mpi {

/// Two halves, a chunk of the message in each: while one is combined the other arrives. Where the
/// combiner has room for the message itself, chunks go there.
class ReceiveBuffer {
 public:
  /// @param chunk_bytes of every MPI message but the last.
  explicit ReceiveBuffer(std::size_t chunk_bytes);

  /// Starts a message. @param transfer has a combiner. @param bytes of the message.
  void start(const Transfer& transfer, std::uint64_t bytes) noexcept;
  /// @return whether a chunk is left to ask for, and a half is free for it.
  [[nodiscard]] bool has_room() const noexcept {
    return asked_ < bytes_ && asked_ - combined_ <= chunk_bytes_;
  }
  /// @return the half for the next chunk.
  [[nodiscard]] unsigned next_half() const noexcept { return half_of(asked_); }
  /// @return the memory for the next chunk, which is asked for now.
  [[nodiscard]] Piece next() noexcept;
  /// Combines the chunks that have come, as far as none before them is missing. @param half whose
  /// chunk has come. Throws what the combiner throws.
  void combine(unsigned half);

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  [[nodiscard]] unsigned half_of(std::uint64_t offset) const noexcept {
    return static_cast<unsigned>(offset / chunk_bytes_ % 2);
  }
  [[nodiscard]] std::byte* at(std::uint64_t offset) noexcept {
    return staging_ != nullptr ? staging_ + offset : lines_[half_of(offset) * stride_].bytes;
  }

  std::size_t chunk_bytes_;
  std::size_t stride_;  // lines of a half
  std::unique_ptr<Line[]> lines_;
  Combiner* combiner_ = nullptr;
  std::byte* staging_ = nullptr;  // the combiner's, for the whole message, or null
  std::uint64_t bytes_ = 0;    // of the message
  std::uint64_t asked_ = 0;    // of them, that were asked for
  std::uint64_t combined_ = 0;  // of them
  bool has_come_[2]{};          // and waits for the chunk before it
};

/// Receive buffers for reuse. The last one released is the next to be used, for its lines are warm.
class ReceiveBuffers {
 public:
  /// @param chunk_bytes as of a ReceiveBuffer.
  explicit ReceiveBuffers(std::size_t chunk_bytes) noexcept : chunk_bytes_{chunk_bytes} {}
  /// @return one that is free; it stays ours.
  [[nodiscard]] ReceiveBuffer* acquire();
  /// @param buffer that acquire returned, which reserved the room.
  void release(ReceiveBuffer* buffer) noexcept { free_.push_back(buffer); }

 private:
  std::size_t chunk_bytes_;
  std::vector<std::unique_ptr<ReceiveBuffer>> all_{};
  std::vector<ReceiveBuffer*> free_{};
};

}  // namespace tutti::v0::mpi

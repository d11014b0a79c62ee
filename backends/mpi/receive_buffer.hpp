/// @file
/// Memory for payloads that are combined. It is so small that it stays in the cache, for any length
/// of the message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <tutti/spi/transport.hpp>

namespace tutti::v0::mpi {

/// Two halves, each for a chunk of the message: while one is combined, the other arrives. If the
/// combiner has memory for the message itself, chunks go there.
class ReceiveBuffer {
 public:
  /// @param chunk_bytes of every MPI message except the last.
  explicit ReceiveBuffer(std::size_t chunk_bytes);

  /// Starts a message. @param transfer has a combiner. @param bytes of the message.
  void start(const Transfer& transfer, std::uint64_t bytes) noexcept;
  /// @return whether there is another chunk to receive, and a half is free for it.
  [[nodiscard]] bool has_room() const noexcept {
    return asked_ < bytes_ && asked_ - combined_ <= chunk_bytes_;
  }
  /// @return the half for the next chunk.
  [[nodiscard]] unsigned next_half() const noexcept { return half_of(asked_); }
  /// @return the memory for the next chunk, which counts as being received.
  [[nodiscard]] Piece next() noexcept;
  /// Combines the chunks that have arrived, up to the first missing one. @param half whose chunk
  /// has arrived. Throws as the combiner.
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
  std::uint64_t bytes_ = 0;       // bytes of the message
  std::uint64_t asked_ = 0;       // bytes of chunks that next() returned
  std::uint64_t combined_ = 0;    // bytes that were combined
  bool has_come_[2]{};            // by half: whether its chunk waits for the one before it
};

/// Receive buffers for reuse. The one released last is used next, since its lines are in a cache.
class ReceiveBuffers {
 public:
  /// @param chunk_bytes as of a ReceiveBuffer.
  explicit ReceiveBuffers(std::size_t chunk_bytes) noexcept : chunk_bytes_{chunk_bytes} {}
  /// @return a free buffer, which this still owns.
  [[nodiscard]] ReceiveBuffer* acquire();
  /// @param buffer that acquire() returned. It reserved the room in the list.
  void release(ReceiveBuffer* buffer) noexcept { free_.push_back(buffer); }

 private:
  std::size_t chunk_bytes_;
  std::vector<std::unique_ptr<ReceiveBuffer>> all_{};
  std::vector<ReceiveBuffer*> free_{};
};

}  // namespace tutti::v0::mpi

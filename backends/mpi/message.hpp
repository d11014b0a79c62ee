/// @file
/// The format of messages: the header, the staging buffers of small messages, the pieces of large
/// ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include <mpi.h>

#include <tutti/spi/pieces.hpp>

namespace tutti::v0::mpi {

/// The front of the first MPI message of every transfer: 63 bits of the fingerprint of the
/// collective it belongs to, mixed with the number of bytes, above kFollowed. Eight bytes, since
/// every cache line of a small message counts. The payload follows, or an Announcement.
using Header = std::uint64_t;
/// Set in the header if the payload comes in messages of its own.
inline constexpr Header kFollowed = 1;

/// The MPI tag of messages that carry a payload.
using PayloadTag = std::int32_t;

/// Follows the header in place of a payload that is too long.
struct Announcement {
  std::uint64_t bytes;  ///< Payload of the whole transfer.
  PayloadTag tag;       ///< Tag of the messages with the payload.
};

/// A payload of at most this many bytes follows the header. A longer one travels in messages of its
/// own, directly between the pieces of both ends. With the header it is below the 4 KiB up to which
/// Open MPI sends at once over shared memory.
inline constexpr std::size_t kInlineBytes = 4000;
/// A payload in several pieces of at most this many bytes is copied through the staging buffer,
/// since a derived datatype costs MPICH more (8 KiB in two pieces: 14 us against 3 us; from 16 KiB
/// up less).
inline constexpr std::size_t kStagedBytes = 16384;
/// The most bytes of a first message. Every receive has this room, so that a wrong length is found
/// by comparison and never by truncation.
inline constexpr std::size_t kFirstBytes = sizeof(Header) + kInlineBytes;
/// Bytes of a staging buffer: the first message, then staged pieces. The bytes behind the header
/// are aligned for every built-in type.
inline constexpr std::size_t kBufferBytes = kFirstBytes + kStagedBytes + sizeof(Header);
static_assert(kBufferBytes % alignof(std::max_align_t) == 0);
/// The most bytes of an MPI message whose payload is reduced, so that it is in a cache then.
/// Shorter messages lose more than they gain: each costs Open MPI 4 us.
inline constexpr std::size_t kWarmBytes = std::size_t{1} << 20;
/// The most pending MPI messages of one payload: enough that a network is never idle, and few
/// enough to test in every poll.
inline constexpr std::uint32_t kWindow = 8;
/// The largest `int` count of MPI_BYTE.
inline constexpr std::size_t kMostChunkBytes = std::numeric_limits<int>::max();

/// Staging buffers, kept for reuse: after warm-up neither get nor put allocates.
class BufferPool {
 public:
  /// @return a buffer of kBufferBytes.
  [[nodiscard]] std::byte* get() {
    if (free_.empty()) grow();
    std::byte* const buffer = free_.back();
    free_.pop_back();
    return buffer;
  }
  /// @param buffer that get returned.
  void put(std::byte* buffer) noexcept { free_.push_back(buffer); }  // grow reserved the room

 private:
  void grow();

  std::vector<std::unique_ptr<std::byte[]>> slabs_{};
  std::vector<std::byte*> free_{};
  std::size_t buffers_ = 0;
};

/// The addresses of scattered bytes, as the MPI needs them. The caller keeps this, so that cutting
/// does not allocate.
struct Scattered {
  std::vector<int> lengths{};         ///< By run of bytes.
  std::vector<MPI_Aint> addresses{};  ///< By run of bytes.
};

/// Cuts pieces into MPI messages of a fixed number of bytes, so that both ends cut at the same
/// bytes however their pieces lie. A message over several pieces has a derived datatype: the MPI
/// gathers and scatters while it moves the bytes, and no staging memory grows with the message.
class Cutter {
 public:
  /// Nothing to cut.
  Cutter() = default;
  /// @param pieces outlive the cutter. @param chunk_bytes of every message except the last.
  /// @param scattered workspace, outlives the cutter.
  Cutter(std::span<const Piece> pieces, std::size_t chunk_bytes, Scattered& scattered) noexcept
      : pieces_{pieces}, chunk_bytes_{chunk_bytes}, scattered_{&scattered} {}
  /// A message as MPI wants it.
  struct Chunk {
    void* data;         ///< MPI_BOTTOM for a derived datatype.
    int count;          ///< Bytes, or 1.
    MPI_Datatype type;  ///< MPI_BYTE, or a derived one, to be freed by the caller.
  };
  /// @return whether bytes are left.
  [[nodiscard]] bool more() const noexcept { return index_ < pieces_.size(); }
  /// @return the next message.
  [[nodiscard]] Chunk next();

 private:
  [[nodiscard]] Chunk gather();
  void advance(std::size_t bytes) noexcept;

  std::span<const Piece> pieces_{};
  std::size_t chunk_bytes_ = 0;
  Scattered* scattered_ = nullptr;
  std::size_t index_ = 0;   // of the next piece
  std::size_t offset_ = 0;  // of its next byte
};

}  // namespace tutti::v0::mpi

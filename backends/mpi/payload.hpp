/// @file
/// Payloads that do not fit the first MPI message of their transfer.
#pragma once

#include "ranks.hpp"
#include "requests.hpp"

namespace tutti::v0::mpi {

/// Moves payloads in MPI messages of their own, of which kWindow are pending at once. They move
/// directly between the pieces of both ends, except short ones in several pieces, which go through
/// a staging buffer, and combined ones, which go through a receive buffer.
class Payloads {
 public:
  /// @param ranks and @param requests outlive this. @param chunk_bytes as Options::chunk_bytes.
  Payloads(const Ranks& ranks, std::size_t chunk_bytes, Requests& requests) noexcept
      : ranks_{ranks}, chunk_bytes_{chunk_bytes}, requests_{requests} {}

  /// @param chunk_bytes as Options::chunk_bytes. @return the payload bytes of one MPI message in a
  /// call that reduces.
  [[nodiscard]] static std::size_t warm_bytes(std::size_t chunk_bytes) noexcept {
    return std::min(chunk_bytes, kWarmBytes);
  }
  /// Begins to move the payload of a message. @param message whose receive is posted. @param tag of
  /// the payload.
  void begin(PostedTransfer& message, PayloadTag tag);
  /// Continues after an MPI message of a payload. @param owner of its request. Throws exceptions of
  /// a combiner as Error.
  void advance(Owner owner);
  /// Stores or combines a staged payload that has arrived.
  static void unpack(const PostedTransfer& message);

 private:
  void post_staged(PostedTransfer& message);
  void post_chunks(PostedTransfer& message);
  void post_chunk(PostedTransfer& message, Cutter::Chunk chunk, unsigned half);

  const Ranks& ranks_;
  std::size_t chunk_bytes_;
  Requests& requests_;
  Scattered scattered_{};
};

}  // namespace tutti::v0::mpi

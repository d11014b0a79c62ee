/// @file
/// Payloads that do not fit the first MPI message of their transfer.
#pragma once

#include "ranks.hpp"
#include "requests.hpp"

namespace tutti::v0::mpi {

/// Moves payloads in MPI messages of their own, straight between the pieces of both ends, or
/// through a staging buffer where short ones lie in several pieces, or a receive buffer where they
/// are combined; kWindow of them are under way at once.
class Payloads {
 public:
  /// @param ranks and @param requests outlive this. @param chunk_bytes as Options::chunk_bytes.
  Payloads(const Ranks& ranks, std::size_t chunk_bytes, Requests& requests) noexcept
      : ranks_{ranks}, chunk_bytes_{chunk_bytes}, requests_{requests} {}

  /// @param chunk_bytes as Options::chunk_bytes. @return payload bytes of one MPI message of a call
  /// that reduces.
  [[nodiscard]] static std::size_t warm_bytes(std::size_t chunk_bytes) noexcept {
    return std::min(chunk_bytes, kWarmBytes);
  }
  /// Begins to move the payload of a message. @param message whose receive is there.
  /// @param tag of the payload.
  void begin(Message& message, PayloadTag tag);
  /// An MPI message of a payload has come or gone, so that another one may. @param owner of its
  /// request. Throws what a combiner throws, as Error.
  void advance(Owner owner);
  /// A payload has come.
  static void unpack(const Message& message);

 private:
  void post_staged(Message& message);
  void post_chunks(Message& message);
  void post_chunk(Message& message, Cutter::Chunk chunk, unsigned half);

  const Ranks& ranks_;
  std::size_t chunk_bytes_;
  Requests& requests_;
  Scattered scattered_{};
};

}  // namespace tutti::v0::mpi

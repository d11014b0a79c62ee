/// @file
/// Messages that a probe finds before their receive is posted.
#pragma once

#include <optional>
#include <vector>

#include "message.hpp"
#include "ranks.hpp"

namespace tutti::v0::mpi {

/// The first MPI messages of transfers that a probe has found. A probe has to receive them to read
/// their headers. They are older than all messages of their sender and tag that are still in the
/// MPI.
class EarlyMessages {
 public:
  /// A first message.
  struct Early {
    Rank from;
    std::uint32_t tag;
    std::byte* buffer;  ///< A buffer of the pool.
    MPI_Status status;
  };
  /// @param ranks and @param pool outlive this.
  EarlyMessages(const Ranks& ranks, BufferPool& pool) noexcept : ranks_{ranks}, pool_{pool} {}

  /// As Transport::probe.
  [[nodiscard]] std::optional<Unexpected> probe(Rank from, std::uint32_t tag);
  /// @param transfer a receive. @return the message that it matches, if a probe has found one. Its
  /// buffer then belongs to the caller.
  [[nodiscard]] std::optional<Early> pop(const Transfer& transfer);

 private:
  [[nodiscard]] std::vector<Early>::iterator find(Rank from, std::uint32_t tag);

  const Ranks& ranks_;
  BufferPool& pool_;
  std::vector<Early> early_{};  // in the order found
};

}  // namespace tutti::v0::mpi

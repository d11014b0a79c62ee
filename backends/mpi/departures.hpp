/// @file
/// Small messages on their way.
#pragma once

#include <vector>

#include "message.hpp"

namespace tutti::mpi {

/// Sends whose bytes lie in staging buffers. Their pieces are free, so for the caller the transfer
/// is done; what the MPI says of the request is looked at later, many at once. A look costs a
/// memory fence, which is a third of what a small message takes.
class Departures {
 public:
  /// More than these wait for the MPI before they are done: a slow receiver slows its sender.
  static constexpr std::size_t kMost = 16;

  Departures() {
    requests_.reserve(kMost);
    buffers_.reserve(kMost);
    indices_.resize(kMost);
    statuses_.resize(kMost);
  }
  /// @return whether another one may be added, after a look at the others if need be.
  /// @param pool gets the buffers of those that have left. Throws Error{transport}.
  [[nodiscard]] bool make_room(BufferPool& pool) {
    if (requests_.size() == kMost) collect(pool);
    return requests_.size() < kMost;
  }
  /// @param request of the send. @param buffer it reads.
  void add(MPI_Request request, std::byte* buffer) {
    requests_.push_back(request);
    buffers_.push_back(buffer);
  }
  /// @return requests that may not have ended, for those who end the transport.
  [[nodiscard]] std::vector<MPI_Request>& requests() noexcept { return requests_; }

 private:
  void collect(BufferPool& pool);

  std::vector<MPI_Request> requests_{};
  std::vector<std::byte*> buffers_{};  // of requests_
  std::vector<int> indices_{};         // for MPI_Testsome
  std::vector<MPI_Status> statuses_{};
};

}  // namespace tutti::mpi

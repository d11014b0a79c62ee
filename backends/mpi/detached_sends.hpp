/// @file
/// Sends of small messages whose requests have not ended.
#pragma once

#include <vector>

#include "message.hpp"

namespace tutti::v0::mpi {

/// Sends whose bytes lie in staging buffers. Their pieces are free, so for the caller the transfer
/// is done; their requests are tested later, many at once. A test costs a memory fence, a third of
/// the time of a small message. A wait until the MPI completes the send may cost a round trip: Open
/// MPI keeps fragments of more than 256 bytes until the receiver returns them, which halves the
/// rate of a root that broadcasts.
///
/// The limit: a send that the MPI itself has queued, because the queue to a slow receiver is full,
/// advances only within later MPI calls. When an operation ends, up to kMost messages of at most
/// kFirstBytes may be queued so. They stay while their sender computes and calls neither tutti nor
/// the MPI, and a receiver that waits for them may miss its deadline. Sends that are known to end
/// at once (see EndedSends) are never among them.
class DetachedSends {
 public:
  /// The most detached sends. Further sends wait for the MPI, so that a slow receiver slows its
  /// sender.
  static constexpr std::size_t kMost = 16;

  DetachedSends() {
    requests_.reserve(kMost);
    sends_.reserve(kMost);
    indices_.resize(kMost);
    statuses_.resize(kMost);
  }
  /// Tests the sends, if they are many, so that is_full() becomes false if some have ended.
  /// @param pool gets the buffers of ended sends. Throws Error that names the receiver.
  void make_room(BufferPool& pool) {
    if (is_full()) collect(pool);
  }
  /// @return whether no other send may be added.
  [[nodiscard]] bool is_full() const noexcept { return requests_.size() == kMost; }
  /// Adds a send. @param peer the receiver. @param buffer that the MPI reads.
  void add(MPI_Request request, Rank peer, std::byte* buffer) noexcept {
    requests_.push_back(request);
    sends_.push_back({peer, buffer});
  }
  /// @return requests that may not have ended, for the end of the transport.
  [[nodiscard]] std::vector<MPI_Request>& requests() noexcept { return requests_; }

 private:
  struct Send {
    Rank peer;
    std::byte* buffer;
  };
  void collect(BufferPool& pool);

  std::vector<MPI_Request> requests_{};
  std::vector<Send> sends_{};   // of requests_
  std::vector<int> indices_{};  // for MPI_Testsome
  std::vector<MPI_Status> statuses_{};
};

/// Recognises sends that ended within MPI_Isend, without cost: for them MPIs always return the same
/// handle. Two active requests can share a handle only if both have ended, since otherwise the MPI
/// could not distinguish them.
class EndedSends {
 public:
  /// Finds the handle by a send. @param comm any.
  explicit EndedSends(MPI_Comm comm);
  EndedSends(const EndedSends&) = delete;
  EndedSends& operator=(const EndedSends&) = delete;
  /// Frees the handle. Must not be called once the MPI is finalised.
  void release() noexcept { PMPI_Request_free(&handle_); }

  /// Releases a new request if it is known to have ended. @param bytes of the message. @return
  /// whether it has.
  [[nodiscard]] bool release_ended(MPI_Request& request, std::size_t bytes) noexcept {
    if (request != handle_) return false;
    PMPI_Request_free(&request);
    if (bytes > longest_) longest_ = bytes;
    return true;
  }
  /// @param bytes of a message whose send did not end at once. @return whether the MPI has queued
  /// it, since sends of messages as long ended at once.
  [[nodiscard]] bool has_ended_as_long(std::size_t bytes) const noexcept {
    return bytes <= longest_;
  }

 private:
  MPI_Request handle_ = MPI_REQUEST_NULL;  // of a send to MPI_PROC_NULL, kept active
  std::size_t longest_ = 0;                // longest message whose send ended at once; 0: none
};

}  // namespace tutti::v0::mpi

/// @file
/// Small messages on their way.
#pragma once

#include <vector>

#include "message.hpp"

namespace tutti::v0::mpi {

/// Sends whose bytes lie in staging buffers. Their pieces are free, so for the caller the transfer
/// is done; their requests are tested later, many at once. A test costs a memory fence, which is a
/// third of what a small message takes, and to wait until the MPI calls the send complete may cost
/// a round trip: Open MPI keeps the fragments that carry more than 256 bytes until the receiver
/// hands them back, which halves the rate of a root that broadcasts.
///
/// The limit: a send that the MPI itself has queued, because the way to a slow receiver is full,
/// moves on only within later MPI calls. Up to kMost messages of at most kFirstBytes may be queued
/// like that when an operation ends, and stay so while their sender computes and calls neither
/// tutti nor the MPI; a receiver that waits for them meanwhile may miss its deadline. Sends that
/// are known to end at once (see EndedSends) are never among them.
class DetachedSends {
 public:
  /// More than these wait for the MPI before they are done: a slow receiver slows its sender.
  static constexpr std::size_t kMost = 16;

  DetachedSends() {
    requests_.reserve(kMost);
    sends_.reserve(kMost);
    indices_.resize(kMost);
    statuses_.resize(kMost);
  }
  /// Tests the others, if they are many, so that is_full becomes false if some have left.
  /// @param pool gets the buffers of those that have left. Throws Error that names the receiver.
  void make_room(BufferPool& pool) {
    if (is_full()) collect(pool);
  }
  /// @return whether no other one may be added.
  [[nodiscard]] bool is_full() const noexcept { return requests_.size() == kMost; }
  /// @param request of the send. @param peer that receives it. @param buffer it reads.
  void add(MPI_Request request, Rank peer, std::byte* buffer) noexcept {
    requests_.push_back(request);
    sends_.push_back({peer, buffer});
  }
  /// @return requests that may not have ended, for those who end the transport.
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

/// Recognises sends that have ended within MPI_Isend, which costs nothing: for them MPIs return a
/// handle that is always the same one. Two requests that are active at a time can share a handle
/// only if both have ended, since the MPI could not distinguish them.
class EndedSends {
 public:
  /// Learns the handle. @param comm any.
  explicit EndedSends(MPI_Comm comm);
  EndedSends(const EndedSends&) = delete;
  EndedSends& operator=(const EndedSends&) = delete;
  /// Forgets the handle. Not where the MPI is finalised.
  void release() noexcept { PMPI_Request_free(&handle_); }

  /// @param request just made; released if it has ended. @param bytes of the message. @return
  /// whether it has ended for sure.
  [[nodiscard]] bool release_ended(MPI_Request& request, std::size_t bytes) noexcept {
    if (request != handle_) return false;
    PMPI_Request_free(&request);
    if (bytes > longest_) longest_ = bytes;
    return true;
  }
  /// @param bytes of a message that had not ended. @return whether the MPI has queued it: others as
  /// long have ended at once.
  [[nodiscard]] bool has_ended_as_long(std::size_t bytes) const noexcept {
    return bytes <= longest_;
  }

 private:
  MPI_Request handle_ = MPI_REQUEST_NULL;  // of a send to nobody, kept active
  std::size_t longest_ = 0;                // of the messages that had ended; none has no bytes
};

}  // namespace tutti::v0::mpi

// The abort of a transport over MPI.
#include <sched.h>

#include "patience.hpp"
#include "transport.hpp"

namespace tutti::v0::mpi {
namespace {

/// The longest wait for a receive that cannot be cancelled, since it is being filled. Its sender
/// needs this rank's MPI calls for that.
constexpr Duration kReceivePatience = std::chrono::seconds{1};

}  // namespace

bool drain(std::vector<MPI_Request>& requests, Duration patience) {
  std::vector<int> indices(requests.size());
  std::vector<MPI_Status> statuses(requests.size());
  const Duration deadline = time_now() + patience;
  for (;;) {
    int done = 0;
    PMPI_Testsome(static_cast<int>(requests.size()), requests.data(), &done, indices.data(),
                  statuses.data());
    if (done == MPI_UNDEFINED) return true;
    if (time_now() > deadline) return false;
    if (done == 0) sched_yield();
  }
}

bool MpiTransport::abort(const Error& cause) noexcept {
  if (aborted_) return quiet_;
  if (is_forked()) return true;  // no rank writes into a child's memory
  aborted_ = true;
  try {
    if (failure_signal_) failure_signal_->raise(cause);
    if (!failure_) failure_ = cause;
    int finalized = 0;
    // A finalised MPI may still use memory; the destructor handles that.
    if (PMPI_Finalized(&finalized) == MPI_SUCCESS && finalized == 0) quiet_ = stop(cause);
  } catch (...) {  // out of memory: messages stay pending, in memory that is never reused
    static_cast<void>(backing_.release());
  }
  requests_.clear();
  return quiet_;
}

bool MpiTransport::stop(const Error& cause) {
  std::vector<MPI_Request> receives;
  std::vector<MPI_Request> sends = std::move(detached_sends_.requests());
  const std::span<const MPI_Request> requests = requests_.all();
  for (std::size_t i = 0; i < requests.size(); ++i)
    (requests_.owners()[i].message->is_send() ? sends : receives).push_back(requests[i]);
  if (!is_announced_) {
    backing_->notice = make_notice(cause);
    for (Rank rank = 0; rank < ranks_.size; ++rank) {
      if (rank == ranks_.self) continue;
      sends.emplace_back(MPI_REQUEST_NULL);
      PMPI_Isend(&backing_->notice, sizeof(Notice), MPI_BYTE, rank, notice_tag(ranks_), ranks_.comm,
                 &sends.back());
    }
  }
  for (MPI_Request& request : receives)
    if (request != MPI_REQUEST_NULL) PMPI_Cancel(&request);
  const bool received = drain(receives, kReceivePatience);
  const bool sent = drain(sends, kSendPatience);
  if (!received || !sent) static_cast<void>(backing_.release());
  return received;
}

// A rank that has not ended may still fail, and send a notice. If the communicator is freed by
// then, the notice becomes a message of a new one with the same context, and Open MPI 4.1 may crash
// if that has fewer ranks. So ranks that end without a failure meet in a barrier.
bool MpiTransport::all_ended_well() const noexcept {
  MPI_Request barrier = MPI_REQUEST_NULL;
  if (PMPI_Ibarrier(ranks_.comm, &barrier) != MPI_SUCCESS) return false;
  try {
    mpi::finish(barrier, time_now() + kEndPatience, "end with all ranks");
  } catch (...) {
    return false;
  }
  return true;
}

}  // namespace tutti::v0::mpi

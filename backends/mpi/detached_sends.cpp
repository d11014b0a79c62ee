#include "detached_sends.hpp"

#include "check.hpp"

namespace tutti::v0::mpi {

void DetachedSends::collect(BufferPool& pool) {
  int done = 0;
  const int code = PMPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &done,
                                 indices_.data(), statuses_.data());
  if (code != MPI_ERR_IN_STATUS) check(code, "look at messages sent");
  for (std::size_t i = 0; code == MPI_ERR_IN_STATUS && i < static_cast<std::size_t>(done); ++i)
    check_transfer(statuses_[i].MPI_ERROR, Transfer::Kind::send,
                   sends_[static_cast<std::size_t>(indices_[i])].peer);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) {
      pool.put(sends_[i].buffer);
      continue;
    }
    requests_[kept] = requests_[i];
    sends_[kept++] = sends_[i];
  }
  requests_.resize(kept);
  sends_.resize(kept);
}

EndedSends::EndedSends(MPI_Comm comm) {
  check(PMPI_Isend(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, comm, &handle_), "send to no rank");
}

}  // namespace tutti::v0::mpi

#include "departures.hpp"

#include "check.hpp"

namespace tutti::mpi {

void Departures::collect(BufferPool& pool) {
  int done = 0;
  check(MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &done, indices_.data(),
                     statuses_.data()),
        "send a message");
  std::size_t kept = 0;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) {
      pool.put(buffers_[i]);
      continue;
    }
    requests_[kept] = requests_[i];
    buffers_[kept++] = buffers_[i];
  }
  requests_.resize(kept);
  buffers_.resize(kept);
}

}  // namespace tutti::mpi

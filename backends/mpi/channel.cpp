#include "channel.hpp"

#include <memory>
#include <numeric>
#include <string>

#include "check.hpp"
#include "patience.hpp"

namespace tutti::mpi {

// What MPI reads and writes in an exchange.
struct MpiChannel::Exchange {
  explicit Exchange(std::string_view own, int size)
      : said{own}, length{static_cast<int>(own.size())}, lengths(static_cast<std::size_t>(size)),
        places(lengths.size()) {}

  std::string said;
  int length;
  std::vector<int> lengths;  // per rank
  std::vector<int> places;   // of what each said in `heard`
  std::string heard{};
  MPI_Request request = MPI_REQUEST_NULL;
};

MpiChannel::~MpiChannel() {
  int finalized = 0;
  if (PMPI_Finalized(&finalized) != MPI_SUCCESS || finalized != 0 || is_broken_) return;
  PMPI_Comm_free(&ranks_.comm);
}

void MpiChannel::exchange(Exchange& e, Duration deadline) {
  constexpr const char* kAction = "tell the ranks of each other";
  check(
      PMPI_Iallgather(&e.length, 1, MPI_INT, e.lengths.data(), 1, MPI_INT, ranks_.comm, &e.request),
      kAction);
  finish(e.request, deadline, kAction);
  std::exclusive_scan(e.lengths.begin(), e.lengths.end(), e.places.begin(), 0);
  e.heard.resize(static_cast<std::size_t>(e.places.back() + e.lengths.back()));
  check(PMPI_Iallgatherv(e.said.data(), e.length, MPI_BYTE, e.heard.data(), e.lengths.data(),
                         e.places.data(), MPI_BYTE, ranks_.comm, &e.request),
        kAction);
  finish(e.request, deadline, kAction);
}

std::vector<std::string> MpiChannel::all_gather(std::string_view own, Deadline deadline) {
  auto all = std::make_unique<Exchange>(own, ranks_.size);
  try {
    exchange(*all, deadline.time_since_epoch());
  } catch (...) {
    is_broken_ = true;
    // A rank that comes late makes the MPI write after all, so what it writes to is never reused.
    static_cast<void>(all.release());
    throw;
  }
  std::vector<std::string> texts;
  for (std::size_t rank = 0; rank < all->lengths.size(); ++rank)
    texts.push_back(all->heard.substr(static_cast<std::size_t>(all->places[rank]),
                                      static_cast<std::size_t>(all->lengths[rank])));
  return texts;
}

}  // namespace tutti::mpi

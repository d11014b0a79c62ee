#include "channel.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>

#include "check.hpp"
#include "patience.hpp"

namespace tutti::v0::mpi {
namespace {

constexpr const char* kAction = "tell the ranks of each other";

/// Connections that are kept until MPI_Finalize, with which MPI_COMM_SELF ends.
using Kept = std::vector<std::shared_ptr<const void>>;

int forget(MPI_Comm, int, void* kept, void*) {
  delete static_cast<Kept*>(kept);
  return MPI_SUCCESS;
}

int key_of_kept() {
  static const int key = [] {
    int made = MPI_KEYVAL_INVALID;
    check(PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &made, nullptr),
          "make an attribute");
    return made;
  }();
  return key;
}

}  // namespace

// The memory that the MPI reads and writes in an exchange.
struct MpiChannel::Exchange {
  /// The first contribution of each rank: a short text is whole in it.
  struct Cell {
    int length;
    std::array<char, 60> text;
  };

  Exchange(std::string_view own, int size)
      : sent{own}, cells(static_cast<std::size_t>(size)), lengths(cells.size()),
        places(cells.size()) {
    cell.length = static_cast<int>(own.size());
    std::copy_n(own.begin(), std::min(own.size(), cell.text.size()), cell.text.begin());
  }

  std::string sent;
  Cell cell{};
  std::vector<Cell> cells;   // per rank
  std::vector<int> lengths;  // per rank
  std::vector<int> places;   // per rank: the place of its text in `received`
  std::string received{};
  MPI_Request request = MPI_REQUEST_NULL;
};

MpiChannel::MpiChannel(MPI_Comm comm) : comm_{comm} {
  check_communicator(comm);
  check(PMPI_Comm_rank(comm, &self_), "find the own rank");
  check(PMPI_Comm_size(comm, &size_), "count the ranks");
}

void MpiChannel::exchange(Exchange& e, Duration deadline) const {
  check(PMPI_Iallgather(&e.cell, sizeof(Exchange::Cell), MPI_BYTE, e.cells.data(),
                        sizeof(Exchange::Cell), MPI_BYTE, comm_, &e.request),
        kAction);
  finish(e.request, deadline, kAction);
  std::ranges::transform(e.cells, e.lengths.begin(), &Exchange::Cell::length);
  std::exclusive_scan(e.lengths.begin(), e.lengths.end(), e.places.begin(), 0);
  const auto longest = static_cast<std::size_t>(std::ranges::max(e.lengths));
  if (longest <= e.cell.text.size()) {
    for (const Exchange::Cell& cell : e.cells)
      e.received.append(cell.text.data(), static_cast<std::size_t>(cell.length));
    return;
  }
  e.received.resize(static_cast<std::size_t>(e.places.back() + e.lengths.back()));
  check(PMPI_Iallgatherv(e.sent.data(), e.cell.length, MPI_BYTE, e.received.data(),
                         e.lengths.data(), e.places.data(), MPI_BYTE, comm_, &e.request),
        kAction);
  finish(e.request, deadline, kAction);
}

std::vector<std::string> MpiChannel::all_gather(std::string_view own, Deadline deadline) {
  if (size_ == 1) return {std::string{own}};
  auto all = std::make_unique<Exchange>(own, size_);
  try {
    exchange(*all, deadline.time_since_epoch());
  } catch (...) {
    // A late rank makes the MPI write to this memory after all, so it is never reused.
    static_cast<void>(all.release());
    throw;
  }
  std::vector<std::string> texts;
  for (std::size_t rank = 0; rank < all->lengths.size(); ++rank)
    texts.push_back(all->received.substr(static_cast<std::size_t>(all->places[rank]),
                                         static_cast<std::size_t>(all->lengths[rank])));
  return texts;
}

void MpiChannel::keep(std::shared_ptr<const void> connections) {
  static std::mutex mutex;  // for threads that make communicators at the same time
  const std::lock_guard lock{mutex};
  void* found = nullptr;
  int exists = 0;
  const int key = key_of_kept();
  check(PMPI_Comm_get_attr(MPI_COMM_SELF, key, static_cast<void*>(&found), &exists),
        "read an attribute");
  auto* kept = exists != 0 ? static_cast<Kept*>(found) : nullptr;
  if (kept == nullptr) {
    auto made = std::make_unique<Kept>();
    check(PMPI_Comm_set_attr(MPI_COMM_SELF, key, made.get()), "set an attribute");
    kept = made.release();
  }
  if (std::ranges::find(*kept, connections) == kept->end()) kept->push_back(std::move(connections));
}

}  // namespace tutti::v0::mpi

#include "network.hpp"

#include <utility>
#include <vector>

#include "check.hpp"
#include "transport.hpp"

namespace tutti::v0::mpi {

namespace {

/// Tags that every MPI takes.
constexpr std::uint64_t kTags = 32768;

}  // namespace

MPI_Comm subset_of(const Ranks& ranks, std::span<const Rank> members, std::uint64_t key) {
  const std::vector<int> listed{members.begin(), members.end()};
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group some = MPI_GROUP_NULL;
  MPI_Comm subset = MPI_COMM_NULL;
  check(PMPI_Comm_group(ranks.comm, &all), "list the ranks");
  const int included = PMPI_Group_incl(all, static_cast<int>(listed.size()), listed.data(), &some);
  PMPI_Group_free(&all);
  check(included, "list the members");
  const int made = PMPI_Comm_create_group(ranks.comm, some, static_cast<int>(key % kTags), &subset);
  PMPI_Group_free(&some);
  check(made, "make a group");
  return subset;
}

MpiNetwork::~MpiNetwork() {
  int finalized = 0;
  if (PMPI_Finalized(&finalized) == MPI_SUCCESS && finalized == 0) PMPI_Comm_free(&ranks_.comm);
}

std::unique_ptr<Transport> MpiNetwork::transport(std::span<const Rank> members,
                                                 std::uint64_t communicator,
                                                 std::shared_ptr<FailureSignal> failure_signal) {
  MPI_Comm subset = subset_of(ranks_, members, communicator);
  auto made = std::make_unique<MpiTransport>(gather_ranks(subset, options_, communicator), options_,
                                             std::move(failure_signal), false);
  PMPI_Comm_free(&subset);
  return made;
}

}  // namespace tutti::v0::mpi

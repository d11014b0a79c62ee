#include "network.hpp"

#include <utility>

#include "check.hpp"
#include "transport.hpp"

namespace tutti::v0::mpi {

namespace {

/// Number of tags that every MPI accepts.
constexpr std::uint64_t kTags = 32768;

}  // namespace

MPI_Comm subset_of(const Ranks& ranks, std::span<const Rank> members, std::uint64_t key) {
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group some = MPI_GROUP_NULL;
  MPI_Comm subset = MPI_COMM_NULL;
  check(PMPI_Comm_group(ranks.comm, &all), "list the ranks");
  const int included =
      PMPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &some);
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
  return make_together(ranks_, members, options_, communicator, 0, [&](const SetUp& set_up) {
    return std::make_unique<MpiTransport>(set_up.ranks, options_, std::move(failure_signal), false);
  });
}

}  // namespace tutti::v0::mpi

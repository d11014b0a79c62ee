/// @file
/// A Network over an MPI communicator.
#pragma once

#include <exception>

#include <tutti/spi/network.hpp>

#include "ranks.hpp"

namespace tutti::v0::mpi {

/// Makes a communicator of some of the ranks, by MPI_Comm_create_group, which blocks until all
/// members take part. @param ranks of the whole communicator. @param members as their ranks there.
/// @param key that distinguishes the groups of several threads, modulo 2^15. @return the
/// communicator; the caller frees it. Allocates nothing, so that a rank without memory can take
/// part. Throws Error.
[[nodiscard]] MPI_Comm subset_of(const Ranks& ranks, std::span<const Rank> members,
                                 std::uint64_t key = 0);

/// Makes one or more transports of some of the ranks, on all members or on none. @param ranks of
/// the whole communicator. @param members as their ranks there. @param options equal on all ranks.
/// @param key see subset_of. @param failures for the own card. @param make see make_agreed. @return
/// the value of make. Throws as make, and Error{transport} that names a rank which has no memory.
template <class Make>
auto make_together(const Ranks& ranks, std::span<const Rank> members, const Options& options,
                   std::uint64_t key, std::uint64_t failures, const Make& make) {
  std::unique_ptr<SetUp> set_up;
  std::exception_ptr failed;
  try {
    set_up = make_set_up(ranks, static_cast<int>(members.size()), options, key);
    set_up->own.failures = failures;
  } catch (...) {
    failed = std::current_exception();
  }
  MPI_Comm parent = subset_of(ranks, members, key);
  try {
    agree_on_memory(parent, failed);
  } catch (...) {  // thrown on all ranks
    PMPI_Comm_free(&parent);
    throw;
  }
  gather(set_up, parent, options);
  try {
    auto made = make_agreed(set_up, options, make);
    PMPI_Comm_free(&parent);
    return made;
  } catch (...) {  // thrown on all ranks, or a rank did not come in time
    if (set_up) PMPI_Comm_free(&parent);
    throw;
  }
}

/// Carries messages between hosts over MPI.
class MpiNetwork final : public Network {
 public:
  /// Collective. @param comm of the world's ranks. Throws Error.
  MpiNetwork(MPI_Comm comm, const Options& options)
      : ranks_{gather_ranks(comm, options)}, options_{options} {}
  ~MpiNetwork() override;

  [[nodiscard]] std::unique_ptr<Transport> transport(
      std::span<const Rank> members, std::uint64_t communicator,
      std::shared_ptr<FailureSignal> failure_signal) override;
  /// @return whether no message goes between hosts.
  [[nodiscard]] bool is_one_host() const noexcept { return count_hosts(ranks_) == 1; }
  [[nodiscard]] std::string name() const override { return "MPI"; }
  [[nodiscard]] CostModel cost_model() const override { return {kDefaultCosts, "assumed of MPI"}; }

 private:
  Ranks ranks_;
  Options options_;
};

}  // namespace tutti::v0::mpi

/// @file
/// A Network over an MPI communicator.
#pragma once

#include <tutti/spi/network.hpp>

#include "ranks.hpp"

namespace tutti::v0::mpi {

/// Makes a communicator of some of the ranks, by MPI_Comm_create_group, which blocks until all of
/// them take part. @param ranks of what. @param members as their ranks there. @param key that
/// several threads tell theirs apart by, modulo 2^15. @return it; the caller frees it. Throws
/// Error.
[[nodiscard]] MPI_Comm subset_of(const Ranks& ranks, std::span<const Rank> members,
                                 std::uint64_t key = 0);

/// Lets MPI carry what goes between hosts.
class MpiNetwork final : public Network {
 public:
  /// Collective. @param comm of the world's ranks. @param options see Options. Throws Error.
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

/// @file
/// The ranks of a transport: a private duplicate of the caller's communicator, and what the ranks
/// told each other when it was made.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <tutti/mpi.hpp>

namespace tutti::v0::mpi {

/// Facts that hold for the life of a transport.
struct Ranks {
  MPI_Comm comm = MPI_COMM_NULL;   ///< The duplicate; returns errors instead of ending the program.
  Rank self = 0;                   ///< The own rank.
  int size = 1;                    ///< Number of ranks.
  int tag_limit = 0;               ///< The largest tag the MPI takes.
  std::vector<int> host_of{};      ///< Number of the machine each rank runs on, from 0 on.
  bool oversubscribed = false;     ///< Whether this machine has more ranks than they may use cores.
  bool is_one_roomy_host = false;  ///< Whether all run on one machine, where none is short of
                                   ///< cores: equal on all ranks.
  /// Whether MPI_Improbe with MPI_Mrecv takes a message that waits faster than MPI_Irecv with
  /// MPI_Test, as MPICH does (by a third; for Open MPI it is slower by a tenth). Only where the MPI
  /// sends first messages at once, so that MPI_Mrecv waits for nobody: MPICH's limits begin at
  /// 16 KiB.
  bool probes = false;
};

/// @param ranks any. @return machines they run on.
[[nodiscard]] inline int count_hosts(const Ranks& ranks) {
  return std::ranges::max(ranks.host_of) + 1;
}

/// Throws Error{invalid_argument} for what is no intra-communicator, and where the MPI is not
/// running. @param comm any.
void check_communicator(MPI_Comm comm);
/// @return the largest tag the MPI takes. Throws Error.
[[nodiscard]] int largest_tag();

/// Duplicates a communicator. Collective. @param parent the caller's. @param options equal on all
/// ranks, which is checked. @param key of the group that it is of, likewise. @return them. Throws
/// Error.
[[nodiscard]] Ranks gather_ranks(MPI_Comm parent, const Options& options, std::uint64_t key = 0);

/// Time since an arbitrary start. @return what Transport::now gives.
[[nodiscard]] inline Duration time_now() noexcept {
  return std::chrono::steady_clock::now().time_since_epoch();
}

}  // namespace tutti::v0::mpi

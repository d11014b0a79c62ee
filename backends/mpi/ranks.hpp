/// @file
/// The ranks of a transport: a private duplicate of the caller's communicator, and the facts
/// that the ranks exchanged when it was made.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <tutti/mpi.hpp>
#include <tutti/spi/cores.hpp>

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
  /// Whether MPI_Improbe with MPI_Mrecv receives a waiting message faster than MPI_Irecv with
  /// MPI_Test, as MPICH does (by a third; for Open MPI it is slower by a tenth). Only where the MPI
  /// sends first messages at once, so that MPI_Mrecv waits for nobody: MPICH's limits begin at
  /// 16 KiB.
  bool probes = false;
  std::uint64_t host = 0;  ///< Equal on ranks of one machine.
  Cores cores{};           ///< What this rank may use.
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

/// The contribution of a rank to the exchange with all others.
struct Card {
  std::uint64_t host;          ///< Equal on ranks of one machine.
  std::uint64_t chunk_bytes;   ///< Must be equal on all ranks.
  std::uint64_t inline_bytes;  ///< Must be equal on all ranks: it is part of the message format.
  std::uint64_t key;  ///< Must be equal on all ranks: threads may make several groups of the same.
  std::uint64_t failures;  ///< Of an MpiGroup: how many of its groups could not be made.
  Cores cores;             ///< What it may use.
};

/// Memory of a rank for making a communicator: what the MPI writes to and reads, and room for the
/// results. It is allocated before anything collective begins, so that a rank which has none can
/// inform the others.
struct SetUp {
  Ranks ranks{};
  Card own{};
  std::vector<Card> cards{};
  std::vector<std::uint64_t> hosts{};  ///< Of the machines, as they are met.
  std::vector<Cores> machine{};        ///< Of the ranks on this one.
  MPI_Comm parent = MPI_COMM_NULL;     ///< By which agree goes: a transport may free the duplicate.
  Rank failed = -1;                    ///< This rank, where it cannot go on.
  Rank any_failed = -1;                ///< The highest rank that cannot.
  MPI_Request request = MPI_REQUEST_NULL;
};

/// @return the facts that this process has of itself: host and cores. Throws Error.
[[nodiscard]] Ranks own_ranks();
/// @param known host and cores count. @param size of the communicator to be made. @param options
/// equal on all ranks, which is checked. @param key of the group that it is of, which is checked
/// too. @return all the memory that gather takes. Throws Error, std::bad_alloc.
[[nodiscard]] std::unique_ptr<SetUp> make_set_up(const Ranks& known, int size,
                                                 const Options& options, std::uint64_t key = 0);
/// Duplicates a communicator and exchanges cards. Collective, within the timeout of the options.
/// @param set_up of make_set_up; ranks and cards are set. It is lost where the MPI may still write
/// to it. @param parent whose ranks they are. @param options as of make_set_up. Throws Error.
void gather(std::unique_ptr<SetUp>& set_up, MPI_Comm parent, const Options& options);
/// Agrees that all ranks can go on. Collective. @param set_up after gather. @param options as of
/// make_set_up. @param failed why this rank cannot; null if it can. Throws that, and
/// Error{transport} that names another rank which cannot.
void agree(std::unique_ptr<SetUp>& set_up, const Options& options, std::exception_ptr failed);
/// Makes what stands on a duplicate, on all ranks or on none. Collective. @param set_up after
/// gather.
/// @param options as of make_set_up. @param make called with the set-up; may throw. @return what it
/// returns. Throws as agree.
template <class Make>
auto make_agreed(std::unique_ptr<SetUp>& set_up, const Options& options, const Make& make) {
  std::optional<decltype(make(*set_up))> made;  // allocates nothing before it is made
  std::exception_ptr failed;
  try {
    made.emplace(make(*set_up));
  } catch (...) {
    failed = std::current_exception();
  }
  agree(set_up, options, failed);
  return std::move(*made);
}
/// As agree, before there is a duplicate; allocates nothing and blocks. @param comm of the ranks.
/// @param failed as of agree.
void agree_on_memory(MPI_Comm comm, std::exception_ptr failed);

/// Duplicates a communicator. Collective. @param parent the caller's. @param options equal on all
/// ranks, which is checked. @param key of the group that it is of, which is checked too. @return
/// them. Throws Error.
[[nodiscard]] Ranks gather_ranks(MPI_Comm parent, const Options& options, std::uint64_t key = 0);

/// @return the time since an arbitrary start, as Transport::now.
[[nodiscard]] inline Duration time_now() noexcept {
  return std::chrono::steady_clock::now().time_since_epoch();
}

}  // namespace tutti::v0::mpi

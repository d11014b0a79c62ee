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
  int tag_limit = 0;               ///< The largest tag that the MPI accepts.
  std::vector<int> host_of{};      ///< Number of the machine each rank runs on, from 0 on.
  bool oversubscribed = false;     ///< Whether this machine has more ranks than cores for them.
  bool is_one_roomy_host = false;  ///< Whether all run on one machine, with a core for each; equal
                                   ///< on all ranks.
  /// Whether MPI_Improbe with MPI_Mrecv receives a waiting message faster than MPI_Irecv with
  /// MPI_Test, as in MPICH (by a third; in Open MPI it is slower by a tenth). Set only if the MPI
  /// sends first messages at once, so that MPI_Mrecv waits for no rank: MPICH's limits begin at
  /// 16 KiB.
  bool probes = false;
  std::uint64_t host = 0;  ///< Equal on ranks of one machine.
  Cores cores{};           ///< The cores that this rank may use.
};

/// @return the number of machines of the ranks.
[[nodiscard]] inline int count_hosts(const Ranks& ranks) {
  return std::ranges::max(ranks.host_of) + 1;
}

/// Throws Error{invalid_argument} if `comm` is no intra-communicator, or the MPI is not running.
void check_communicator(MPI_Comm comm);
/// @return the largest tag that the MPI accepts. Throws Error.
[[nodiscard]] int largest_tag();

/// The contribution of a rank to the exchange with all others.
struct Card {
  std::uint64_t host;          ///< Equal on ranks of one machine.
  std::uint64_t chunk_bytes;   ///< Must be equal on all ranks.
  std::uint64_t inline_bytes;  ///< Must be equal on all ranks: it is part of the message format.
  std::uint64_t key;  ///< Must be equal on all ranks: threads may make several groups of the same.
  std::uint64_t failures;  ///< Number of groups of an MpiGroup that could not be made.
  Cores cores;             ///< The cores that the rank may use.
};

/// Memory in which a rank makes a communicator: the memory that the MPI writes and reads, and room
/// for the results. It is allocated before anything collective begins, so that a rank without
/// memory can inform the others.
struct SetUp {
  Ranks ranks{};
  Card own{};
  std::vector<Card> cards{};
  std::vector<std::uint64_t> hosts{};  ///< Identities of the machines, in the order of ranks.
  std::vector<Cores> machine{};        ///< Cores of the ranks on this machine.
  MPI_Comm parent = MPI_COMM_NULL;     ///< For agree(), since a transport may free the duplicate.
  Rank failed = -1;                    ///< This rank if it has failed, or -1.
  Rank any_failed = -1;                ///< The highest rank that has failed, or -1.
  MPI_Request request = MPI_REQUEST_NULL;
};

/// @return ranks with the host and the cores of this process. Throws Error.
[[nodiscard]] Ranks own_ranks();
/// @param known its host and cores are used. @param size of the new communicator. @param options
/// and @param key of the group; gather() checks that they are equal on all ranks. @return all the
/// memory that gather() needs. Throws Error, std::bad_alloc.
[[nodiscard]] std::unique_ptr<SetUp> make_set_up(const Ranks& known, int size,
                                                 const Options& options, std::uint64_t key = 0);
/// Duplicates a communicator and exchanges cards. Collective, within the timeout of the options.
/// @param set_up of make_set_up; its ranks and cards are set. It is leaked if the MPI may still
/// write to it. @param parent the communicator to duplicate. @param options as of make_set_up.
/// Throws Error.
void gather(std::unique_ptr<SetUp>& set_up, MPI_Comm parent, const Options& options);
/// Agrees that no rank has failed. Collective. @param set_up after gather(). @param options as of
/// make_set_up. @param failed the failure of this rank, or null. Throws that, and Error{transport}
/// that names another rank which has failed.
void agree(std::unique_ptr<SetUp>& set_up, const Options& options, std::exception_ptr failed);
/// Makes an object that uses the duplicate, on all ranks or on none. Collective. @param set_up
/// after gather(). @param options as of make_set_up. @param make called with the set-up; may throw.
/// @return the value of make. Throws as agree().
template <class Make>
auto make_agreed(std::unique_ptr<SetUp>& set_up, const Options& options, const Make& make) {
  std::optional<decltype(make(*set_up))> made;  // allocates nothing before make() runs
  std::exception_ptr failed;
  try {
    made.emplace(make(*set_up));
  } catch (...) {
    failed = std::current_exception();
  }
  agree(set_up, options, failed);
  return std::move(*made);
}
/// As agree(), before there is a duplicate. It allocates nothing, and blocks. @param comm of the
/// ranks. @param failed as of agree().
void agree_on_memory(MPI_Comm comm, std::exception_ptr failed);

/// Duplicates a communicator. Collective. @param parent the caller's. @param options and @param key
/// of the group; it checks that they are equal on all ranks. Throws Error.
[[nodiscard]] Ranks gather_ranks(MPI_Comm parent, const Options& options, std::uint64_t key = 0);

/// @return the time since an arbitrary start, as Transport::now.
[[nodiscard]] inline Duration time_now() noexcept {
  return std::chrono::steady_clock::now().time_since_epoch();
}

}  // namespace tutti::v0::mpi

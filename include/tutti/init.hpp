/// @file
/// init: the communicator of all ranks that were started together.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <tutti/communicator.hpp>
#include <tutti/export.hpp>

namespace tutti::v0 {

/// The default time for which ranks wait for each other.
inline constexpr Duration kInitTimeout = std::chrono::seconds{60};

/// How a world starts. With a launcher, all defaults are right.
struct InitOptions {
  /// Meeting place of the ranks: "tcp://host:port", where rank 0 listens; "unix://name", a name at
  /// which rank 0 listens on the one host of all ranks; or "file:///path", a folder that all ranks
  /// see. Empty: TUTTI_URL, or the launcher's.
  std::string url{};
  std::optional<Rank> rank{};  ///< The own rank, together with size. Empty: the launcher's.
  std::optional<int> size{};   ///< The number of ranks. Empty: the launcher's.
  /// Transport of messages. "auto": shared memory inside a host, TCP between hosts. "shm": shared
  /// memory or an error. "tcp": TCP between all ranks. Two more are for tutti::mpi::init.
  /// "shm+mpi": shared memory inside a host, MPI between hosts. "fastest": TCP and MPI between
  /// hosts; both are measured at the start, and each call takes the one that is predicted to be
  /// faster. Equal on all ranks.
  std::string transport = "auto";
  /// How long ranks wait for each other. Zero: TUTTI_TIMEOUT, or kInitTimeout without it;
  /// Duration::max(): no limit; less than zero is Error{invalid_argument}.
  Duration timeout = Duration::zero();
  /// Time without a message after which a rank on another host is given up. Networks that pause,
  /// and machines that are migrated, need more time; less time detects a cut cable sooner. A thread
  /// of each rank sends twenty heartbeats in this time. Equal on all ranks, and 100 ms or more.
  Duration heartbeat_timeout = std::chrono::seconds{5};
  /// Interface or address of this host at which other hosts reach it. Empty: TUTTI_ADDRESS, or
  /// tutti chooses.
  std::string address{};
  /// Whether payload over TCP has a CRC32C of its own, against networks and memory that change
  /// bytes unnoticed. Equal on all ranks.
  bool payload_checksum = false;
  /// Speed of the network between hosts in Mbit/s, by which algorithms are chosen. Zero: measured
  /// at the start, to the nearest power of ten. A given speed makes the same choices, and so the
  /// same bits, in every run, however busy the network is at the start. Equal on all ranks.
  int network_megabits = 0;
  /// File of mode 0600 with the job's secret. Empty: TUTTI_SECRET_FILE, or none.
  std::string secret_file{};
  /// Allows a network on which peers are not authenticated. Anyone who reaches a port can then join
  /// the job, and read and falsify its data. The loopback does not count as a network: any user of
  /// the machine can join ranks that meet at tcp://localhost without a secret.
  bool insecure = false;
  /// Encrypts TCP between ranks by TLS 1.3. Ranks prove once more that they know the job's secret.
  /// Equal on all ranks.
  bool tls = false;
  /// The tuning file of `tutti tune`, with measured algorithms; rank 0's file is used by all.
  /// Empty: TUTTI_TUNING, or tutti/tuning.json in XDG_CONFIG_HOME or in .config of the home folder,
  /// if it exists. "none": no file. A file of another machine is ignored; `warn` and explain()
  /// report it.
  std::string tuning{};
  /// The network between hosts, by which algorithms are chosen, as `tutti topology` takes it: a
  /// family such as "fat_tree:16x8:up=1x8", whose hosts are assigned in the order of ranks, or a
  /// file, whose hosts are found by name. Rank 0's is used by all. Empty: TUTTI_TOPOLOGY, or one
  /// switch with the speed that is measured at the start.
  std::string topology{};
  /// Gets a sentence on rank 0 if the world starts without something that was found, such as a
  /// tuning file of another machine. Called within init; empty: standard error
  /// gets it.
  std::function<void(std::string_view)> warn{};
  CommunicatorOptions communicator{};  ///< Options of the communicator.
};

/// Finds the world of this process, and connects to every other rank. `mpirun`, `srun`, `torchrun`
/// or `tutti run` may have started the ranks; a process without a launcher is a world of one rank.
/// docs/starting.md has the precedence of launchers and variables. Collective over the world. May
/// be called again, for a world of its own. If the world needs more open files than the soft limit
/// of this process allows, the limit is raised and stays raised.
/// @param options its timeout, and its strings except transport, may differ between ranks.
/// @return the communicator of all ranks. Throws, after timeout at the latest:
/// Error{invalid_argument} for wrong options or variables, or launchers that disagree;
/// Error{timeout} that names the missing ranks; Error{mismatch} if ranks have different versions,
/// secrets, sizes, or options that must be equal; Error{transport}. Thread-safe.
[[nodiscard]] TUTTI_API Communicator init(const InitOptions& options = {});
/// As init. @return the communicator of all ranks, or the Error.
[[nodiscard]] TUTTI_API Result<Communicator> try_init(const InitOptions& options = {}) noexcept;

}  // namespace tutti::v0

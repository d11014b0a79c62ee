/// @file
/// The way in: the communicator of all ranks that were started together.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <tutti/communicator.hpp>
#include <tutti/export.hpp>

namespace tutti::v0 {

/// How long ranks wait for each other where nobody says another time.
inline constexpr Duration kInitTimeout = std::chrono::seconds{60};

/// How a world comes together. All may stay as they are where a launcher started the ranks.
struct InitOptions {
  /// Where the ranks meet: "tcp://host:port", where rank 0 listens; "unix://name", a name that it
  /// listens at on the one host of all; or "file:///path", a folder that all see. Empty: as the
  /// launcher, or TUTTI_URL, says.
  std::string url{};
  std::optional<Rank> rank{};  ///< The own rank, together with size. Empty: as launched.
  std::optional<int> size{};   ///< The number of ranks. Empty: as launched.
  /// "auto": shared memory inside a host, TCP between hosts. "shm": shared memory or an error.
  /// "tcp": TCP between all ranks. "shm+mpi", for tutti::mpi::init: shared memory inside a host,
  /// MPI between hosts; "fastest", likewise, TCP and MPI between hosts, whichever is predicted to
  /// be faster for a call, by what both were measured to take at the start. Equal on all ranks.
  std::string transport = "auto";
  /// How long ranks wait for each other; zero takes TUTTI_TIMEOUT, or kInitTimeout without it, less
  /// is Error{invalid_argument}, and Duration::max() is for ever.
  Duration timeout = Duration::zero();
  /// A rank on another host that is not heard of for so long is given up. Networks that pause, and
  /// machines that are moved, need more; who wants to know of a cut cable sooner takes less. Every
  /// rank says that it is there twenty times in this time, from a thread that does nothing else; so
  /// it must be equal on all ranks, and 100 ms or more.
  Duration heartbeat_timeout = std::chrono::seconds{5};
  /// Interface or address of this host at which others reach it; empty: TUTTI_ADDRESS, or tutti
  /// chooses.
  std::string address{};
  /// Whether what is sent over TCP has a CRC32C of its own, against networks and memory that change
  /// bytes unnoticed. Equal on all ranks.
  bool payload_checksum = false;
  /// Speed of the network between hosts in Mbit/s, by which algorithms are chosen; zero measures it
  /// at the start, within a decade. Equal on all ranks. Who says it has the same choices, and so
  /// the same bits, in every run, however busy the network is when a run starts.
  int network_megabits = 0;
  /// File of mode 0600 with the job's secret; empty: TUTTI_SECRET_FILE, or none.
  std::string secret_file{};
  /// Allows a network on which peers are not authenticated. Anyone who reaches a port can then
  /// join the job, read its data, and falsify it. The loopback is taken for no network: ranks that
  /// meet at tcp://localhost without a secret can be joined by every user of the machine.
  bool insecure = false;
  /// Encrypts what goes over TCP between ranks: TLS 1.3, by which the ranks prove to each other
  /// once more that they know the job's secret. All ranks must want it, or none.
  bool tls = false;
  /// The tuning file of `tutti tune`, by which measured algorithms are chosen; rank 0's is taken by
  /// all. Empty: TUTTI_TUNING, or tutti/tuning.json in XDG_CONFIG_HOME or in .config of the home
  /// folder, if it is there. "none": no file. One of another machine is not used, which `warn` and
  /// explain() say.
  /// Unless it is "none", the first start on a machine times plain calls for some milliseconds and
  /// keeps the times beside the usual file: explain() tells them, and no choice rests on them.
  std::string tuning{};
  /// The network between hosts, by which algorithms are chosen, as `tutti topology` takes it: a
  /// family such as "fat_tree:16x8:up=1x8", whose hosts are taken in the order of ranks, or a file,
  /// whose hosts are found by their names. Rank 0's is taken by all. Empty: TUTTI_TOPOLOGY, or one
  /// switch with the speed that is measured at the start.
  std::string topology{};
  /// Gets a sentence on rank 0 where the world starts without something that was found, such as a
  /// tuning file of another machine. Called within init; empty: nobody is warned.
  std::function<void(std::string_view)> warn{};
  CommunicatorOptions communicator{};  ///< What the communicator is made with.
};

/// Finds the world this process belongs to, and connects to every other rank. The ranks may have
/// been started by `mpirun`, `srun`, `torchrun`, `tutti run`, or by nobody, which is a world of
/// one rank; docs/starting.md has who is believed. Collective over the world. May be called again,
/// for a world of its own. Raises the soft limit of open files of this process, and leaves it so,
/// where the world needs more than it allows.
/// @param options see InitOptions; its timeout and its strings but transport may differ between
/// ranks.
/// @return the communicator of all ranks. Throws, after timeout at the latest,
/// Error{invalid_argument} for what is wrong with options, variables or launchers that disagree;
/// Error{timeout} that names the missing ranks; Error{mismatch} where ranks have other
/// versions, secrets, sizes, or options that must be equal; Error{transport}. Thread-safe.
[[nodiscard]] TUTTI_API Communicator init(const InitOptions& options = {});
/// As init. @param options see InitOptions. @return the communicator of all ranks, or the Error.
[[nodiscard]] TUTTI_API Result<Communicator> try_init(const InitOptions& options = {}) noexcept;

}  // namespace tutti::v0

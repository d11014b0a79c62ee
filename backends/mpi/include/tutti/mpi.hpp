/// @file
/// The way in from MPI: communicators over any MPI-3 library, and that library's own collectives.
/// Built once per MPI; nothing here initialises or finalises MPI.
#pragma once

#include <cstddef>
#include <memory>

#include <mpi.h>

#include <tutti/call.hpp>
#include <tutti/communicator.hpp>
#include <tutti/export.hpp>
#include <tutti/init.hpp>
#include <tutti/spi/transport.hpp>

/// tutti over an MPI library.
///
/// MPI must be initialised before, and finalised after, the life of what is made here; once it is
/// finalised, destructors make no MPI call. MPI_THREAD_SINGLE or MPI_THREAD_FUNNELED serve a
/// program that uses tutti and MPI from the main thread only, MPI_THREAD_SERIALIZED one that uses
/// both from one thread at a time, and MPI_THREAD_MULTIPLE several threads with a communicator
/// each.
///
/// The MPI is called by its PMPI_ names: profilers and others that stand between a program and its
/// MPI see the calls of the program alone.
namespace tutti::v0::mpi {

/// Options of the transport. Equal on all ranks.
struct Options {
  /// Payload bytes of one MPI message, 1 .. 2^31 - 1; longer payloads are sent in several. A
  /// payload that is reduced is sent in messages of at most 1 MiB, so that it is in a cache then.
  std::size_t chunk_bytes = std::size_t{1} << 30;
  /// The longest wait of the set-up, a collective operation of the whole group, for the other
  /// ranks: not less than zero, and Duration::max() is for ever.
  Duration timeout = std::chrono::seconds{300};
};

/// Connects the ranks of an MPI communicator by tutti's own transports: shared memory inside a
/// host, TCP between hosts. MPI serves for the ranks to find each other, and is not needed
/// afterwards. Collective over `comm`, of which collective calls are made, and no duplicate:
/// threads may do so at the same time, each with a communicator of its own. What the MPI meets
/// meanwhile goes to the error handler of `comm`. Connections are kept until MPI_Finalize, and
/// shared by communicators of the same processes: to make a second one costs little more than
/// MPI_Comm_dup.
///
/// As long as it is there, a rank that waits in tutti makes it progress, as in calls of the MPI's
/// own: what it has under way may be what the awaited rank waits for. Where the MPI's level of
/// thread support is below MPI_THREAD_SERIALIZED the main thread alone does so. MPI_Finalize must
/// not run while another thread is in a call of tutti. What the MPI meets then goes to the error
/// handler of MPI_COMM_WORLD, by which it ends the program unless that has set another one.
///
/// With the transport "shm+mpi" messages between hosts are MPI's instead, and only the control
/// plane uses TCP. Then groups that span hosts are made as `communicator` makes them, and MPI must
/// live as long as what is made here. With "fastest" hosts are connected by both, which rank 0 and
/// one rank of another host measure at the start; each call takes what is predicted to be faster
/// for it, or what Options::transport says, and explain() says what and why. Messages between two
/// ranks go by TCP.
/// @param comm an intra-communicator. @param options as of tutti::init; not its url, rank and size.
/// @return the communicator, with the ranks of `comm`. Throws Error.
[[nodiscard]] TUTTI_API Communicator init(MPI_Comm comm, const InitOptions& options = {});

/// A communicator over a private duplicate of an MPI communicator. Collective over `comm`. Ranks of
/// one host are connected by sockets of Unix as well, over which they know at once when one of them
/// ends, and agree on what failed; those of other hosts learn of it by the MPI.
/// @param comm an intra-communicator; it stays the caller's, and its messages never mix with ours.
/// @param options of the communicator, equal on all ranks. @param transport see Options.
/// @return the communicator, with the ranks of `comm`. Its groups and splits are made by MPI, which
/// blocks until all members take part, without a deadline: ranks that make overlapping groups must
/// make them in one order. Throws Error.
[[nodiscard]] TUTTI_API Communicator communicator(MPI_Comm comm,
                                                  const CommunicatorOptions& options = {},
                                                  const Options& transport = {});

/// The transport underneath `communicator`. Collective over `comm`.
///
/// After construction it calls no blocking MPI function. Errors of MPI are returned and thrown as
/// Error{transport}, never fatal. If it fails it keeps its duplicate communicator, because messages
/// may still be under way in it, and so does one destroyed with transfers pending.
///
/// Transport::abort cancels what it can and waits up to one second for messages that already
/// arrive in posted pieces. MPI offers no more: only if a rank stopped amid such a message, and
/// goes on later, may posted pieces still be written. A program that gets Error{timeout} or
/// Error{peer_dead} should end itself with MPI_Abort, since MPI_Finalize waits for the dead.
/// @param comm an intra-communicator, as above. @param options see Options.
/// @return the transport. Throws Error.
[[nodiscard]] TUTTI_API std::unique_ptr<Transport> make_transport(MPI_Comm comm,
                                                                  const Options& options = {});

/// Whether the MPI has a call of its own for a collective, or for a message between two ranks. It
/// lacks f16 and bf16 reductions, averages, users' operators, the reduce_scatter into the own block
/// of the input, and counts beyond 2^31 - 1.
/// @param call the call. @param comm where it would run. @return true if native() can run it.
[[nodiscard]] TUTTI_API bool has_native(const Call& call, MPI_Comm comm) noexcept;

/// Runs the MPI's own *blocking* call. Nothing is checked between the ranks, no deadline is kept,
/// and the MPI's arithmetic applies, not ours. Equal input and output mean in place.
/// @param call the call. Where it has in_counts or out_counts they are the elements of each rank's
/// block, as they are with Call::own_counts, also of an all_gather (out_counts) and of a
/// reduce_scatter (in_counts); else blocks are equal. @param comm where it runs: collectively, or
/// by the ranks of a message. Throws Error{invalid_argument} that says what the MPI lacks,
/// Error{transport} if it reports a failure.
TUTTI_API void native(const Call& call, MPI_Comm comm);

}  // namespace tutti::v0::mpi

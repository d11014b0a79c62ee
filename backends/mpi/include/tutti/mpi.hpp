/// @file
/// tutti in programs with an MPI: communicators over any MPI-3 library, and that library's own
/// collectives. Built once per MPI. Nothing here initialises or finalises MPI.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include <mpi.h>

#include <tutti/call.hpp>
#include <tutti/communicator.hpp>
#include <tutti/export.hpp>
#include <tutti/init.hpp>
#include <tutti/spi/transport.hpp>
#include <tutti/types.hpp>

/// tutti over an MPI library.
///
/// MPI must be initialised before, and finalised after, the life of all objects made here; once it
/// is finalised, destructors make no MPI call. MPI_THREAD_SINGLE and MPI_THREAD_FUNNELED suffice
/// for a program that uses tutti and MPI from the main thread only, MPI_THREAD_SERIALIZED for one
/// that uses both from one thread at a time, and MPI_THREAD_MULTIPLE for several threads with a
/// communicator each.
///
/// tutti calls the MPI by its PMPI_ names, so profilers between a program and its MPI see the calls
/// of the program only.
namespace tutti::v0::mpi {

/// Options of messages over an MPI. Equal on all ranks.
struct Options {
  /// Payload bytes of one MPI message, 1 .. 2^31 - 1; longer payload is sent in several. Payload of
  /// reductions is sent in messages of at most 1 MiB, so that it is in the cache when it is
  /// reduced.
  std::size_t chunk_bytes = std::size_t{1} << 30;
  /// How long the set-up, a collective operation of the whole group, waits for the other ranks.
  /// Zero: TUTTI_TIMEOUT, or 300 s without it; Duration::max(): no limit.
  Duration timeout = Duration::zero();
};

/// Connects the ranks of an MPI communicator by tutti's own transports: shared memory inside a
/// host, TCP between hosts. The ranks find each other over the MPI, which is not needed afterwards.
/// Collective over `comm`: it makes collective calls on it and no duplicate, so threads may call it
/// at the same time, each with a communicator of its own. Errors of the MPI in these calls go to
/// the error handler of `comm`. Connections are kept until MPI_Finalize, and shared by
/// communicators of the same processes: a second one costs little more than MPI_Comm_dup.
///
/// A rank that waits in tutti makes progress in the MPI, as calls of the MPI do, since the awaited
/// rank may need that. If the MPI's thread level is below MPI_THREAD_SERIALIZED, only the main
/// thread does so. MPI_Finalize must not run while another thread is in a call of tutti. Errors of
/// the MPI in that progress go to the error handler of MPI_COMM_WORLD, which ends the program by
/// default.
///
/// With the transport "shm+mpi" messages between hosts are the MPI's, and only the control plane
/// uses TCP. Groups that span hosts are then made as `communicator` makes them, and MPI must
/// outlive all objects made here. With "fastest" both connect hosts, and rank 0 and one rank of
/// another host measure them at the start. Each call takes the one that is predicted to be faster,
/// or that Options::transport names, and explain() prints the choice. Messages between two ranks
/// use TCP.
/// @param comm an intra-communicator. @param options as for tutti::init, without url, rank and
/// size.
/// @return the communicator, with the ranks of `comm`. Throws Error.
[[nodiscard]] TUTTI_API Communicator init(MPI_Comm comm, const InitOptions& options = {});

/// A communicator over a private duplicate of an MPI communicator. Collective over `comm`. Ranks of
/// one host are also connected by Unix sockets, over which they notice at once when one of them
/// ends, and agree on the cause of a failure; those of other hosts learn of it over the MPI.
/// @param comm an intra-communicator, owned by the caller; its messages never mix with tutti's.
/// @param options of the communicator, equal on all ranks.
/// @return the communicator, with the ranks of `comm`. MPI makes its groups and splits, which
/// blocks until all members take part, without a deadline: ranks that make overlapping groups must
/// make them in one order. Throws Error.
[[nodiscard]] TUTTI_API Communicator communicator(MPI_Comm comm,
                                                  const CommunicatorOptions& options = {},
                                                  const Options& transport = {});

/// The transport underneath `communicator`. Collective over `comm`.
///
/// After construction it calls no blocking MPI function. Errors of MPI are returned and thrown as
/// Error{transport}, never fatal. If it fails, or is destroyed with transfers pending, it keeps its
/// duplicate communicator, because messages may still be under way in it.
///
/// Transport::abort cancels transfers and waits up to one second for messages that already arrive
/// in posted pieces. MPI offers no more: if a rank stopped amid such a message, and continues
/// later, posted pieces may still be written. A program that gets Error{timeout} or
/// Error{peer_dead} should end itself with MPI_Abort, since MPI_Finalize waits for dead ranks.
/// @param comm an intra-communicator. Throws Error.
[[nodiscard]] TUTTI_API std::unique_ptr<Transport> make_transport(MPI_Comm comm,
                                                                  const Options& options = {});

/// @param type a valid datatype. @return the type of tutti with the same elements; none if the
/// datatype is derived, or if tutti has no such elements, as for long double. MPI_BYTE and the
/// truth values are integers of their size. MPI must be initialised. Thread-safe as
/// MPI_Type_get_name of the MPI is.
[[nodiscard]] TUTTI_API std::optional<Datatype> datatype_of(MPI_Datatype type);
/// @return the MPI's datatype with the same elements; MPI_DATATYPE_NULL for f16, bf16 and opaque.
[[nodiscard]] TUTTI_API MPI_Datatype mpi_datatype_of(Datatype type) noexcept;
/// @return the operator of tutti with the same meaning; none for those of a program, for
/// MPI_REPLACE and MPI_NO_OP.
[[nodiscard]] TUTTI_API std::optional<OperatorKind> operator_of(MPI_Op op) noexcept;
/// @return the MPI's operator with the same meaning; MPI_OP_NULL for average and user.
[[nodiscard]] TUTTI_API MPI_Op mpi_operator_of(OperatorKind kind) noexcept;

/// @return whether the MPI has a call of its own for a collective, or for a message between two
/// ranks, so that native() can run it. It lacks f16 and bf16 reductions, averages, user operators,
/// the reduce_scatter into the own block of the input, and counts beyond 2^31 - 1.
[[nodiscard]] TUTTI_API bool has_native(const Call& call, MPI_Comm comm) noexcept;

/// Runs the MPI's own *blocking* call. Nothing is checked between the ranks, there is no deadline,
/// and the MPI's arithmetic applies, not tutti's. Equal input and output mean in place.
/// @param call its in_counts and out_counts, if present, are the elements of each rank's block, as
/// with Call::own_counts, also for an all_gather (out_counts) and a reduce_scatter (in_counts);
/// otherwise blocks are equal.
/// @param comm collectively, or by the ranks of a message. Throws Error{invalid_argument} that
/// names what the MPI lacks, Error{transport} if it reports a failure.
TUTTI_API void native(const Call& call, MPI_Comm comm);

}  // namespace tutti::v0::mpi

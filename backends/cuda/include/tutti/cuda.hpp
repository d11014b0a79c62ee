/// @file
/// Collectives on memory of GPUs. The CUDA driver and NCCL are loaded when they are first needed,
/// so a program that is linked to this runs on machines without them too.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>

#include <tutti/buffer.hpp>
#include <tutti/communicator.hpp>
#include <tutti/export.hpp>

namespace tutti::v0::cuda {

/// How a GPU is attached.
struct Options {
  /// Which one, as cudaGetDevice counts them; -1: that of the context which is current in the
  /// calling thread, or else the only one that the process sees. Before CUDA 12 cudaSetDevice makes
  /// no context current; cudaFree(0) after it does.
  int device = -1;
  /// What messages between GPUs go by: "nccl"; or "host", over the transport that the communicator
  /// has anyway, which needs no NCCL. Then they go through pinned memory of the host, up to 32 MiB
  /// for each communicator of up to 2048 ranks. Equal on all ranks.
  std::string_view transport = "nccl";
  /// Experimental: whether peers, all of one host, see memory of `allocate`, by peer access and,
  /// where they are other processes, CUDA IPC, for calls with Options::visible and buckets of
  /// GradientSync. Each communicator then takes 66 MiB of its GPU. Over NCCL that memory is not
  /// symmetric, and peers that cannot see it are Error{transport}; over the host such calls send
  /// messages then. Equal on all ranks.
  bool visible = false;
  /// Whether ranks compare what they call, over the host's transport, before it is enqueued: calls
  /// that differ are then Error{mismatch} on all ranks, and each costs a small all_gather of the
  /// host. Without it they wait for each other until `wait` gives up. Equal on all ranks.
  bool compare_calls = false;
  /// How long NCCL's start may take, and at its end calls that are not done; what is aborted then,
  /// and has not ended in 2 s, such as where there are CUDA graphs of the communicator, ends in a
  /// thread of its own. Over the host: how long the end of the communicator waits for calls that
  /// are not done, and then until other processes of the host, which see memory of this GPU, end
  /// theirs too.
  Duration timeout = std::chrono::seconds{60};
  /// Over NCCL: whether its communicators do not block (ncclConfig_t::blocking is 0). Each call
  /// then costs a thread of NCCL's, and 15 to 35 us. Not with NCCL 2.26, which hangs now and then.
  bool nonblocking = false;
};

/// Attaches a GPU on each rank, so that the communicator takes calls with Options::stream: our
/// algorithms then run on the GPU, as messages and kernels of our own, in the order of the stream,
/// and the host waits for nothing, but: over NCCL the first call to a rank waits on the host, up to
/// the timeout of the communicator, until that one calls too. Collective, over the host's
/// transport. Calls without a stream are the host's as before, and refuse memory of the GPU. Groups
/// and splits of it have the same GPU.
/// @param world of ranks, which can be divided. Over NCCL no two ranks have the same GPU; by "host"
/// the transport may be called by a thread of ours: over an MPI that needs MPI_THREAD_MULTIPLE.
/// @param options see Options.
/// Throws, on all ranks alike, Error{transport} that says which rank lacks what: the driver, a GPU,
/// NCCL 2.23 or newer; Error{invalid_argument} that names two ranks with one GPU, a GPU that is not
/// there, or what the communicator cannot; Error{mismatch} where ranks differ in
/// Options::transport or Options::visible; Error{timeout}. Once for a communicator, and not within
/// a batch. Streams of its calls are of the primary context of the GPU, which the CUDA runtime has:
/// the default stream where no other context is current; not cudaStreamPerThread, and none of a
/// green context.
TUTTI_API void attach(Communicator& world, const Options& options = {});

/// Waits until a stream has done all that was enqueued on it, as cudaStreamSynchronize does, but
/// not for ever: where another rank fails, or the timeout passes, all that is under way is aborted,
/// so that the stream goes on, and the communicator has failed.
/// @param world to which a GPU is attached. @param stream as Options::stream of its calls. @param
/// timeout how long to wait. Throws Error{invalid_argument, timeout, peer_dead, aborted,
/// transport}.
TUTTI_API void wait(Communicator& world, Stream stream,
                    Duration timeout = std::chrono::seconds{300});

/// @param world to which a GPU is attached. @param bytes equal on all ranks. @return memory of the
/// GPU, as of allocate. Throws likewise.
[[nodiscard]] TUTTI_API std::shared_ptr<std::byte> allocate_bytes(Communicator& world,
                                                                  std::size_t bytes);
/// Allocates memory that NCCL moves best: registered with it, and, where it has that, symmetric
/// (ncclCommWindowRegister), or that peers see, see Options::visible. Collective. The host cannot
/// touch the elements. The buffer has to live until all calls on it are done, as after `wait`. Any
/// thread may drop it: NCCL's memory ends with the next call on a stream or the communicator, and
/// other memory, as by cudaFree, when its GPU has done all, which may wait for ranks that are
/// threads of the same process. NCCL's own calls with such memory as input and output have that on
/// all ranks, at offsets in it that are equal on all ranks.
/// @tparam T type of the elements. @param world to which a GPU is attached. @param count of
/// elements, equal on all ranks. @return them, zeroed, in memory of the GPU. Throws, on all ranks
/// alike, Error{transport} that says which rank's GPU has no more memory, Error{mismatch} where
/// they allocate different amounts; Error{invalid_argument, timeout}; std::bad_alloc where no
/// memory is that large. Not within a batch.
template <class T>
[[nodiscard]] Buffer<T> allocate(Communicator& world, std::size_t count) {
  return Buffer<T>{allocate_bytes(world, Buffer<T>::bytes_of(count)), count, false};
}

}  // namespace tutti::v0::cuda

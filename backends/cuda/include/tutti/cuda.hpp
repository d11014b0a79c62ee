/// @file
/// Collectives on memory of GPUs. The CUDA driver and NCCL are loaded at their first use, so a
/// program that is linked to this runs on machines without them too.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>

#include <tutti/buffer.hpp>
#include <tutti/communicator.hpp>
#include <tutti/export.hpp>

namespace tutti::v0::cuda {

/// @return the GPU of the calling thread's current context or, without one, the only GPU of the
/// process, by cudaGetDevice's number. Before CUDA 12 cudaSetDevice makes no context current;
/// cudaFree(0) after it does. Throws Error{transport} without a driver, Error{invalid_argument}
/// without such a GPU.
[[nodiscard]] TUTTI_API int current_device();

/// Options of attach.
struct AttachOptions {
  /// The GPU, by cudaGetDevice's number; -1: current_device().
  int device = -1;
  /// Transport of messages between GPUs: "nccl"; or "host", over the communicator's transport,
  /// which needs no NCCL. "host" uses pinned memory of the host, up to 32 MiB for each communicator
  /// of up to 2048 ranks. Equal on all ranks.
  std::string_view transport = "nccl";
  /// Experimental: whether peers, all of one host, see memory of `allocate`, by peer access and,
  /// between processes, CUDA IPC, for calls with Options::visible and buckets of GradientSync. Each
  /// communicator then takes 66 MiB of its GPU. Over NCCL that memory is not symmetric, and peers
  /// that cannot see it are Error{transport}; over the host such calls then send messages. Equal on
  /// all ranks.
  bool visible = false;
  /// Whether ranks compare their calls, over the host's transport, before these are enqueued.
  /// Different calls are then Error{mismatch} on all ranks, and each call costs a small all_gather
  /// of the host. Otherwise ranks with different calls wait for each other until `wait` gives up.
  /// Equal on all ranks.
  bool compare_calls = false;
  /// Over NCCL: most time of NCCL's start and, at its end, of unfinished calls. Work that is then
  /// aborted and has not ended in 2 s, for example because a CUDA graph of the communicator exists,
  /// ends in a thread of its own. Over the host: how long the end of the communicator waits for
  /// unfinished calls, and then until other processes of the host, which see memory of this GPU,
  /// end theirs too.
  Duration timeout = std::chrono::seconds{60};
  /// Over NCCL: whether its communicators do not block (ncclConfig_t::blocking is 0). Each call
  /// then costs a thread of NCCL, and 15 to 35 us. Not with NCCL 2.26, which sometimes hangs.
  bool nonblocking = false;
};

/// Attaches a GPU on each rank, so that the communicator accepts calls with Options::stream.
/// tutti's algorithms then run on the GPU, as messages and kernels in the order of the stream, and
/// the host waits for nothing, with one exception: over NCCL the first call to a rank waits on the
/// host, up to the timeout of the communicator, until that rank calls too. Collective, over the
/// host's transport. Calls without a stream run on the host as before, and reject memory of the
/// GPU. Groups and splits have the same GPU.
///
/// Once for a communicator, and not within a batch. Streams of its calls belong to the primary
/// context of the GPU, as those of the CUDA runtime: the default stream if no other context is
/// current; not cudaStreamPerThread, and none of a green context.
/// @param world can be divided. Over NCCL no two ranks have the same GPU, unless they are processes
/// and NCCL_MULTI_RANK_GPU_ENABLE lets them share one. With "host" a thread of
/// tutti calls the transport: over an MPI that needs MPI_THREAD_MULTIPLE. Throws, on all ranks
/// alike: Error{transport} that names a rank and what it lacks: the driver, a GPU, NCCL 2.23 or
/// newer; Error{invalid_argument} that names two ranks with one GPU, a missing GPU, or what the
/// communicator does not support; Error{mismatch} if ranks differ in AttachOptions::transport or
/// AttachOptions::visible; Error{timeout}.
TUTTI_API void attach(Communicator& world, const AttachOptions& options = {});

/// Waits until a stream has done all enqueued work, as cudaStreamSynchronize, but with a deadline:
/// if another rank fails, or the timeout passes, all work under way is aborted, so that the stream
/// continues, and the communicator has failed.
/// @param world with a GPU. @param stream as Options::stream of its calls. Throws
/// Error{invalid_argument, timeout, peer_dead, aborted, transport}.
TUTTI_API void wait(Communicator& world, Stream stream,
                    Duration timeout = std::chrono::seconds{300});

/// @param world with a GPU. @param bytes equal on all ranks. @return memory of the GPU, as
/// allocate. Throws as allocate.
[[nodiscard]] TUTTI_API std::shared_ptr<std::byte> allocate_bytes(Communicator& world,
                                                                  std::size_t bytes);
/// Allocates memory for the fastest messages: registered with NCCL and, if NCCL supports it,
/// symmetric (ncclCommWindowRegister); or memory that peers see, see AttachOptions::visible.
/// Collective. The host cannot touch the elements. The buffer must live until all calls on it are
/// done, for example after `wait`. Any thread may drop it. NCCL's memory is freed by the next call
/// on a stream, or with the communicator. Other memory is freed as by cudaFree, when its GPU has
/// done all work, which may wait for ranks that are threads of the same process. If NCCL's own
/// calls have such memory as input and output, they need it on all ranks, at equal offsets.
/// @param world with a GPU. @param count of elements, equal on all ranks.
/// @return the elements, zeroed, in memory of the GPU. Throws, on all ranks alike, Error{transport}
/// that names a rank whose GPU has no more memory, Error{mismatch} if ranks allocate different
/// amounts; Error{invalid_argument, timeout}; std::bad_alloc if no memory is that large. Not within
/// a batch.
template <class T>
[[nodiscard]] Buffer<T> allocate(Communicator& world, std::size_t count) {
  return Buffer<T>{allocate_bytes(world, Buffer<T>::bytes_of(count)), count, false};
}

}  // namespace tutti::v0::cuda

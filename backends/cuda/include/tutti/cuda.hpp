/// @file
/// Collectives on memory of GPUs. The CUDA driver and NCCL are loaded when they are first needed,
/// so a program that links this library also runs on machines without them.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>

#include <tutti/buffer.hpp>
#include <tutti/communicator.hpp>
#include <tutti/export.hpp>

namespace tutti::v0::cuda {

/// Options of `attach`.
struct AttachOptions {
  /// The GPU, as cudaGetDevice counts. -1: the GPU of the context that is current in the calling
  /// thread, or else the only one that the process sees. Before CUDA 12 cudaSetDevice makes no
  /// context current; cudaFree(0) after it does.
  int device = -1;
  /// The transport of messages between GPUs: "nccl"; or "host", the transport that the communicator
  /// has already, which needs no NCCL. Over the host, messages pass through pinned memory, up to 32
  /// MiB for each communicator of up to 2048 ranks. Equal on all ranks.
  std::string_view transport = "nccl";
  /// Experimental: ranks of one host see each other's memory of `allocate`, by peer access, and
  /// between processes by CUDA IPC. Calls with Options::visible and buckets of GradientSync use
  /// that. Each communicator then takes 66 MiB of its GPU. Over NCCL that memory is not symmetric,
  /// and it is Error{transport} if ranks cannot see each other's memory; over the host such calls
  /// then send messages. Equal on all ranks.
  bool visible = false;
  /// Ranks compare their calls over the host's transport before they enqueue them: calls that
  /// differ are then Error{mismatch} on all ranks. Each call costs a small all_gather of the host.
  /// Without this, such calls wait for each other until `wait` fails. Equal on all ranks.
  bool compare_calls = false;
  /// The time limit of NCCL's start, and of pending calls when the communicator ends. After that
  /// the calls are aborted; an abort that takes more than 2 s, such as with CUDA graphs of the
  /// communicator, continues in a thread of its own. Over the host: the time limit of pending calls
  /// when the communicator ends, and then of other processes that see memory of this GPU.
  Duration timeout = std::chrono::seconds{60};
  /// NCCL's communicators do not block (ncclConfig_t::blocking is 0). Each call then costs a thread
  /// of NCCL's, and 15 to 35 us. Not with NCCL 2.26, which hangs now and then.
  bool nonblocking = false;
};

/// Attaches a GPU on each rank, so that the communicator accepts calls with Options::stream. Our
/// algorithms then run on the GPU, as messages and kernels of our own, in the order of the stream.
/// The host waits for nothing, with one exception: over NCCL the first call to a rank waits on the
/// host until that rank calls too, up to the timeout of the communicator. Calls without a stream
/// stay on the host, and reject memory of the GPU. Groups and splits of the communicator have the
/// same GPU. Collective, over the host's transport. Once for a communicator, and not within a
/// batch.
///
/// Streams of calls belong to the primary context of the GPU, which the CUDA runtime uses; the
/// default stream does if no other context is current. cudaStreamPerThread and streams of green
/// contexts are rejected.
/// @param world can be divided. Over NCCL no two ranks have the same GPU. Over the host a thread of
/// tutti's own calls its transport: an MPI needs MPI_THREAD_MULTIPLE.
/// Throws, on all ranks alike, Error{transport} that names the rank and what it lacks: the driver,
/// a GPU, NCCL 2.23 or newer; Error{invalid_argument} that names two ranks with one GPU, a GPU that
/// does not exist, or what the communicator cannot do; Error{mismatch} if ranks differ in transport
/// or visible; Error{timeout}.
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
/// symmetric (ncclCommWindowRegister); or memory that peers see, see Options::visible. Collective.
/// The host cannot touch the elements. The buffer must live until all calls on it are done, for
/// example after `wait`. Any thread may drop it. NCCL's memory is freed by the next call on a
/// stream, or with the communicator. Other memory is freed as by cudaFree, when its GPU has done
/// all work, which may wait for ranks that are threads of the same process. If NCCL's own calls
/// have such memory as input and output, they need it on all ranks, at equal offsets.
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

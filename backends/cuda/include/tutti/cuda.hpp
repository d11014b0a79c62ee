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

namespace tutti::inline v0::cuda {

/// How a GPU is attached.
struct Options {
  /// Which one, as cudaGetDevice counts them; -1: the calling thread's current one, or else the
  /// only one that the process sees.
  int device = -1;
  /// What messages between GPUs go by: "nccl"; or "host", over the transport that the communicator
  /// has anyway, which needs no NCCL. Then they go through pinned memory of the host, up to 32 MiB
  /// for each communicator; a CUDA-aware MPI takes them as they are. Equal on all ranks.
  std::string_view transport = "nccl";
  /// Whether ranks compare what they call, over the host's transport, before it is enqueued: calls
  /// that differ are then Error{mismatch} on all ranks, and each costs a small all_gather of the
  /// host. Without it they wait for each other until `wait` gives up. Equal on all ranks.
  bool compare_calls = false;
  /// How long NCCL's start, and its end, may take; or over the host the end of calls that are not
  /// done when the communicator ends.
  Duration timeout = std::chrono::seconds{60};
};

/// Attaches a GPU on each rank, so that the communicator takes calls with Options::stream: our
/// algorithms then run on the GPU, as messages of NCCL and kernels of our own, in the order of the
/// stream, and the host waits for nothing. Collective, over the host's transport. Calls without a
/// stream on memory of the host are the host's as before; on memory of the GPU they run on a stream
/// of our own, and end before they return. Groups and splits of it have the same GPU.
/// @param world of ranks, no two of which have the same GPU. @param options see Options.
/// Throws, on all ranks alike, Error{transport} that says which rank lacks what: the driver, a GPU,
/// NCCL 2.18 or newer; Error{invalid_argument} that names two ranks with one GPU, or a GPU that is
/// not there; Error{timeout}.
TUTTI_API void attach(Communicator& world, const Options& options = {});

/// Waits until a stream has done all that was enqueued on it, as cudaStreamSynchronize does, but
/// not for ever: where another rank fails, or the timeout passes, all that is under way is aborted,
/// so that the stream goes on, and the communicator has failed.
/// @param world to which a GPU is attached. @param stream as Options::stream of its calls. @param
/// timeout how long to wait. Throws Error{invalid_argument, timeout, peer_dead, transport}.
TUTTI_API void wait(Communicator& world, Stream stream,
                    Duration timeout = std::chrono::seconds{300});

/// @param world to which a GPU is attached. @param bytes equal on all ranks. @return memory of the
/// GPU, as of allocate. Throws likewise.
[[nodiscard]] TUTTI_API std::shared_ptr<std::byte> allocate_bytes(Communicator& world,
                                                                  std::size_t bytes);
/// Allocates memory that NCCL moves best: registered with it, and, where it has that, symmetric
/// (ncclCommWindowRegister). Collective. The host cannot touch the elements.
/// @tparam T type of the elements. @param world to which a GPU is attached. @param count of
/// elements, equal on all ranks. @return them, zeroed, in memory of the GPU. Throws std::bad_alloc,
/// Error{invalid_argument, transport}.
template <class T>
[[nodiscard]] Buffer<T> allocate(Communicator& world, std::size_t count) {
  return Buffer<T>{allocate_bytes(world, Buffer<T>::bytes_of(count)), count, false};
}

}  // namespace tutti::inline v0::cuda

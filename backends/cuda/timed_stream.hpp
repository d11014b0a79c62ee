/// @file
/// A stream for benchmarks: the GPU times its work, graphs replay it, and copies reach memory of
/// the host. Builds without the CUDA toolkit have this header too, and each function throws.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <tutti/communicator.hpp>
#include <tutti/options.hpp>

namespace tutti::v0::cuda {

/// A stream of the GPU that is attached to a communicator. One thread at a time.
class TimedStream {
 public:
  TimedStream() = default;
  TimedStream(const TimedStream&) = delete;
  TimedStream& operator=(const TimedStream&) = delete;
  virtual ~TimedStream() = default;

  /// @return the GPU, such as "GPU 0 NVIDIA H100 80GB HBM3".
  [[nodiscard]] virtual std::string gpu() const = 0;
  /// @return the version of NCCL, such as "2.28.3", or nothing.
  [[nodiscard]] virtual std::string nccl() const = 0;
  /// @return as Options::stream.
  [[nodiscard]] virtual Stream stream() const = 0;
  /// Waits until all enqueued work is done. Throws as tutti::cuda::wait.
  virtual void wait() = 0;
  /// Copies between memory of the host and of the GPU, or within the latter, without overlap, after
  /// all enqueued work, and waits. Throws as wait.
  virtual void copy(std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  /// Times, by events of the GPU, the work that a function enqueues, and waits. @return
  /// microseconds. Throws as wait, and as the function.
  [[nodiscard]] virtual double time_us(const std::function<void()>& enqueue) = 0;
  /// Captures the work that a function enqueues in a graph; it does not run. @return a function
  /// that enqueues the graph, which must not outlive this. Both throw Error{transport}, and capture
  /// as the function does.
  [[nodiscard]] virtual std::function<void()> capture(const std::function<void()>& enqueue) = 0;
};

/// Attaches a GPU to each rank: the ranks of a host take its GPUs, or those that
/// CUDA_VISIBLE_DEVICES leaves to this process, in turn. Collective. @param local_rank among the
/// ranks of this host. @param transport, visible and timeout as AttachOptions. @return the GPU's
/// ordinal. Throws, on all ranks alike, as attach; Error{transport} in builds without the CUDA
/// toolkit.
[[nodiscard]] int attach_in_turn(Communicator& world, int local_rank, std::string_view transport,
                                 bool visible, Duration timeout);

/// @param world to which a GPU is attached; outlives the stream. @param device the GPU's ordinal.
/// @param timeout of each wait. Throws Error{transport}.
[[nodiscard]] std::unique_ptr<TimedStream> make_timed_stream(Communicator& world, int device,
                                                             Duration timeout);

}  // namespace tutti::v0::cuda

/// @file
/// What a benchmark needs of a GPU beside the calls: a stream whose work the GPU itself times,
/// graphs of what is enqueued on it, and copies from and to memory of the host. Builds without the
/// CUDA toolkit have this header too, and each function throws.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <tutti/communicator.hpp>
#include <tutti/options.hpp>

namespace tutti::v0::cuda {

/// A graph of work that was captured from a stream, and can be enqueued on it again and again.
class CapturedGraph {
 public:
  CapturedGraph() = default;
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;
  virtual ~CapturedGraph() = default;
  /// Enqueues all of it on the stream that it was captured from. Throws Error{transport}.
  virtual void launch() = 0;
};

/// A stream of the GPU that is attached to a communicator. One thread at a time.
class TimedStream {
 public:
  TimedStream() = default;
  TimedStream(const TimedStream&) = delete;
  TimedStream& operator=(const TimedStream&) = delete;
  virtual ~TimedStream() = default;

  /// @return the GPU, such as "GPU 0 NVIDIA H100 80GB HBM3".
  [[nodiscard]] virtual std::string gpu() const = 0;
  /// @return the version of NCCL, such as "2.28.3"; empty: there is none.
  [[nodiscard]] virtual std::string nccl() const = 0;
  /// @return as Options::stream.
  [[nodiscard]] virtual Stream stream() const = 0;
  /// Waits until all that was enqueued is done. Throws as tutti::cuda::wait.
  virtual void wait() = 0;
  /// Copies between memory of the host and of the GPU, or within the latter, after what was
  /// enqueued before, and waits for the end. @param to destination. @param from source, which does
  /// not overlap. @param bytes how many. Throws as wait.
  virtual void copy(std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  /// Times work, as the GPU does it: from an event that is recorded before until one that is
  /// recorded behind it. Waits for its end. @param enqueue enqueues it. @return microseconds.
  /// Throws as wait, and what enqueue throws.
  [[nodiscard]] virtual double time_us(const std::function<void()>& enqueue) = 0;
  /// Captures work, which does not run. @param enqueue enqueues it. @return the graph, which must
  /// not outlive this. Throws Error{transport}, and what enqueue throws.
  [[nodiscard]] virtual std::unique_ptr<CapturedGraph> capture(
      const std::function<void()>& enqueue) = 0;
};

/// Attaches a GPU to each rank. Collective. @param world of ranks. @param local_rank the own rank
/// among those of this host, which take its GPUs, or those that CUDA_VISIBLE_DEVICES leaves to this
/// process, in turn. @param transport as Options. @param visible likewise. @param timeout likewise.
/// @return the GPU's number. Throws, on all ranks alike, as attach; Error{transport} in builds
/// without the CUDA toolkit.
[[nodiscard]] int attach_in_turn(Communicator& world, int local_rank, std::string_view transport,
                                 bool visible, Duration timeout);

/// @param world to which a GPU is attached; outlives what is returned. @param device its number.
/// @param timeout of each wait. @return a stream of it. Throws Error{transport}.
[[nodiscard]] std::unique_ptr<TimedStream> make_timed_stream(Communicator& world, int device,
                                                             Duration timeout);

}  // namespace tutti::v0::cuda

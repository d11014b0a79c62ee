/// @file
/// One GPU, as this process uses it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include <tutti/spi/stream_arrays.hpp>
#include <tutti/types.hpp>

#include "context.hpp"
#include "kernel_work.hpp"
#include "kernels.hpp"

namespace tutti::v0::cuda {

/// A GPU, a pool of its memory, and tutti's kernels in its primary context. Thread-safe. Any
/// context may be current in the calling thread.
class Device : public Context {
 public:
  /// Throws as Context; Error{transport} if the GPU has no memory pools.
  Device(std::shared_ptr<const Driver> driver, int ordinal);
  ~Device();

  /// Gives kernels of this device access to memory of another one of this process. Throws
  /// Error{transport} if the GPUs have no peer access.
  void enable_access_to(int ordinal) const;
  /// @return a stream that does not synchronise with the default stream. Throws Error{transport}.
  [[nodiscard]] OwnedStream make_stream() const;
  /// @return a stream of the greatest priority, for work that other streams wait for. Streams of
  /// one priority share a few hardware queues, in which a stream that waits blocks the others.
  /// Throws Error{transport}.
  [[nodiscard]] OwnedStream make_urgent_stream() const;
  /// @return whether a graph captures a stream. Throws Error{transport}; Error{invalid_argument}
  /// for a default stream that waits for a captured one.
  [[nodiscard]] bool is_captured(CUstream stream) const;
  /// Throws Error{transport} if streams of the device cannot write and await words of 64 bits.
  void require_stream_operations() const;
  /// Launches the kernel of a datatype. @param type not opaque. @param work of one element or more.
  /// Throws Error{transport}, as do the other launches.
  void launch(Datatype type, const KernelWork& work, CUstream stream) const;
  void launch(const Conversion& work, CUstream stream) const;
  /// Launches an inspection, with kInspectors threads on every GPU, so that all add up in the same
  /// order.
  void launch(const Inspection& work, CUstream stream) const;
  /// Allocates in the order of a stream, from a pool that keeps its memory. The driver's default
  /// pool returns it to the system at each synchronisation. Waits for no other stream. @param bytes
  /// more than zero. @param stream none: the memory belongs to no stream, and to no pool. Throws
  /// std::bad_alloc, Error{transport}.
  [[nodiscard]] CUdeviceptr allocate(std::size_t bytes, std::optional<CUstream> stream = {}) const;
  /// Frees memory of `allocate`. @param stream in whose order; none for memory of no stream, which
  /// is freed when no stream waits for a thread of tutti.
  void free(CUdeviceptr data, std::optional<CUstream> stream = {}) const noexcept;
  /// Gives another GPU of this process access to the pool, as NCCL needs for ranks that are
  /// threads. Does nothing if the GPUs have no peer access. Throws Error{transport}.
  void share_pool(int ordinal) const;

 private:
  void make_pool();
  [[nodiscard]] bool may_access(CUdevice one, CUdevice other) const;
  template <class Work>
  void launch(const Kernel& kernel, std::uint64_t blocks, const Work& work, CUstream stream) const;

  OwnedPool pool_{};
  std::shared_ptr<const Kernels> kernels_{};
};

}  // namespace tutti::v0::cuda

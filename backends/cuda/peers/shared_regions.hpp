/// @file
/// Memory of GPUs that all ranks of a host see.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tutti/communicator.hpp>
#include <tutti/error.hpp>

#include "backends/cuda/device.hpp"
#include "backends/cuda/process_id.hpp"

namespace tutti::v0::cuda {

/// Memory of equal size on each rank, which all ranks read and write: memory of another process by
/// CUDA IPC, of another thread by peer access. Memory of a thread ends with the last region that
/// sees it. Another process has to close its region before this one ends.
class SharedRegion {
 public:
  /// Memory of a GPU.
  class GpuMemory {
   public:
    /// @param bytes more than zero. Throws Error{transport}.
    GpuMemory(std::shared_ptr<const Device> device, std::size_t bytes);
    GpuMemory(const GpuMemory&) = delete;
    GpuMemory& operator=(const GpuMemory&) = delete;
    ~GpuMemory();
    [[nodiscard]] CUdeviceptr data() const noexcept { return data_; }
    /// Keeps the memory until the process ends, since another process may still see it.
    void keep() noexcept { is_kept_ = true; }

   private:
    std::shared_ptr<const Device> device_;
    CUdeviceptr data_ = 0;
    std::atomic<bool> is_kept_{false};
  };

  /// The error that ranks do not see each other's memory: they are on different hosts, their GPUs
  /// have no peer access, or their processes no CUDA IPC.
  class Unseen : public Error {
   public:
    explicit Unseen(const Error& why) : Error{why} {}
  };
  /// Collective. Uses CUDA IPC only if ranks are several processes of the host. @param device of
  /// the own rank, not null. @param bytes of each rank, equal on all; more than zero. Throws, on
  /// all ranks alike, Unseen; Error{transport} if memory is exhausted.
  SharedRegion(std::shared_ptr<const Device> device, Communicator& ranks, std::size_t bytes);
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;
  ~SharedRegion();

  /// Ends this rank's access to the memory of others, which they may free after that.
  void close() noexcept;
  /// @return whether another process sees the own memory.
  [[nodiscard]] bool is_seen_by_processes() const noexcept { return has_processes_; }
  /// @return the own memory, which may outlive this.
  [[nodiscard]] const std::shared_ptr<GpuMemory>& allocation() const noexcept { return own_; }
  [[nodiscard]] CUdeviceptr own() const noexcept { return own_->data(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// @return the address of a rank's memory on this rank.
  [[nodiscard]] CUdeviceptr of(Rank rank) const {
    return mapped_.at(static_cast<std::size_t>(rank));
  }
  /// @return the address of this rank's memory on another rank.
  [[nodiscard]] CUdeviceptr seen_by(Rank rank) const {
    return seen_.at(static_cast<std::size_t>(rank));
  }
  /// @return whether bytes of the own rank lie in the own memory.
  [[nodiscard]] bool contains(const std::byte* data, std::size_t bytes) const noexcept {
    return address_of(data) >= own() && address_of(data) + bytes <= own() + bytes_;
  }

 private:
  struct ThreadOffer;
  struct Offer;
  void open_all(Communicator& ranks, std::span<const ProcessId> processes);
  void open(std::size_t rank, const Offer& offer, const ProcessId& process, const ProcessId& own);

  std::shared_ptr<const Device> device_;
  std::size_t bytes_;
  std::shared_ptr<GpuMemory> own_{};
  std::vector<CUdeviceptr> mapped_{};                   // memory of each rank, on this rank
  std::vector<CUdeviceptr> seen_{};                     // the own memory, on each rank
  std::vector<CUdeviceptr> opened_{};                   // by CUDA IPC
  std::vector<std::shared_ptr<GpuMemory>> borrowed_{};  // of threads
  bool has_processes_ = false;
};

}  // namespace tutti::v0::cuda

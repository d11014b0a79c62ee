/// @file
/// Memory of GPUs that the ranks of one host see of each other.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tutti/communicator.hpp>
#include <tutti/error.hpp>

#include "device.hpp"

namespace tutti::v0::cuda {

/// Ranks with equal ones are threads of one process.
struct ProcessId {
  std::array<char, 64> system{};  ///< Processes of one system can have CUDA IPC between them.
  std::uint64_t processes = 0;    ///< The namespace in which a number is one process'.
  std::int64_t number = 0;
  friend bool operator==(const ProcessId&, const ProcessId&) = default;
};
/// @return that of the calling process.
[[nodiscard]] ProcessId this_process();

/// Memory of equal size on each rank, in which all others read and write: of another process by
/// CUDA IPC, of another thread by peer access. Among threads it ends with the last region that sees
/// it. Another process is to close its region before this one ends.
class SharedRegion {
 public:
  /// Memory of a GPU, which ends with this.
  class Allocation {
   public:
    /// @param device not null. @param bytes more than zero. Throws Error{transport}.
    Allocation(std::shared_ptr<const Device> device, std::size_t bytes);
    Allocation(const Allocation&) = delete;
    Allocation& operator=(const Allocation&) = delete;
    ~Allocation();
    [[nodiscard]] CUdeviceptr data() const noexcept { return data_; }
    /// It is not given back before the process ends: another one may still see it.
    void keep() noexcept { is_kept_ = true; }

   private:
    std::shared_ptr<const Device> device_;
    CUdeviceptr data_ = 0;
    std::atomic<bool> is_kept_{false};
  };

  /// Ranks do not see each other's memory: they are on other hosts, nothing joins their GPUs, or
  /// there is no CUDA IPC between their processes.
  class Unseen : public Error {
   public:
    explicit Unseen(const Error& why) : Error{why} {}
  };
  /// Collective. CUDA IPC is asked for only where another process of the host takes part. @param
  /// device of the own rank, not null. @param ranks that take part. @param bytes of each rank,
  /// equal on all; more than zero. Throws, on all alike, Unseen; Error{transport} where there is no
  /// memory.
  SharedRegion(std::shared_ptr<const Device> device, Communicator& ranks, std::size_t bytes);
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;
  ~SharedRegion();

  /// This rank sees the others' memory no more: before they give it back.
  void close() noexcept;
  /// @return whether another process sees the own memory.
  [[nodiscard]] bool is_seen_by_processes() const noexcept { return has_processes_; }
  /// @return what the own memory lies in; whoever has it may use it longer than this lives.
  [[nodiscard]] const std::shared_ptr<Allocation>& allocation() const noexcept { return own_; }
  /// @return the own memory.
  [[nodiscard]] CUdeviceptr own() const noexcept { return own_->data(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// @param rank any. @return where this rank sees that one's memory.
  [[nodiscard]] CUdeviceptr of(Rank rank) const {
    return mapped_.at(static_cast<std::size_t>(rank));
  }
  /// @param rank any. @return where that one sees this rank's memory.
  [[nodiscard]] CUdeviceptr seen_by(Rank rank) const {
    return seen_.at(static_cast<std::size_t>(rank));
  }
  /// @param data any address of the own rank. @param bytes from there on. @return whether they lie
  /// here.
  [[nodiscard]] bool contains(const std::byte* data, std::size_t bytes) const noexcept {
    return address_of(data) >= own() && address_of(data) + bytes <= own() + bytes_;
  }

 private:
  struct Shown;
  struct Offer;
  void open_all(Communicator& ranks, std::span<const ProcessId> processes);
  void open(std::size_t rank, const Offer& offer, const ProcessId& process, const ProcessId& own);

  std::shared_ptr<const Device> device_;
  std::size_t bytes_;
  std::shared_ptr<Allocation> own_{};
  std::vector<CUdeviceptr> mapped_{};
  std::vector<CUdeviceptr> seen_{};
  std::vector<CUdeviceptr> opened_{};                    // by CUDA IPC
  std::vector<std::shared_ptr<Allocation>> borrowed_{};  // of threads
  bool has_processes_ = false;
};

}  // namespace tutti::v0::cuda

/// @file
/// Memory of GPUs that the ranks of one host see of each other.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tutti/communicator.hpp>
#include <tutti/error.hpp>

#include "device.hpp"

namespace tutti::inline v0::cuda {

/// Memory of equal size on each rank, in which all others read and write: of another process by
/// CUDA IPC, of another thread by peer access. It ends with this, when no peer uses it any more.
class SharedRegion {
 public:
  /// Ranks do not see each other's memory: they are on other hosts, or nothing joins their GPUs.
  class Unseen : public Error {
   public:
    explicit Unseen(const Error& why) : Error{why} {}
  };
  /// Collective. @param device of the own rank, not null. @param ranks that take part. @param bytes
  /// of each rank, equal on all; more than zero. Throws, on all alike, Unseen; Error{transport} where there is
  /// no memory.
  SharedRegion(std::shared_ptr<const Device> device, Communicator& ranks, std::size_t bytes);
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;
  ~SharedRegion();

  /// This rank sees the others' memory no more: before they give it back.
  void close() noexcept;
  /// @return the own memory.
  [[nodiscard]] CUdeviceptr own() const noexcept { return own_; }
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
    return address_of(data) >= own_ && address_of(data) + bytes <= own_ + bytes_;
  }

 private:
  struct Offer;
  void open(Rank rank, const Offer& offer, const Offer& own);
  void give_back() noexcept;

  std::shared_ptr<const Device> device_;
  std::size_t bytes_;
  CUdeviceptr own_ = 0;
  std::vector<CUdeviceptr> mapped_{};
  std::vector<CUdeviceptr> seen_{};
  std::vector<CUdeviceptr> opened_{};  // by CUDA IPC
};

}  // namespace tutti::inline v0::cuda

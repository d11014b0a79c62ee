/// @file
/// All memory: that of each device, pinned memory of the host, and what else there is.
#pragma once

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "tests/cuda/standin/arena.hpp"
#include "tests/cuda/standin/remote_writes.hpp"
#include "tests/cuda/standin/window.hpp"

namespace tutti::standin {

/// The owner of an address.
struct Place {
  CUmemorytype type{};  ///< Zero: memory unknown to the driver.
  int device = CU_DEVICE_INVALID;
  Range range{};
  bool opened = false;   ///< It is another process's.
  bool managed = false;  ///< The host may access it, too. Its type means nothing.
  /// @return whether other processes may open it.
  bool is_shareable() const noexcept {
    return type == CU_MEMORYTYPE_DEVICE && !range.pool && !opened && !managed;
  }
};

/// The access of devices to the memory of others.
class Peers {
 public:
  /// @return false if it was so already.
  bool enable(int device, int owner);
  bool disable(int device, int owner);
  bool may_access(int device, int owner) const;
  /// Ends whatever one device has to do with others.
  void forget(int device);

 private:
  mutable std::mutex mutex_;
  std::set<std::pair<int, int>> enabled_;
};

class Memory {
 public:
  /// Makes the memory of the devices.
  void add_devices(int devices);

  /// @return the memory of a device.
  Arena& arena(int device) { return *arenas_[static_cast<std::size_t>(device)]; }
  /// @return the pools of allocations that name none, and of those in graphs.
  const std::shared_ptr<Pool>& default_pool(int device) const {
    return default_pools_[static_cast<std::size_t>(device)];
  }
  const std::shared_ptr<Pool>& graph_pool(int device) const {
    return graph_pools_[static_cast<std::size_t>(device)];
  }
  /// @return the device whose memory an address lies in, or less than zero. That of other processes
  /// does not count.
  int device_of(CUdeviceptr address) const noexcept;
  /// From now on an allocation may not be freed again. @return its device's; null if it is none, or
  /// one that was freed.
  Arena* retire(CUdeviceptr start);
  /// @return whether no part of the host lies at an address.
  bool is_on_device(CUdeviceptr address) const;

  Peers& peers() noexcept { return peers_; }
  Windows& windows() noexcept { return windows_; }
  RemoteWrites& remote_writes() noexcept { return remote_writes_; }
  const RemoteWrites& remote_writes() const noexcept { return remote_writes_; }
  /// @return the allocation that an address lies in, for other processes; nothing if there is none
  /// that they may open.
  std::optional<SharedPiece> share(CUdeviceptr address) const;

  /// How memory of the host came to be pinned.
  enum class Origin { allocated, managed };

  void* allocate_pinned(std::size_t bytes, int device, Origin origin = Origin::allocated);
  void free_pinned(void* start);
  /// @return false if no memory was pinned from here on, or not in this way, or not any more.
  bool is_pinned(void* start, Origin origin) const;

  /// @return what is known of an address.
  Place find(CUdeviceptr address) const;
  /// @return where a copy accesses bytes of any memory; null if it may not.
  std::byte* reach(CUdeviceptr address, std::size_t bytes) const;
  /// @return where a kernel of this device accesses bytes, which lie in the device's own memory, in
  /// that of a peer, in what the device has opened, or in pinned memory; null if it may not.
  std::byte* reach_from(int device, CUdeviceptr address, std::size_t bytes) const;
  /// Writes a line for each allocation that was not freed.
  void write_leaks(std::ostream& out) const;

 private:
  struct Pinned {
    std::size_t bytes;
    int device;
    Origin origin;
  };

  std::optional<Place> find_pinned(CUdeviceptr address) const;

  std::byte* reach_at_peer(int device, int owner, CUdeviceptr address, std::size_t bytes) const;

  std::vector<std::unique_ptr<Arena>> arenas_;
  std::vector<std::shared_ptr<Pool>> default_pools_;
  std::vector<std::shared_ptr<Pool>> graph_pools_;
  Windows windows_;
  Peers peers_;
  RemoteWrites remote_writes_;
  mutable std::mutex mutex_;
  std::map<CUdeviceptr, Pinned> pinned_;
};

/// @return an address as a pointer.
inline void* pointer_of(CUdeviceptr address) noexcept {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

/// @return a pointer as an address.
inline CUdeviceptr address_of(const void* pointer) noexcept {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

}  // namespace tutti::standin

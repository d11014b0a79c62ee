#include "memory.hpp"

#include <new>

#include <unistd.h>

namespace tutti::standin {
namespace {

constexpr std::size_t kDeviceBytes = std::size_t{512} << 20U;
constexpr std::align_val_t kPageBytes{4096};

}  // namespace

bool Peers::enable(int device, int owner) {
  const std::scoped_lock lock{mutex_};
  return enabled_.emplace(device, owner).second;
}

bool Peers::disable(int device, int owner) {
  const std::scoped_lock lock{mutex_};
  return enabled_.erase({device, owner}) > 0;
}

bool Peers::may_access(int device, int owner) const {
  const std::scoped_lock lock{mutex_};
  return enabled_.contains({device, owner});
}

void Peers::forget(int device) {
  const std::scoped_lock lock{mutex_};
  std::erase_if(enabled_,
                [&](const auto& pair) { return pair.first == device || pair.second == device; });
}

void Memory::add_devices(int devices) {
  for (int device = 0; device < devices; ++device) {
    arenas_.push_back(std::make_unique<Arena>(kDeviceBytes));
    default_pools_.push_back(std::make_shared<Pool>(device));
    graph_pools_.push_back(std::make_shared<Pool>(device));
  }
}

int Memory::device_of(CUdeviceptr address) const noexcept {
  for (std::size_t device = 0; device < arenas_.size(); ++device)
    if (arenas_[device]->contains(address)) return static_cast<int>(device);
  return CU_DEVICE_INVALID;
}

void* Memory::allocate_pinned(std::size_t bytes, int device, Origin origin) {
  void* const start = ::operator new(bytes, kPageBytes);
  const std::scoped_lock lock{mutex_};
  pinned_.emplace(address_of(start), Pinned{bytes, device, origin});
  return start;
}

void Memory::free_pinned(void* start) {
  {
    const std::scoped_lock lock{mutex_};
    pinned_.erase(address_of(start));
  }
  ::operator delete(start, kPageBytes);
}

bool Memory::is_pinned(void* start, Origin origin) const {
  const std::scoped_lock lock{mutex_};
  const auto found = pinned_.find(address_of(start));
  return found != pinned_.end() && found->second.origin == origin;
}

Arena* Memory::retire(CUdeviceptr start) {
  const int device = device_of(start);
  return device < 0 || !arena(device).retire(start) ? nullptr : &arena(device);
}

bool Memory::is_on_device(CUdeviceptr address) const {
  return device_of(address) >= 0 || windows_.find(address).has_value();
}

std::optional<SharedPiece> Memory::share(CUdeviceptr address) const {
  const int device = device_of(address);
  if (device < 0) return {};
  const Arena& arena = *arenas_[static_cast<std::size_t>(device)];
  const auto range = arena.find(address);
  if (!range || range->pool) return {};
  return SharedPiece{.magic = SharedPiece::kMagic,
                     .nonce = arena.file().nonce(),
                     .serial = range->serial,
                     .offset = arena.offset_of(range->start),
                     .bytes = range->bytes,
                     .process = getpid(),
                     .file = arena.file().file(),
                     .device = device};
}

Place Memory::find(CUdeviceptr address) const {
  if (const int device = device_of(address); device >= 0) {
    const auto range = arenas_[static_cast<std::size_t>(device)]->find(address);
    return range ? Place{CU_MEMORYTYPE_DEVICE, device, *range} : Place{};
  }
  if (const auto window = windows_.find(address))
    return {.type = CU_MEMORYTYPE_DEVICE,
            .device = window->piece.device,
            .range = {.start = window->start, .bytes = window->piece.bytes},
            .opened = true};
  return find_pinned(address).value_or(Place{});
}

std::byte* Memory::reach(CUdeviceptr address, std::size_t bytes) const {
  if (const int device = device_of(address); device >= 0)
    return arenas_[static_cast<std::size_t>(device)]->reach(address, bytes);
  const auto window = windows_.find(address);
  if (!window) return static_cast<std::byte*>(pointer_of(address));
  const std::size_t left = window->piece.bytes - (address - window->start);
  return bytes <= left && !window->lost ? window->mapping->alias(address) : nullptr;
}

std::byte* Memory::reach_from(int device, CUdeviceptr address, std::size_t bytes) const {
  const int owner = device_of(address);
  if (owner >= 0)
    return owner == device ? reach(address, bytes) : reach_at_peer(device, owner, address, bytes);
  if (const auto window = windows_.find(address))
    return window->opener == device ? reach(address, bytes) : nullptr;
  const auto place = find_pinned(address);
  if (!place || bytes > place->range.bytes - (address - place->range.start)) return nullptr;
  return static_cast<std::byte*>(pointer_of(address));
}

// Memory of a pool is open to those to whom the pool is, and all other memory to peers.
std::byte* Memory::reach_at_peer(int device, int owner, CUdeviceptr address,
                                 std::size_t bytes) const {
  const auto range = arenas_[static_cast<std::size_t>(owner)]->find(address);
  if (!range) return nullptr;
  const bool may = range->pool ? range->pool->may_access(device) : peers_.may_access(device, owner);
  return may ? reach(address, bytes) : nullptr;
}

void Memory::write_leaks(std::ostream& out) const {
  for (const auto& arena : arenas_) arena->write_leaks(out);
  windows_.write_leaks(out);
  const std::scoped_lock lock{mutex_};
  for (const auto& [start, pinned] : pinned_)
    out << (pinned.origin == Origin::allocated ? "cuMemHostAlloc " : "cuMemAllocManaged ")
        << pinned.bytes << " bytes\n";
}

std::optional<Place> Memory::find_pinned(CUdeviceptr address) const {
  const std::scoped_lock lock{mutex_};
  const auto after = pinned_.upper_bound(address);
  if (after == pinned_.begin()) return {};
  const auto& [start, pinned] = *std::prev(after);
  if (address - start >= pinned.bytes) return {};
  const bool managed = pinned.origin == Origin::managed;
  return Place{.type = managed ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
               .device = pinned.device,
               .range = {start, pinned.bytes},
               .managed = managed};
}

}  // namespace tutti::standin

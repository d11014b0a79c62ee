#include "regions.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include <sys/mman.h>

#include <tutti/error.hpp>

namespace tutti::shm {

void Regions::add(Prepared& region) noexcept {
  const std::lock_guard lock{mutex_};
  regions_.splice(regions_.end(), region);
  has_any_.store(true, std::memory_order_release);
}

void Regions::remove(std::uint64_t offset) noexcept {
  const std::lock_guard lock{mutex_};
  regions_.remove_if([offset](const Region& region) { return region.offset == offset; });
  has_any_.store(!regions_.empty(), std::memory_order_release);
}

std::optional<std::uint64_t> Regions::find_locked(const void* data, std::size_t bytes,
                                                  const Mapping& reader) const noexcept {
  const auto* const begin = static_cast<const std::byte*>(data);
  const std::lock_guard lock{mutex_};
  for (const Region& region : regions_) {
    if (begin < region.begin || begin >= region.begin + region.bytes) continue;
    const auto before = static_cast<std::size_t>(begin - region.begin);
    if (bytes > region.bytes - before) continue;
    if (std::ranges::find(region.readers, &reader) != region.readers.end())
      return region.offset + before;
  }
  return {};
}

std::uint64_t Regions::map(std::byte* address, std::size_t bytes, int file, std::uint64_t begin) {
  const std::lock_guard lock{mutex_};
  std::uint64_t& view = views_[address];
  if (mmap(address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
           static_cast<off_t>(begin)) == MAP_FAILED)
    throw Error{ErrorCode::transport, "cannot map " + std::to_string(bytes) +
                                          " bytes of a file: " + std::strerror(errno)};
  madvise(address, bytes, MADV_DONTFORK);
  return view = ++made_views_;
}

/// Maps private memory in place of the view. It gets pages only if a rank breaks the rules and
/// names it.
void Regions::unmap(std::byte* address, std::size_t bytes, std::uint64_t view) noexcept {
  const std::lock_guard lock{mutex_};
  const auto found = views_.find(address);
  if (found == views_.end() || found->second != view) return;
  views_.erase(found);
  mmap(address, bytes, PROT_READ | PROT_WRITE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  madvise(address, bytes, MADV_DONTFORK);
}

}  // namespace tutti::shm

/// @file
/// The table of own memory outside the segment that other ranks see.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

namespace tutti::shm {

class Mapping;

/// Finds the offset at which a rank sees memory of the program. Calls from several threads at once
/// are safe.
class Regions {
 public:
  /// Memory that other ranks have mapped at an offset of the own segment.
  struct Region {
    const std::byte* begin;
    std::size_t bytes;
    std::uint64_t offset;
    std::vector<const Mapping*> readers{};  ///< The segments of these ranks.
  };
  /// A region that is not in the table.
  using Prepared = std::list<Region>;

  /// Adds a region. @param region has one element, which is moved.
  void add(Prepared& region) noexcept;
  /// Removes the region at an offset, if it is in the table.
  void remove(std::uint64_t offset) noexcept;
  /// @return the offset of [data, data + bytes) for a rank, or nothing if it does not see all of
  /// it. Costs a load if nothing is imported.
  [[nodiscard]] std::optional<std::uint64_t> find(const void* data, std::size_t bytes,
                                                  const Mapping& reader) const noexcept {
    return has_any_.load(std::memory_order_acquire) ? find_locked(data, bytes, reader)
                                                    : std::nullopt;
  }

  /// Maps a file over addresses of a segment. Throws Error{transport}. @return the number of the
  /// view, for unmap.
  std::uint64_t map(std::byte* address, std::size_t bytes, int file, std::uint64_t begin);
  /// Ends a view, unless a later one has replaced it.
  void unmap(std::byte* address, std::size_t bytes, std::uint64_t view) noexcept;

 private:
  [[nodiscard]] std::optional<std::uint64_t> find_locked(const void* data, std::size_t bytes,
                                                         const Mapping& reader) const noexcept;

  mutable std::mutex mutex_{};
  std::atomic<bool> has_any_{false};  // whether there are regions
  std::list<Region> regions_{};
  std::map<std::byte*, std::uint64_t> views_{};  // address -> number of the latest view
  std::uint64_t made_views_ = 0;
};

}  // namespace tutti::shm

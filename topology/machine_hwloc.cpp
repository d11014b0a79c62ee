// This host, as described by hwloc.
#include <hwloc.h>

#include <array>
#include <bit>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tutti/error.hpp>

#include "machine.hpp"

namespace tutti::v0 {
namespace {

struct Destroy {
  void operator()(hwloc_topology* topology) const noexcept { hwloc_topology_destroy(topology); }
};
using HwlocTopology = std::unique_ptr<hwloc_topology, Destroy>;

/// Loads the topology of this host. @return null if hwloc fails.
HwlocTopology load() {
  hwloc_topology* made = nullptr;
  if (hwloc_topology_init(&made) != 0) return nullptr;
  HwlocTopology topology{made};
  return hwloc_topology_load(made) == 0 ? std::move(topology) : nullptr;
}

/// The depth of the last-level cache; -1 without one, or if there are several kinds.
int last_cache_depth(hwloc_topology* topology) {
  for (const auto kind :
       {HWLOC_OBJ_L5CACHE, HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE}) {
    const int depth = hwloc_get_type_depth(topology, kind);
    if (depth >= 0) return depth;
  }
  return -1;
}

/// The part of a level that contains all processors of a set; -1 if there is none.
int part_with(hwloc_topology* topology, int depth, hwloc_const_cpuset_t set) {
  if (depth < 0) return -1;
  const unsigned parts = hwloc_get_nbobjs_by_depth(topology, depth);
  for (unsigned part = 0; part < parts; ++part)
    if (hwloc_bitmap_isincluded(set, hwloc_get_obj_by_depth(topology, depth, part)->cpuset) != 0)
      return static_cast<int>(part);
  return -1;
}

/// Builds a network whose vertices are the cores and the levels above them.
class NetworkBuilder {
 public:
  explicit NetworkBuilder(hwloc_topology* topology) : topology_{topology} {
    add_level(hwloc_get_type_or_below_depth(topology, HWLOC_OBJ_CORE), "core", -1);
    add_level(last_cache_depth(topology), "cache", 0);
    add_level(hwloc_get_type_depth(topology, HWLOC_OBJ_PACKAGE), "package", 1);
    add_level(0, "machine", 2);
  }
  [[nodiscard]] NamedTopology finish() && {
    const int hosts = cores_;
    const auto switches = static_cast<int>(names_.size()) - hosts;
    return {Topology{"machine", hosts, switches, std::move(links_)}, std::move(names_)};
  }

 private:
  /// Each part becomes a vertex, linked to the lower vertices without a link upwards. A level with
  /// one part that joins no new vertices is left out.
  void add_level(int depth, const std::string& name, int level) {
    if (depth < 0) return;
    const unsigned parts = hwloc_get_nbobjs_by_depth(topology_, depth);
    if (level >= 0 && unlinked_.size() < 2) return;
    std::vector<Vertex> now;
    for (unsigned part = 0; part < parts; ++part) {
      const hwloc_obj_t object = hwloc_get_obj_by_depth(topology_, depth, part);
      const auto self = static_cast<int>(names_.size());
      names_.push_back(parts == 1 ? name : name + " " + std::to_string(part));
      now.push_back({self, object->cpuset});
      if (level < 0) {
        ++cores_;
        continue;
      }
      std::erase_if(unlinked_, [&](const Vertex& below) {
        if (hwloc_bitmap_isincluded(below.processors, object->cpuset) == 0) return false;
        links_.push_back({below.number, self, speed_of_level(level)});
        return true;
      });
    }
    unlinked_.insert(unlinked_.end(), now.begin(), now.end());
  }

  struct Vertex {
    int number = 0;
    hwloc_const_cpuset_t processors = nullptr;
  };
  hwloc_topology* topology_;
  std::vector<std::string> names_{};
  std::vector<Topology::Link> links_{};
  std::vector<Vertex> unlinked_{};  // without a link upwards so far
  int cores_ = 0;
};

}  // namespace

bool has_hwloc() noexcept {
  return true;
}

Locality locality_of(std::span<const std::uint64_t> usable) {
  const HwlocTopology topology = load();
  if (topology == nullptr) return {};
  const std::unique_ptr<hwloc_bitmap_s, void (*)(hwloc_bitmap_t)> set{hwloc_bitmap_alloc(),
                                                                      hwloc_bitmap_free};
  for (std::size_t word = 0; word < usable.size(); ++word)
    for (std::uint64_t left = usable[word]; left != 0; left &= left - 1)
      hwloc_bitmap_set(set.get(), static_cast<unsigned>(word * 64) +
                                      static_cast<unsigned>(std::countr_zero(left)));
  if (hwloc_bitmap_iszero(set.get()) != 0) return {};
  return {.package = part_with(topology.get(),
                               hwloc_get_type_depth(topology.get(), HWLOC_OBJ_PACKAGE), set.get()),
          .cache = part_with(topology.get(), last_cache_depth(topology.get()), set.get())};
}

NamedTopology machine_topology() {
  const HwlocTopology topology = load();
  if (topology == nullptr)
    throw Error{ErrorCode::invalid_argument, "hwloc has no description of this machine"};
  return NetworkBuilder{topology.get()}.finish();
}

}  // namespace tutti::v0

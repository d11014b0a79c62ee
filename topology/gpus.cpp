#include "gpus.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <tutti/error.hpp>

#include "reject_network.hpp"

namespace tutti::v0 {
namespace {

/// The latency from a rail to the spine, which joins rails.
constexpr Femtoseconds kSpineLatency = 1'000'000'000;

/// Half of the time that a message takes apart from its sender, for each of the two links on its
/// path.
Femtoseconds latency_of(const LinkCosts& costs, Femtoseconds message) {
  return std::max<Femtoseconds>(costs.alpha - message, 0) / 2;
}

/// Builds the vertices and links between GPUs.
class GpuLinks {
 public:
  GpuLinks(std::span<const int> host_of, std::span<const Locality> localities,
           const GpuSpeeds& speeds)
      : host_of_{host_of}, localities_{localities}, speeds_{speeds}, gpus_{static_cast<int>(
                                                                         host_of.size())} {
    for (std::size_t gpu = 0; gpu < host_of.size(); ++gpu) {
      const Island island{host_of[gpu], localities[gpu].island};
      if (sizes_[island]++ == 0) ++islands_in_[island.first];
    }
  }
  [[nodiscard]] Topology finish(std::string name) {
    for (int gpu = 0; gpu < gpus_; ++gpu) link_inside(gpu);
    for (const auto& [island, size] : sizes_)
      if (size > 1 && is_divided(island.first))
        join(vertex_of_island(island), vertex_of_host(island.first), size, speeds_.island);
    if (islands_in_.size() > 1) link_rails();
    return {std::move(name),
            gpus_,
            vertices_ - gpus_,
            std::move(links_),
            {.levels = levels(), .endpoints = speeds_.endpoints, .assumed = speeds_.assumed}};
  }

 private:
  using Island = std::pair<int, int>;  // the host, and the island in it

  [[nodiscard]] Island island_of(int gpu) const {
    const auto at = static_cast<std::size_t>(gpu);
    return {host_of_[at], localities_[at].island};
  }
  [[nodiscard]] bool is_divided(int host) const { return islands_in_.at(host) > 1; }
  template <class Key>
  int vertex_in(std::map<Key, int>& vertices, const Key& key) {
    const auto [found, is_new] = vertices.try_emplace(key, vertices_);
    if (is_new) ++vertices_;
    return found->second;
  }
  int vertex_of_island(const Island& island) { return vertex_in(islands_, island); }
  int vertex_of_host(int host) { return vertex_in(hosts_, host); }
  void join(int a, int b, int count, const LinkSpeed& speed) {
    links_.insert(links_.end(), static_cast<std::size_t>(count), {a, b, speed});
  }
  void link_inside(int gpu) {
    const Island island = island_of(gpu);
    if (sizes_.at(island) > 1) join(gpu, vertex_of_island(island), 1, speeds_.nvlink);
    else if (is_divided(island.first)) join(gpu, vertex_of_host(island.first), 1, speeds_.pcie);
  }
  void link_rails() {
    std::map<int, std::vector<int>> gpus_on;
    for (int gpu = 0; gpu < gpus_; ++gpu)
      gpus_on[localities_[static_cast<std::size_t>(gpu)].rail].push_back(gpu);
    const int first = vertices_;
    vertices_ += static_cast<int>(gpus_on.size());
    const int spine = gpus_on.size() > 1 ? vertices_++ : -1;
    int rail = first;
    for (const auto& [number, gpus] : gpus_on) {
      for (const int gpu : gpus) join(gpu, rail, 1, speeds_.rail);
      if (spine >= 0) join(rail, spine, static_cast<int>(gpus.size()), speeds_.spine);
      ++rail;
    }
  }
  [[nodiscard]] std::vector<Level> levels() const {
    std::map<Island, int> islands;
    std::map<int, int> hosts;
    Level island{.name = "island"}, host{.name = kHostLevel};
    for (int gpu = 0; gpu < gpus_; ++gpu) {
      const Island at = island_of(gpu);
      island.part_of.push_back(
          islands.try_emplace(at, static_cast<int>(islands.size())).first->second);
      host.part_of.push_back(
          hosts.try_emplace(at.first, static_cast<int>(hosts.size())).first->second);
    }
    std::vector<Level> levels;
    if (islands.size() > hosts.size()) levels.push_back(std::move(island));
    if (hosts.size() > 1) levels.push_back(std::move(host));
    return levels;
  }

  std::span<const int> host_of_;
  std::span<const Locality> localities_;
  const GpuSpeeds& speeds_;
  int gpus_;
  int vertices_ = gpus_;
  std::map<Island, int> sizes_{};    // the number of GPUs of each island
  std::map<int, int> islands_in_{};  // the number of islands of each host
  std::map<Island, int> islands_{};  // vertices
  std::map<int, int> hosts_{};       // vertices
  std::vector<Topology::Link> links_{};
};

}  // namespace

GpuSpeeds gpu_speeds(const LinkCosts& nvlink, const LinkCosts& pcie, const LinkCosts& rail) {
  const Femtoseconds message = nvlink.alpha / 2;
  const Femtoseconds near = latency_of(nvlink, message);
  const Femtoseconds far = latency_of(pcie, message);
  return {.nvlink = {near, nvlink.beta},
          .pcie = {far, pcie.beta},
          .island = {std::max<Femtoseconds>(far - near, 0), pcie.beta},
          .rail = {latency_of(rail, message), rail.beta},
          .spine = {kSpineLatency, rail.beta},
          .endpoints = {.message = message, .reduced = nvlink.gamma}};
}

bool are_on_rails(std::span<const Locality> localities) noexcept {
  return !localities.empty() &&
         std::ranges::all_of(localities, [](const Locality& at) { return at.rail >= 0; });
}

Topology gpu_network(std::string name, std::span<const int> host_of,
                     std::span<const Locality> localities, const GpuSpeeds& speeds) {
  expects(host_of.size() == localities.size(), "each GPU has a host and a locality");
  // A GPU has at most two links of its own; its island and its rail have one for each GPU.
  if (host_of.size() > Topology::kMost / 4)
    reject_network("network " + name + ": " + std::to_string(host_of.size()) +
                   " GPUs are too many, expected at most " + std::to_string(Topology::kMost / 4));
  for (std::size_t gpu = 0; gpu < localities.size(); ++gpu)
    if (localities[gpu].rail < 0)
      reject_network("network " + name + ": the rail of GPU " + std::to_string(gpu) +
                     " is not known, expected a number from 0 on");
  return GpuLinks{host_of, localities, speeds}.finish(std::move(name));
}

}  // namespace tutti::v0

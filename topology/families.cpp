#include "families.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tutti/spi/graph.hpp>

#include "reject_network.hpp"

namespace tutti::v0 {
namespace {

void check(const char* family, const char* number, int value, int least, int most = 1 << 20) {
  if (value < least || value > most)
    reject_network(std::string{family} + ": " + number + " is " + std::to_string(value) +
                   ", expected " + std::to_string(least) + " .. " + std::to_string(most));
}

std::string join_numbers(std::span<const int> numbers) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "" : "x") + std::to_string(number);
  return text;
}

/// @return the product, capped at a number above that of any network.
std::int64_t product(std::span<const int> numbers) {
  std::int64_t product = 1;
  for (const int number : numbers) product = std::min<std::int64_t>(product * number, 1 << 22);
  return product;
}

/// Routers with hosts, or routers that are hosts. Links between routers are given by their numbers.
class Routers {
 public:
  Routers(std::string name, std::int64_t routers, int hosts, const LinkSpeed& speed)
      : name_{std::move(name)}, speed_{speed} {
    check("a network", "hosts of a router", hosts, kDirect);
    is_direct_ = hosts == kDirect;
    const std::int64_t all = routers * hosts;
    if (all + routers > Topology::kMost)
      reject_network("network " + name_ + ": " + std::to_string(is_direct_ ? routers : all) +
                     " hosts are too many");
    hosts_ = static_cast<int>(all);
    routers_ = static_cast<int>(routers);
    for (int host = 0; host < hosts_; ++host)
      links_.push_back({host, hosts_ + host / hosts, speed_});
  }
  void link(int a, int b) { links_.push_back({hosts_ + a, hosts_ + b, speed_}); }
  /// @param sides of the routers' grid, if they are one. @param joined as Grid::joined.
  [[nodiscard]] Topology build(std::optional<std::vector<int>> sides = {}, bool joined = false) {
    TopologyFacts facts;
    if (sides) facts.grid = Grid{std::move(*sides), joined, hosts_};
    return {name_, is_direct_ ? routers_ : hosts_, is_direct_ ? 0 : routers_, std::move(links_),
            std::move(facts)};
  }

 private:
  std::string name_;
  LinkSpeed speed_;
  bool is_direct_ = false;
  int hosts_ = 0;  // apart from the routers
  int routers_ = 0;
  std::vector<Topology::Link> links_{};
};

std::string suffix(int hosts) {
  if (hosts == kDirect) return ":direct";
  return hosts == 1 ? "" : ":hosts=" + std::to_string(hosts);
}

}  // namespace

Topology single_switch(int hosts, const LinkSpeed& speed) {
  check("switch", "the number of hosts", hosts, 1);
  return Routers{"switch:" + std::to_string(hosts), 1, hosts, speed}.build();
}

/// The digits of a vertex of level i identify it: digits above the level its subtree, the others
/// one of the equal vertices in it. It is linked to the vertices of the next level that differ in
/// one digit only.
Topology fat_tree(std::span<const int> down, std::span<const int> up, const LinkSpeed& speed) {
  const std::string name = "fat_tree:" + join_numbers(down) + ":up=" + join_numbers(up);
  if (down.empty() || down.size() != up.size())
    reject_network("network " + name +
                   ": a fat tree has as many numbers of parents as of children");
  for (const int children : down) check("fat_tree", "children", children, 1);
  for (const int parents : up) check("fat_tree", "parents", parents, 1);
  const std::size_t levels = down.size();
  std::vector<int> first{0};  // vertex of each level
  for (std::size_t level = 0; level <= levels; ++level) {
    const std::int64_t count = product(down.subspan(level)) * product(up.first(level));
    if (first.back() + count > Topology::kMost)
      reject_network("network " + name + ": it is too large");
    first.push_back(first.back() + static_cast<int>(count));
  }
  std::vector<Topology::Link> links;
  for (std::size_t level = 0; level < levels; ++level) {
    const auto copies = static_cast<int>(product(up.first(level)));
    for (int index = 0; index < first[level + 1] - first[level]; ++index) {
      const int copy = index % copies;
      const int subtree = index / copies / down[level];
      for (int parent = 0; parent < up[level]; ++parent)
        links.push_back({first[level] + index,
                         first[level + 1] + (subtree * up[level] + parent) * copies + copy, speed});
    }
  }
  return {name, first[1], first.back() - first[1], std::move(links)};
}

/// Link l of a group leads to the group l % (groups - 1) after it, from a router with a free port.
Topology dragonfly(int hosts, int routers, int global, int groups, const LinkSpeed& speed) {
  check("dragonfly", "hosts of a router", hosts, 1);
  check("dragonfly", "routers of a group", routers, 1);
  check("dragonfly", "links of a router to other groups", global, 0);
  const std::int64_t ports = std::int64_t{routers} * global;
  check("dragonfly", "groups", groups, 1,
        static_cast<int>(std::min<std::int64_t>(ports + 1, Topology::kMost)));
  const int sizes[]{hosts, routers, global};
  Routers network{"dragonfly:" + join_numbers(sizes) + ":groups=" + std::to_string(groups),
                  std::int64_t{groups} * routers, hosts, speed};
  for (int group = 0; group < groups; ++group)
    for (int a = 0; a < routers; ++a)
      for (int b = a + 1; b < routers; ++b) network.link(group * routers + a, group * routers + b);
  const int each =
      groups == 1 ? 0 : static_cast<int>(ports / (groups - 1));  // links between two groups
  std::vector<int> used(static_cast<std::size_t>(groups), 0);
  const auto port = [&](int group) {
    return group * routers + used[static_cast<std::size_t>(group)]++ / std::max(global, 1);
  };
  for (int distance = 1; distance < groups; ++distance)
    for (int group = 0; group + distance < groups; ++group)
      for (int copy = 0; copy < each; ++copy) {
        const int from = port(group);
        network.link(from, port(group + distance));
      }
  return network.build();
}

Topology torus(std::span<const int> sides, Ends ends, int hosts, const LinkSpeed& speed) {
  const char* const family = ends == Ends::joined ? "torus" : "mesh";
  for (const int side : sides) check(family, "a side", side, 1);
  Routers network{std::string{family} + ":" + join_numbers(sides) + suffix(hosts), product(sides),
                  hosts, speed};
  const auto routers = static_cast<int>(product(sides));
  int step = routers;
  for (const int side : sides) {
    step /= side;
    for (int router = 0; router < routers; ++router) {
      const int at = router / step % side;
      if (at + 1 < side) network.link(router, router + step);
      else if (ends == Ends::joined && side > 2) network.link(router, router - at * step);
    }
  }
  return network.build(std::vector<int>{sides.begin(), sides.end()}, ends == Ends::joined);
}

Topology hypercube(int dimensions, int hosts, const LinkSpeed& speed) {
  check("hypercube", "the dimension", dimensions, 0, 19);
  Routers network{"hypercube:" + std::to_string(dimensions) + suffix(hosts),
                  std::int64_t{1} << dimensions, hosts, speed};
  for (int router = 0; router < 1 << dimensions; ++router)
    for (int bit = 0; bit < dimensions; ++bit)
      if ((router >> bit & 1) == 0) network.link(router, router | 1 << bit);
  return network.build(std::vector<int>(static_cast<std::size_t>(dimensions), 2));
}

Topology slim_fly(int q, int hosts, const LinkSpeed& speed) {
  const Graph graph = Graph::slim_fly(q);
  Routers network{"slim_fly:" + std::to_string(q) + suffix(hosts), graph.routers(), hosts, speed};
  for (const Graph::Edge& edge : graph.edges()) network.link(edge.a, edge.b);
  return network.build();
}

Topology rails(int islands, int devices, const LinkSpeed& speed, const LinkSpeed& inside) {
  check("rails", "islands", islands, 1);
  check("rails", "devices of an island", devices, 1);
  const std::int64_t hosts = std::int64_t{islands} * devices;
  const int sizes[]{islands, devices};
  const std::string name = "rails:" + join_numbers(sizes);
  if (hosts > Topology::kMost / 2) reject_network("network " + name + ": it is too large");
  const auto count = static_cast<int>(hosts);
  std::vector<Topology::Link> links;
  for (int host = 0; host < count; ++host) {
    links.push_back({host, count + host / devices, inside});
    links.push_back({host, count + islands + host % devices, speed});
  }
  return {name, count, islands + devices, std::move(links)};
}

Topology gpu_hosts(int gpus, int hosts, int islands, const LinkSpeed& rail) {
  check("gpus", "GPUs of a host", gpus, 1);
  check("gpus", "hosts", hosts, 1);
  check("gpus", "islands of a host", islands, 1, gpus);
  const int sizes[]{gpus, hosts};
  std::string name = "gpus:" + join_numbers(sizes);
  if (islands > 1) name += ":islands=" + std::to_string(islands);
  if (gpus % islands != 0)
    reject_network("network " + name + ": " + std::to_string(gpus) + " GPUs do not make " +
                   std::to_string(islands) + " islands of one size");
  if (std::int64_t{gpus} * hosts > Topology::kMost / 4)
    reject_network("network " + name + ": it is too large");
  std::vector<int> host_of;
  std::vector<Locality> localities;
  for (int host = 0; host < hosts; ++host)
    for (int gpu = 0; gpu < gpus; ++gpu) {
      host_of.push_back(host);
      localities.push_back({.island = gpu / (gpus / islands), .rail = gpu});
    }
  GpuSpeeds speeds = gpu_speeds();
  speeds.assumed = "kernels, NVLink and PCIe";
  if (rail == speeds.rail) speeds.assumed += ", and rails";
  speeds.rail = rail;
  speeds.spine.per_byte = rail.per_byte;
  return gpu_network(std::move(name), host_of, localities, speeds);
}

}  // namespace tutti::v0

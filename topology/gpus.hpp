/// @file
/// Networks of GPUs: islands joined by NVLink, hosts, and a rail for each GPU of a host.
#pragma once

#include <span>
#include <string>

#include <tutti/spi/cores.hpp>
#include <tutti/spi/costs.hpp>

#include "topology.hpp"

namespace tutti::v0 {

/// The speeds of links between GPUs, and the costs of a GPU.
struct GpuSpeeds {
  LinkSpeed nvlink{};         ///< From a GPU to the others of its island.
  LinkSpeed pcie{};           ///< From a GPU to its host, which joins it to other islands.
  LinkSpeed island{};         ///< From an island to its host: one link for each of its GPUs.
  LinkSpeed rail{};           ///< From a GPU to its rail.
  LinkSpeed spine{};          ///< From a rail to the spine: one link for each of its GPUs.
  EndpointCosts endpoints{};  ///< Costs of a GPU.
  std::string assumed{};      ///< As TopologyFacts::assumed.
};

/// Divides the costs of a message between its sender, which it occupies for half of the cheapest
/// one, and the links on its path. @param nvlink costs inside an island. @param pcie costs between
/// islands of a host. @param rail costs between hosts.
[[nodiscard]] GpuSpeeds gpu_speeds(const LinkCosts& nvlink = kNvlinkCosts,
                                   const LinkCosts& pcie = kPcieCosts,
                                   const LinkCosts& rail = kRailCosts);

/// @return whether there are ranks, and the rail of each one's GPU is known.
[[nodiscard]] bool are_on_rails(std::span<const Locality> localities) noexcept;

/// Joins GPUs. NVLink joins those of one island. PCIe joins islands of one host, and GPUs that are
/// alone in theirs. A rail joins GPUs of different hosts; if two of them have different rails, the
/// path leads through another GPU of one of their hosts, or through the spine. GPUs of one host
/// with unknown islands form one island. The levels of the network are islands, if a host has
/// several, and hosts, if there are several.
/// @param host_of the host of each GPU. @param localities the island and rail of each GPU. @return
/// GPU r is host r of the network. Throws Error{invalid_argument} if a rail is below zero or there
/// are too many GPUs. Complexity: linear, apart from a logarithm.
[[nodiscard]] Topology gpu_network(std::string name, std::span<const int> host_of,
                                   std::span<const Locality> localities, const GpuSpeeds& speeds);

}  // namespace tutti::v0

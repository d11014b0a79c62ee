/// @file
/// Networks of GPUs: islands that NVLink joins, hosts, and a rail for each GPU of a host.
#pragma once

#include <span>
#include <string>

#include <tutti/spi/cores.hpp>
#include <tutti/spi/costs.hpp>

#include "topology.hpp"

namespace tutti::v0 {

/// What links of GPUs take, and GPUs themselves.
struct GpuSpeeds {
  LinkSpeed nvlink{};  ///< Of a GPU to the others of its island.
  LinkSpeed pcie{};    ///< Of a GPU to its host, which joins it to other islands.
  LinkSpeed island{};  ///< Of an island to its host: one such link for each of its GPUs.
  LinkSpeed rail{};    ///< Of a GPU to its rail.
  LinkSpeed spine{};   ///< Of a rail to what joins rails: one such link for each of its GPUs.
  EndpointCosts endpoints{};  ///< What a GPU takes.
  std::string assumed{};      ///< As TopologyFacts::assumed.
};

/// Divides what a message costs between its sender, which half of the cheapest one occupies, and
/// the links on its way. @param nvlink what is charged within an island. @param pcie between
/// islands of a host. @param rail between hosts. @return links that charge as much.
[[nodiscard]] GpuSpeeds gpu_speeds(const LinkCosts& nvlink = kNvlinkCosts,
                                   const LinkCosts& pcie = kPcieCosts,
                                   const LinkCosts& rail = kRailCosts);

/// @param localities of ranks. @return whether there are some, and each one's GPU is known to be on
/// a rail.
[[nodiscard]] bool are_on_rails(std::span<const Locality> localities) noexcept;

/// Joins GPUs. Those of one island reach each other by NVLink; islands of one host, and GPUs that
/// are alone in theirs, by PCIe; those of different hosts, if there are several, by the rail of
/// both, and where their rails differ by another GPU of one of their hosts or from rail to rail.
/// GPUs of one host whose islands are not known are taken for one island. Its levels are islands,
/// where some host has several, and hosts, where there are several.
/// @param name of the network. @param host_of the host of each GPU. @param localities its island
/// and rail; as many. @param speeds of links. @return the network: GPU r is its host r. Throws
/// Error{invalid_argument} where a rail is less than zero or there are too many GPUs. Complexity:
/// linear, but for a logarithm.
[[nodiscard]] Topology gpu_network(std::string name, std::span<const int> host_of,
                                   std::span<const Locality> localities, const GpuSpeeds& speeds);

}  // namespace tutti::v0

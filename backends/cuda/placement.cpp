#include "placement.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <tutti/spi/communicator.hpp>

namespace tutti::v0::cuda {
namespace {

using Uuid = std::array<std::uint8_t, 16>;

Uuid uuid_of(const Driver& driver, CUdevice device) {
  CUuuid uuid{};
  driver.check(driver.calls().device_uuid(&uuid, device), "ask a GPU for its number");
  Uuid bytes{};
  std::copy(std::begin(uuid.bytes), std::end(uuid.bytes), bytes.begin());
  return bytes;
}

std::uint64_t pci_address_of(const Driver& driver, CUdevice device) {
  std::uint64_t address = 0;
  for (const CUdevice_attribute part :
       {CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID,
        CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID})
    address = (address << 16U) + static_cast<std::uint64_t>(driver.attribute(part, device));
  return address;
}

/// @return a GPU and all GPUs that NVLink connects to it, directly or through others.
std::vector<int> island_of(const Driver& driver, int ordinal, int devices) {
  std::vector<int> island{ordinal};
  for (std::size_t next = 0; next < island.size(); ++next)
    for (int other = 0; other < devices; ++other)
      if (std::ranges::find(island, other) == island.end() &&
          link_of(driver, island[next], other) == GpuLink::nvlink)
        island.push_back(other);
  return island;
}

/// The GPUs of a host's ranks.
struct HostGpus {
  std::set<std::pair<std::uint64_t, Uuid>> gpus{};  // by address
  std::map<Uuid, int> islands{};                    // numbered in the order of ranks
  std::int32_t fewest_seen = 0;
};

std::map<int, HostGpus> by_host(std::span<const GpuLocation> locations,
                                const std::vector<int>& hosts) {
  std::map<int, HostGpus> all;
  for (std::size_t rank = 0; rank < locations.size(); ++rank) {
    const auto [found, is_new] = all.try_emplace(hosts[rank]);
    HostGpus& host = found->second;
    const GpuLocation& gpu = locations[rank];
    host.gpus.emplace(gpu.address, gpu.uuid);
    host.islands.try_emplace(gpu.island, static_cast<int>(host.islands.size()));
    host.fewest_seen = is_new ? gpu.seen : std::min(host.fewest_seen, gpu.seen);
  }
  return all;
}

}  // namespace

GpuLink link_of(const Driver& driver, int one, int other) {
  const CUdevice a = driver.device(one), b = driver.device(other);
  const auto has = [&](CUdevice_P2PAttribute attribute) {
    int value = 0;
    driver.check(driver.calls().peer_attribute(&value, attribute, a, b),
                 "ask for the link of two GPUs");
    return value != 0;
  };
  if (!has(CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED)) return GpuLink::none;
  return has(CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED) ? GpuLink::nvlink : GpuLink::p2p;
}

GpuLocation location_of(const Device& device) {
  const Driver& driver = device.driver();
  GpuLocation gpu{.uuid = uuid_of(driver, device.device()),
                  .address = pci_address_of(driver, device.device()),
                  .seen = driver.devices()};
  gpu.island = gpu.uuid;
  for (const int ordinal : island_of(driver, device.ordinal(), gpu.seen))
    gpu.island = std::min(gpu.island, uuid_of(driver, driver.device(ordinal)));
  return gpu;
}

GpuPlacement placement_of(std::span<const GpuLocation> locations, std::vector<int> hosts) {
  GpuPlacement placement{.hosts = std::move(hosts)};
  if (placement.hosts.size() != locations.size()) return placement;  // hosts are unknown
  std::map<int, HostGpus> known = by_host(locations, placement.hosts);
  for (std::size_t rank = 0; rank < locations.size(); ++rank) {
    const GpuLocation& gpu = locations[rank];
    const HostGpus& host = known.at(placement.hosts[rank]);
    const auto found = host.gpus.find({gpu.address, gpu.uuid});
    const bool sees_all = host.fewest_seen >= static_cast<std::int32_t>(host.gpus.size());
    placement.localities.push_back(
        {.island = sees_all ? host.islands.at(gpu.island) : -1,
         .rail = static_cast<std::int32_t>(std::distance(host.gpus.begin(), found))});
  }
  return placement;
}

GpuPlacement placement_in(Communicator& part, const GpuPlacement& whole, Rank self) {
  GpuPlacement placement{.hosts = hosts_of(part)};
  if (!whole.localities.empty())
    placement.localities = part.all_gather(whole.localities[static_cast<std::size_t>(self)]);
  return placement;
}

CostModel nccl_cost_model(const GpuPlacement& placement) {
  const std::set<int> hosts(placement.hosts.begin(), placement.hosts.end());
  if (hosts.size() > 1)
    return {.costs = kRailCosts,
            .origin = "assumed of GPUs of several hosts",
            .inside = kNvlinkCosts,
            .across = kPcieCosts};
  std::set<std::int32_t> islands;
  for (const Locality& locality : placement.localities) islands.insert(locality.island);
  if (islands.size() > 1)
    return {.costs = kPcieCosts,
            .origin = "assumed of GPUs of one host that PCIe joins",
            .inside = kNvlinkCosts,
            .across = kPcieCosts};
  return {.costs = kNvlinkCosts, .origin = "assumed of GPUs of one host"};
}

}  // namespace tutti::v0::cuda

#include "places.hpp"

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

/// All that NVLink joins with a GPU, through others too, and itself.
std::vector<int> island_of(const Driver& driver, int ordinal, int devices) {
  std::vector<int> island{ordinal};
  for (std::size_t next = 0; next < island.size(); ++next)
    for (int other = 0; other < devices; ++other)
      if (std::ranges::find(island, other) == island.end() &&
          joint_of(driver, island[next], other) == Joint::nvlink)
        island.push_back(other);
  return island;
}

/// The GPUs of a host, as its ranks report them.
struct OnHost {
  std::set<std::pair<std::uint64_t, Uuid>> gpus{};  // by their addresses
  std::map<Uuid, int> islands{};                    // numbered as they are met
  std::int32_t fewest_seen = 0;
};

std::map<int, OnHost> hosts_among(std::span<const Place> places, const std::vector<int>& hosts) {
  std::map<int, OnHost> all;
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    const auto [found, is_new] = all.try_emplace(hosts[rank]);
    OnHost& host = found->second;
    const Place& place = places[rank];
    host.gpus.emplace(place.address, place.uuid);
    host.islands.try_emplace(place.island, static_cast<int>(host.islands.size()));
    host.fewest_seen = is_new ? place.seen : std::min(host.fewest_seen, place.seen);
  }
  return all;
}

}  // namespace

Joint joint_of(const Driver& driver, int one, int other) {
  const CUdevice a = driver.device(one), b = driver.device(other);
  const auto has = [&](CUdevice_P2PAttribute attribute) {
    int value = 0;
    driver.check(driver.calls().peer_attribute(&value, attribute, a, b), "ask what joins two GPUs");
    return value != 0;
  };
  if (!has(CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED)) return Joint::none;
  return has(CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED) ? Joint::nvlink : Joint::p2p;
}

Place place_of(const Device& device) {
  const Driver& driver = device.driver();
  const CUdevice own = driver.device(device.ordinal());
  Place place{.uuid = uuid_of(driver, own),
              .address = pci_address_of(driver, own),
              .seen = driver.devices()};
  place.island = place.uuid;
  for (const int ordinal : island_of(driver, device.ordinal(), place.seen))
    place.island = std::min(place.island, uuid_of(driver, driver.device(ordinal)));
  return place;
}

Places places_of(std::span<const Place> places, std::vector<int> hosts) {
  Places all{.hosts = std::move(hosts)};
  if (all.hosts.size() != places.size()) return all;  // they are not known
  std::map<int, OnHost> known = hosts_among(places, all.hosts);
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    const Place& place = places[rank];
    const OnHost& host = known.at(all.hosts[rank]);
    const auto gpu = host.gpus.find({place.address, place.uuid});
    const bool sees_all = host.fewest_seen >= static_cast<std::int32_t>(host.gpus.size());
    all.localities.push_back(
        {.island = sees_all ? host.islands.at(place.island) : -1,
         .rail = static_cast<std::int32_t>(std::distance(host.gpus.begin(), gpu))});
  }
  return all;
}

Places places_in(Communicator& part, const Places& whole, Rank self) {
  Places places{.hosts = hosts_of(part)};
  if (whole.localities.empty()) return places;
  places.localities = part.all_gather(whole.localities[static_cast<std::size_t>(self)]);
  return places;
}

CostModel nccl_cost_model(const Places& places) {
  const std::set<int> hosts(places.hosts.begin(), places.hosts.end());
  if (hosts.size() > 1)
    return {.costs = kRailCosts,
            .origin = "assumed of GPUs of several hosts",
            .inside = kNvlinkCosts,
            .across = kPcieCosts};
  std::set<std::int32_t> islands;
  for (const Locality& at : places.localities) islands.insert(at.island);
  if (islands.size() > 1)
    return {.costs = kPcieCosts,
            .origin = "assumed of GPUs of one host that PCIe joins",
            .inside = kNvlinkCosts,
            .across = kPcieCosts};
  return {.costs = kNvlinkCosts, .origin = "assumed of GPUs of one host"};
}

}  // namespace tutti::v0::cuda

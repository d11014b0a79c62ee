/// @file
/// The inputs of choices that the communicators of a world share, beside their cost models:
/// measurements, a described network, and cached profiles.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <tutti/spi/algorithm.hpp>
#include <tutti/spi/contract.hpp>
#include <tutti/spi/cores.hpp>

#include "network_profile.hpp"
#include "predict.hpp"
#include "topology/read.hpp"
#include "tuning.hpp"

namespace tutti::v0::detail {

/// Profiles of tutti's own algorithms, by choice, number of ranks, root and network. Any thread may
/// call it.
class Profiles {
 public:
  /// @param choice of a row that outlives this. @param contract of the call. @return its profile on
  /// one switch; made at the first request. Throws what profile_of throws.
  [[nodiscard]] Profile find(const Choice& choice, const Contract& contract);
  /// As above, on a network. @param network not null. Throws what profile_on throws.
  [[nodiscard]] NetworkProfile find(const Choice& choice, const Contract& contract,
                                    const std::shared_ptr<const RankNetwork>& network);

 private:
  using Key = std::tuple<const Algorithm*, std::string, int, Rank>;
  using NetworkKey = std::pair<std::shared_ptr<const RankNetwork>, Key>;

  std::mutex mutex_{};
  std::map<Key, Profile> profiles_{};
  std::map<NetworkKey, NetworkProfile> on_networks_{};
};

/// A network that the user described, and the places of the world's hosts in it.
struct HostNetwork {
  std::string origin{};         ///< The description: a family, or a path.
  Topology topology;            ///< With a host for each place.
  std::map<int, int> places{};  ///< The topology's host by CommunicatorParts::hosts' number.
};

/// Finds the world's hosts in a network. Hosts of a file match by name, whole or up to the first
/// dot. Hosts of a family have no names; they get places in the order of `hosts`. If
/// no link joins several networks, it takes the one with all hosts. Throws Error{invalid_argument}
/// if a host is missing, if two hosts are in different networks or at one place, if there are too
/// few places, or if the network's hosts are GPUs. @param networks of read_networks. @param
/// has_names whether the network's hosts have names. @param hosts number and name of each.
[[nodiscard]] HostNetwork find_hosts(std::string origin, std::vector<NamedTopology> networks,
                                     bool has_names,
                                     const std::vector<std::pair<int, std::string>>& hosts);

/// The placement of ranks, and the costs of links between them.
struct PlacedCosts {
  std::vector<int> hosts{};            ///< CommunicatorParts::hosts, numbered by first ranks.
  std::vector<Locality> localities{};  ///< As CommunicatorParts::localities.
  LinkCosts between{};                 ///< Between hosts, or inside the only host.
  LinkCosts inside{};                  ///< Inside a host, or an island of GPUs.
  std::optional<LinkCosts> across{};   ///< As CostModel::across.
  /// Equality of all members.
  friend bool operator==(const PlacedCosts&, const PlacedCosts&) = default;
};

/// See the head of the file. Equal on all ranks.
struct SharedConfig {
  std::shared_ptr<const Tuning> tuning{};        ///< Measurements on this machine; may be null.
  std::shared_ptr<const HostNetwork> network{};  ///< Between hosts; may be null.
  std::string untuned{};                         ///< Why a tuning file that was found is not used.

  /// @return the network of ranks with these costs. It is the same object for equal costs, so that
  /// its profiles are shared.
  [[nodiscard]] std::shared_ptr<const RankNetwork> network_of(const PlacedCosts& costs) const;
  /// @return the profiles that all communicators share.
  [[nodiscard]] Profiles& profiles() const noexcept { return *profiles_; }

 private:
  struct Networks {
    std::mutex mutex{};
    std::vector<std::pair<PlacedCosts, std::shared_ptr<const RankNetwork>>> made{};
  };
  [[nodiscard]] RankNetwork on_hosts_of(const PlacedCosts& costs) const;

  std::shared_ptr<Profiles> profiles_ = std::make_shared<Profiles>();
  std::shared_ptr<Networks> networks_ = std::make_shared<Networks>();
};

}  // namespace tutti::v0::detail

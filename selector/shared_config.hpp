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
/// ask.
class Profiles {
 public:
  /// @param choice of a row that outlives this. @param contract of the call. @return its profile on
  /// one switch; made at the first request. Throws what profile_of throws.
  [[nodiscard]] Profile find(const Choice& choice, const Contract& contract);
  /// @param choice likewise. @param contract likewise. @param network not null. @return its profile
  /// there. Throws what profile_on throws.
  [[nodiscard]] NetworkProfile find(const Choice& choice, const Contract& contract,
                                    const std::shared_ptr<const RankNetwork>& network);

 private:
  using Key = std::tuple<const Algorithm*, std::string, int, Rank>;
  using NetworkKey = std::pair<std::shared_ptr<const RankNetwork>, Key>;

  std::mutex mutex_{};
  std::map<Key, Profile> profiles_{};
  std::map<NetworkKey, NetworkProfile> on_networks_{};
};

/// A network that the user described, and the locations of the hosts of the world in it.
struct HostNetwork {
  std::string origin{};         ///< The description: a family, or a path.
  Topology topology;            ///< See there.
  std::map<int, int> places{};  ///< The topology's host by CommunicatorParts::hosts' number.
};

/// Finds hosts in a network: those of a file by their names, as a whole or up to the first dot,
/// those of a family in the order in which they are given. Of several networks that no link joins,
/// it is the one that has all hosts. Throws Error{invalid_argument} that names a host that is not
/// there or two hosts of different networks, or says how many places there are, and where the
/// network's hosts are GPUs.
/// @param origin as HostNetwork. @param networks as read_networks returns them. @param has_names
/// whether hosts have names that count. @param hosts number and name of each. @return the network
/// with places.
[[nodiscard]] HostNetwork find_hosts(std::string origin, std::vector<NamedTopology> networks,
                                     bool has_names,
                                     const std::vector<std::pair<int, std::string>>& hosts);

/// How ranks are placed, and what links between them cost.
struct PlacedCosts {
  std::vector<int> hosts{};            ///< As CommunicatorParts::hosts, numbered in the order of their first ranks.
  std::vector<Locality> localities{};  ///< As CommunicatorParts::localities.
  LinkCosts between{};                 ///< Between hosts; of one host: within it.
  LinkCosts inside{};                  ///< Within a host, or an island of GPUs.
  std::optional<LinkCosts> across{};   ///< As CostModel::across.
  /// Equality of all members.
  friend bool operator==(const PlacedCosts&, const PlacedCosts&) = default;
};

/// See the head of the file. Equal on all ranks.
struct SharedConfig {
  std::shared_ptr<const Tuning> tuning{};        ///< Of this machine; may be null.
  std::shared_ptr<const HostNetwork> network{};  ///< Between hosts; may be null.
  /// Plain calls that were timed on this machine, see find_timed; may be null. They change what
  /// explain() says that calls take, and never what is chosen.
  std::shared_ptr<const Tuning> timed{};
  std::string untuned{};  ///< Why a tuning file that was found is not used.
  std::string untimed{};  ///< Why calls were not timed at the start, if they were to be.

  /// Networks of ranks that are placed alike are one, so that their profiles are shared.
  /// @param placement of the ranks. @return it.
  [[nodiscard]] std::shared_ptr<const RankNetwork> network_of(const PlacedCosts& costs) const;
  /// @return profiles that all share.
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

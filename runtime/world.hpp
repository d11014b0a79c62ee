/// @file
/// World: the connections of a process to the others it was started with.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <tutti/communicator.hpp>
#include <tutti/spi/group.hpp>
#include <tutti/spi/network.hpp>

#include "rank_table.hpp"
#include "shared_config.hpp"

namespace tutti::runtime {

/// Which connections a world may use.
enum class TransportSet : std::uint8_t {
  any,  ///< Shared memory inside a host, TCP between hosts.
  shm,  ///< Shared memory, or an error.
  tcp,  ///< TCP, inside a host too.
  none  ///< No data: the ranks of a host only watch each other.
};
/// @param name "auto", "shm" or "tcp". @return the set. Throws Error{invalid_argument} that lists
/// the names.
[[nodiscard]] TransportSet transports_of(std::string_view name);

/// How a world is made.
struct WorldOptions {
  TransportSet transports = TransportSet::any;  ///< See TransportSet.
  MeshOptions mesh{};                           ///< See MeshOptions; its memory is chosen here.
  LinkOptions links{};                          ///< See LinkOptions; its tls is the mesh's, too.
  int network_megabits = 0;                     ///< Between hosts; 0 measures.
  std::shared_ptr<Network> network{};           ///< Carries messages between hosts; null: TCP does.
  bool has_tcp_too = false;                     ///< Whether each call takes TCP or the network.
  SharedConfigFiles shared_config{};            ///< What rank 0 reads.
};

/// The connections of a process to the ranks it was started with, or that an MPI communicator
/// names: a view of its links, shared by the communicators that are made of it.
class World : public std::enable_shared_from_this<World> {
 public:
  /// Collective: connects all ranks. If an earlier world with the same settings has connected their
  /// processes, that costs two exchanges over the channel. @param channel of all ranks. @param
  /// options see WorldOptions. @param deadline as connect_mesh. @return the world. Throws as
  /// connect_mesh.
  [[nodiscard]] static std::shared_ptr<World> connect(Channel& channel, const WorldOptions& options,
                                                      Deadline deadline);

  /// A world's ranks and connections.
  struct Connections {
    Rank rank = 0;                       ///< The own one.
    std::uint64_t id = 0;                ///< Of the world; equal on all ranks.
    std::string origin{};                ///< Names the launcher, for a person.
    std::shared_ptr<Links> links{};      ///< Not null.
    RankTable ranks{};                   ///< All ranks, in the links.
    std::shared_ptr<Network> network{};  ///< As WorldOptions.
    bool has_tcp_too = false;            ///< As WorldOptions.
  };
  /// @param connections of connected ranks. @param shared_config of rank 0; equal on all ranks.
  World(Connections connections, std::shared_ptr<const detail::SharedConfig> shared_config);

  [[nodiscard]] Rank rank() const noexcept { return connections_.rank; }
  [[nodiscard]] const RankTable& ranks() const noexcept { return connections_.ranks; }
  [[nodiscard]] const std::shared_ptr<Links>& links() const noexcept { return connections_.links; }
  /// @return as WorldOptions::network.
  [[nodiscard]] const std::shared_ptr<Network>& network() const noexcept {
    return connections_.network;
  }
  /// @return the number of transports that a message between hosts may take.
  [[nodiscard]] std::size_t transports_between_hosts() const noexcept {
    return connections_.has_tcp_too ? 2 : 1;
  }
  /// @return what choices of algorithms depend on; equal on all ranks.
  [[nodiscard]] const std::shared_ptr<const detail::SharedConfig>& shared_config() const noexcept {
    return shared_config_;
  }

  // Between connect and the first communicator of the program.

  /// Steps of a start that exchange messages. Each has communicators of its own.
  enum class StartStep : std::uint8_t { measure = 1, share_measurement, time_calls, share_times };
  /// Collective. @param members in the world. @param step equal on all of them. @param timeout of
  /// its calls. @return a communicator of the members, for this step.
  [[nodiscard]] Communicator start_communicator(const std::vector<Rank>& members, StartStep step,
                                                Duration timeout);
  /// @param costs between hosts, one for each transport; equal on all ranks.
  void set_remote_costs(std::vector<CostModel> costs) { remote_costs_ = std::move(costs); }
  /// @param shared_config in place of the first one; equal on all ranks.
  void set_shared_config(std::shared_ptr<const detail::SharedConfig> shared_config) {
    shared_config_ = std::move(shared_config);
  }

  // Communicators.

  /// @return the parts of a communicator of all ranks. To be called once.
  [[nodiscard]] CommunicatorParts communicator_parts();
  /// @param parent its id. @param members of a group of it. @param times how often they made one.
  /// @param key that they gave. @return the group's id, which every member computes by itself.
  [[nodiscard]] static std::uint64_t id_of(std::uint64_t parent, std::span<const Rank> members,
                                           std::uint64_t times, std::uint64_t key = 0);
  /// @param communicator its id. @param members its ranks, by their ranks in the world. @return its
  /// parts.
  [[nodiscard]] CommunicatorParts make_parts(std::uint64_t communicator,
                                             const std::vector<Rank>& members);
  /// As Control::inquire. @param ranks in the world.
  [[nodiscard]] std::vector<CallStatus> inquire(std::uint64_t communicator,
                                                std::span<const Rank> ranks, std::uint64_t call,
                                                Duration patience);
  /// @return memory that the other ranks of the host see, or null.
  [[nodiscard]] const std::shared_ptr<Memory>& visible_memory() const noexcept {
    return links()->visible_memory();
  }
  /// @param members ranks in the world. @return a line about them.
  [[nodiscard]] std::string describe(const std::vector<Rank>& members) const;

 private:
  [[nodiscard]] std::unique_ptr<Transport> connect(
      std::uint64_t communicator, const std::vector<Rank>& members,
      const std::shared_ptr<FailureSignal>& failure_signal);
  [[nodiscard]] std::vector<std::unique_ptr<Transport>> connect_remotely(
      std::uint64_t communicator, const std::vector<Rank>& members,
      const std::shared_ptr<FailureSignal>& failure_signal);
  [[nodiscard]] CostModel cost_model_of(const std::vector<Rank>& members,
                                        std::size_t transport = 0) const;
  [[nodiscard]] std::string transports_in_words() const;

  const Connections connections_;
  int shared_cores_ = 0;                   // of the own host; 0: each of its ranks has one
  int fewest_cores_ = 0;                   // of the host whose ranks share the fewest, likewise
  std::vector<CostModel> remote_costs_{};  // of links that share no memory, for each transport
  std::shared_ptr<const detail::SharedConfig> shared_config_;
};

}  // namespace tutti::runtime

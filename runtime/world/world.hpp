/// @file
/// World: the connections of a process to the others it was started with.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tutti/communicator.hpp>
#include <tutti/spi/group.hpp>
#include <tutti/spi/network.hpp>

#include "runtime/links/rank_table.hpp"

#include "shared_config.hpp"

namespace tutti::runtime {

/// The transports that a world may use.
enum class TransportSet : std::uint8_t {
  any,  ///< Shared memory inside a host, TCP between hosts.
  shm,  ///< Shared memory, or an error.
  tcp,  ///< TCP, inside a host too.
  none  ///< No data: the ranks of a host only watch each other.
};
/// @param name "auto", "shm" or "tcp". Throws Error{invalid_argument} that lists the names.
[[nodiscard]] TransportSet transports_of(std::string_view name);

/// The options of a world.
struct WorldOptions {
  TransportSet transports = TransportSet::any;
  MeshOptions mesh{};  ///< Its memory and tls are set by World::connect.
  LinkOptions links{};
  int network_megabits = 0;            ///< Between hosts; 0 measures.
  std::shared_ptr<Network> network{};  ///< Carries messages between hosts; null: TCP.
  bool has_tcp_too = false;           ///< Whether TCP does as well, and each call uses one of them.
  SharedConfigFiles shared_config{};  ///< The files of rank 0.
  /// Why the options of this rank are wrong: World::connect throws it on all ranks.
  std::optional<Error> failure{};
};

/// The connections of a process to the ranks it was started with, or to those of an MPI
/// communicator. The communicators made of a world share it.
class World : public std::enable_shared_from_this<World> {
 public:
  /// Collective: connects all ranks. If an earlier world with the same settings has connected their
  /// processes, that costs two exchanges over the channel. @param deadline as connect_mesh. Throws
  /// as connect_mesh.
  [[nodiscard]] static std::shared_ptr<World> connect(Channel& channel, const WorldOptions& options,
                                                      Deadline deadline);

  /// A world's ranks and connections.
  struct Connections {
    Rank rank = 0;
    std::uint64_t id = 0;                   ///< Equal on all ranks.
    std::string origin{};                   ///< The launcher, for a person.
    std::shared_ptr<ProcessLinks> links{};  ///< Not null.
    RankTable ranks{};
    std::shared_ptr<Network> network{};  ///< As WorldOptions.
    bool has_tcp_too = false;            ///< As WorldOptions.
  };
  /// @param shared_config of rank 0; equal on all ranks.
  World(Connections connections, std::shared_ptr<const detail::SharedConfig> shared_config);

  [[nodiscard]] Rank rank() const noexcept { return connections_.rank; }
  [[nodiscard]] const RankTable& ranks() const noexcept { return connections_.ranks; }
  [[nodiscard]] const std::shared_ptr<ProcessLinks>& links() const noexcept {
    return connections_.links;
  }
  [[nodiscard]] const std::shared_ptr<Network>& network() const noexcept {
    return connections_.network;
  }
  /// @return the number of transports that a message between hosts may take.
  [[nodiscard]] std::size_t transports_between_hosts() const noexcept {
    return connections_.has_tcp_too ? 2 : 1;
  }

  // Between connect and the first communicator of the program.

  /// Steps of a start that exchange messages. Each has its own communicators.
  enum class StartStep : std::uint8_t { measure = 1, share_measurement };
  /// Collective. @param members by their ranks in the world. @param step equal on all of them.
  /// @param timeout of its calls. @return a communicator of the members, for this step.
  [[nodiscard]] Communicator start_communicator(const std::vector<Rank>& members, StartStep step,
                                                Duration timeout);
  /// @param costs between hosts, one for each transport; equal on all ranks.
  void set_remote_costs(std::vector<CostModel> costs) { remote_costs_ = std::move(costs); }

  // Communicators.

  /// @return the parts of a communicator of all ranks. Call it once.
  [[nodiscard]] CommunicatorParts communicator_parts();
  /// Computes a group's id, which is equal on all members. @param parent id of the communicator
  /// that it is a group of. @param times the number of its earlier groups of these members.
  [[nodiscard]] static std::uint64_t id_of(std::uint64_t parent, std::span<const Rank> members,
                                           std::uint64_t times, std::uint64_t key = 0);
  /// @param communicator id. @param members by their ranks in the world. @param parent the failure
  /// signal of the communicator of which they are a group, or null.
  [[nodiscard]] CommunicatorParts make_parts(std::uint64_t communicator,
                                             const std::vector<Rank>& members,
                                             std::shared_ptr<FailureSignal> parent = nullptr);
  /// As Control::inquire. @param ranks in the world.
  [[nodiscard]] std::vector<CallStatus> inquire(std::uint64_t communicator,
                                                std::span<const Rank> ranks, std::uint64_t call,
                                                Duration patience);
  /// @return memory that the other ranks of the host can access, or null.
  [[nodiscard]] const std::shared_ptr<Memory>& visible_memory() const noexcept {
    return links()->visible_memory();
  }
  /// @param members by their ranks in the world. @return a line for a person.
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
  [[nodiscard]] std::string transports_text() const;

  const Connections connections_;
  int shared_cores_ = 0;                   // of the own host; 0: each rank has its own
  int fewest_cores_ = 0;                   // of the host with the fewest; 0: each rank has its own
  std::vector<CostModel> remote_costs_{};  // of links without shared memory, by transport
  const std::shared_ptr<const detail::SharedConfig> shared_config_;
};

}  // namespace tutti::runtime

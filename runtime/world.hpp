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

#include "links.hpp"
#include "memory_domain.hpp"
#include "shared_config.hpp"

namespace tutti::runtime {

/// Which connections a world may use.
enum class TransportSet : std::uint8_t {
  any,  ///< Shared memory inside a host, TCP between hosts.
  shm,  ///< Shared memory, or an error.
  tcp,  ///< TCP, inside a host too.
  none  ///< No data: ranks of one host only learn when one of them ends.
};
/// @param name "auto", "shm" or "tcp". @return the ways. Throws Error{invalid_argument} that lists
/// the names.
[[nodiscard]] TransportSet transports_of(std::string_view name);

/// How a world is made.
struct WorldOptions {
  TransportSet transports = TransportSet::any;  ///< See TransportSet.
  MeshOptions mesh{};                  ///< See MeshOptions; its memory is chosen here.
  HeartbeatSettings heartbeat{};       ///< See HeartbeatSettings.
  int network_megabits = 0;            ///< Between hosts; 0 measures.
  bool payload_checksum = false;       ///< As tcp::Options.
  std::shared_ptr<Network> network{};  ///< Carries messages between hosts; null: TCP does.
  bool has_tcp_too = false;            ///< Whether each call takes TCP or the network.
  SharedConfigFiles shared_config{};   ///< What rank 0 reads.
  std::size_t segment_bytes = shm::kSegmentBytes;  ///< Addresses of the own shared memory.
};

/// What a process has to the ranks it was started with, or that an MPI communicator names: a view
/// of its links, shared by the communicators that are made of it.
class World : public std::enable_shared_from_this<World> {
 public:
  /// Collective: connects all ranks. Where their processes are connected already, with the same
  /// settings, for an earlier world, that costs two exchanges over the channel. @param channel of
  /// all ranks. @param options see WorldOptions. @param deadline as connect_mesh. @return the
  /// world. Throws as connect_mesh.
  [[nodiscard]] static std::shared_ptr<World> connect(Channel& channel, const WorldOptions& options,
                                                      Deadline deadline);

  /// @return what a communicator of all ranks stands on. To be called once.
  [[nodiscard]] CommunicatorParts communicator_parts();
  /// @return the links, for those who keep them for worlds to come.
  [[nodiscard]] const std::shared_ptr<Links>& links() const noexcept { return links_; }

  // What groups need.

  /// @param parent its id. @param members of a group of it. @param times how often they made one.
  /// @param key that they gave. @return the group's id, to which every member comes by itself.
  [[nodiscard]] static std::uint64_t id_of(std::uint64_t parent, std::span<const Rank> members,
                                           std::uint64_t times, std::uint64_t key = 0);
  /// Makes a communicator's footing. @param communicator its id. @param members its ranks, by their
  /// ranks in the world. @return it.
  [[nodiscard]] CommunicatorParts make_parts(std::uint64_t communicator,
                                             const std::vector<Rank>& members);
  /// As Control::inquire. @param ranks in the world.
  [[nodiscard]] std::vector<CallStatus> inquire(std::uint64_t communicator,
                                                std::span<const Rank> ranks, std::uint64_t call,
                                                Duration patience);
  /// @return memory that the other ranks of the host see, or null.
  [[nodiscard]] const std::shared_ptr<Memory>& visible_memory() const noexcept {
    return links_->visible_memory();
  }
  /// @param members ranks in the world. @return a line about them.
  [[nodiscard]] std::string describe(const std::vector<Rank>& members) const;

 private:
  World() = default;
  [[nodiscard]] bool share(Channel& channel, const LinkSettings& settings,
                           const WorldOptions& options, Deadline deadline);
  void connect_anew(Channel& channel, const LinkSettings& settings, const WorldOptions& options,
                    Deadline deadline);
  void complete_links(std::vector<Rank> memory_domains);
  [[nodiscard]] MemoryDomain memory_domain() const;
  [[nodiscard]] std::vector<PeerInfo> infos() const;
  [[nodiscard]] NetworkSpeed known_speed() const;
  [[nodiscard]] std::pair<std::string, std::string> ends_of_network(Rank far) const;
  void require_memory() const;
  [[nodiscard]] const Links::Peer& peer(Rank rank) const {
    return links_->peer(numbers_[static_cast<std::size_t>(rank)]);
  }
  [[nodiscard]] std::vector<Rank> numbers_of(std::span<const Rank> members) const;
  [[nodiscard]] std::unique_ptr<Transport> connect(
      std::uint64_t communicator, const std::vector<Rank>& members,
      const std::shared_ptr<FailureSignal>& failure_signal);
  [[nodiscard]] std::vector<std::unique_ptr<Transport>> connect_remotely(
      std::uint64_t communicator, const std::vector<Rank>& members,
      const std::shared_ptr<FailureSignal>& failure_signal);
  [[nodiscard]] CostModel find_remote_tariff(Rank far, int megabits, Deadline deadline);
  [[nodiscard]] std::vector<CostModel> find_tariffs_of_ways(Rank far, int megabits,
                                                            Deadline deadline);
  [[nodiscard]] CostModel by_network(CostModel cost_model) const;
  template <class Found>
  void find_out(Rank far, Deadline deadline, Found& found_out,
                const std::function<void(Communicator& pair)>& measure);
  [[nodiscard]] CostModel tariff_of(const std::vector<Rank>& members, std::size_t way = 0) const;
  [[nodiscard]] std::vector<Rank> everyone() const;
  [[nodiscard]] int count_hosts(const std::vector<Rank>& members) const;
  [[nodiscard]] std::vector<int> hosts_of(const std::vector<Rank>& members) const;
  [[nodiscard]] std::vector<Locality> localities_of(const std::vector<Rank>& members) const;
  void understand_background();
  void time_calls_once(const std::vector<PeerInfo>& infos, Deadline deadline);

  Rank self_ = 0;
  std::uint64_t id_ = 0;
  std::string origin_{};
  std::shared_ptr<Links> links_{};
  std::vector<std::uint64_t> processes_{};  // per rank, as Links::process
  std::vector<Rank> numbers_{};             // per rank, that its process has in the links
  std::vector<Rank> memory_domains_{};      // as Mesh::memory_domains
  std::vector<int> host_of_{};              // per rank, as CommunicatorParts::hosts
  bool uses_tcp_ = false;                   // between any two of its ranks
  bool is_encrypted_ = false;               // whether its TCP links are
  int shared_cores_ = 0;                    // of the own host; 0: each of its ranks has one
  int fewest_cores_ = 0;                    // of the host whose ranks share the fewest, likewise
  bool has_checksums_ = false;              // of payloads
  NetworkSpeed known_speed_ = NetworkSpeed::unknown;  // as rank 0 knew it before
  std::vector<CostModel> remote_tariffs_{};           // of links that share no memory, for each way
  std::shared_ptr<Network> network_{};                // instead of TCP, or beside it
  bool has_tcp_too_ = false;                          // then the first way is TCP
  std::string said_{};                                // what rank 0 has read, packed
  std::shared_ptr<const detail::SharedConfig> shared_config_{};  // that
  bool may_time_calls_ = false;                             // if nobody timed them before
  std::string timed_calls_path_{};                          // where rank 0 keeps them
};

}  // namespace tutti::runtime

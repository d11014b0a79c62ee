/// @file
/// World: the connections of a process to the others it was started with.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tutti/group.hpp>
#include <tutti/network.hpp>

#include "backends/shm/domain.hpp"
#include "backends/tcp/fabric.hpp"
#include "control.hpp"
#include "mesh.hpp"

namespace tutti::runtime {

/// Which connections a world may use.
enum class Ways : std::uint8_t {
  any,  ///< Shared memory inside a host, TCP between hosts.
  shm,  ///< Shared memory, or an error.
  tcp,  ///< TCP, inside a host too.
};
/// @param name "auto", "shm" or "tcp". @return the ways. Throws Error{invalid_argument} that lists
/// the names.
[[nodiscard]] Ways ways_of(std::string_view name);

/// How a world is made.
struct WorldOptions {
  Ways ways = Ways::any;               ///< See Ways.
  MeshOptions mesh{};                  ///< See MeshOptions; its memory is chosen here.
  Vigilance vigilance{};               ///< See Vigilance.
  int network_megabits = 0;            ///< Between hosts; 0 measures.
  bool payload_checksum = false;       ///< As tcp::Options.
  std::shared_ptr<Network> network{};  ///< Carries messages between hosts; null: TCP does.
  std::size_t segment_bytes = shm::kSegmentBytes;  ///< Addresses of the own shared memory.
};

/// All connections of a process to the other ranks, shared by the communicators that are made of
/// them, and closed with the last one.
class World : public std::enable_shared_from_this<World> {
 public:
  /// Collective: connects all ranks. @param channel of all ranks. @param options see WorldOptions.
  /// @param deadline as connect_mesh. @return the world. Throws as connect_mesh.
  [[nodiscard]] static std::shared_ptr<World> connect(Channel& channel, const WorldOptions& options,
                                                      Deadline deadline);

  /// @return what a communicator of all ranks stands on. To be called once.
  [[nodiscard]] Footing footing();

  // What groups need.

  /// Makes a communicator's footing. @param communicator its id. @param members its ranks, by their
  /// ranks in the world. @return it.
  [[nodiscard]] Footing found(std::uint64_t communicator, const std::vector<Rank>& members);
  /// As Control::inquire.
  [[nodiscard]] std::vector<Whereabouts> inquire(std::uint64_t communicator,
                                                 std::span<const Rank> ranks, std::uint64_t call,
                                                 Duration patience);
  /// @return memory that the other ranks of the host see, or null.
  [[nodiscard]] const std::shared_ptr<Memory>& visible_memory() const noexcept { return visible_; }
  /// @param members ranks in the world. @return a line about them.
  [[nodiscard]] std::string describe(const std::vector<Rank>& members) const;

 private:
  World() = default;
  [[nodiscard]] std::unique_ptr<Transport> connect(std::uint64_t communicator,
                                                   const std::vector<Rank>& members,
                                                   const std::shared_ptr<Alarm>& alarm);
  void adopt(Mesh mesh, const WorldOptions& options);
  [[nodiscard]] std::unique_ptr<Transport> connect_remotely(std::uint64_t communicator,
                                                            const std::vector<Rank>& members,
                                                            const std::shared_ptr<Alarm>& alarm);
  [[nodiscard]] Tariff find_remote_tariff(Rank far, int megabits, Deadline deadline);
  [[nodiscard]] Tariff find_network_tariff(Rank far, Deadline deadline);
  [[nodiscard]] Tariff tariff_of(const std::vector<Rank>& members) const;
  [[nodiscard]] std::vector<Rank> everyone() const;
  [[nodiscard]] int count_hosts(const std::vector<Rank>& members) const;
  [[nodiscard]] std::vector<int> hosts_of(const std::vector<Rank>& members) const;

  Rank self_ = 0;
  std::uint64_t id_ = 0;
  std::string origin_{};
  std::vector<std::string> hosts_{};         // per rank
  std::vector<bool> is_local_{};             // per rank
  bool is_encrypted_ = false;                // whether TCP links are
  std::vector<Rank> households_{};           // as Mesh::households
  std::vector<int> host_of_{};               // per rank, as Footing::hosts
  bool has_checksums_ = false;               // of payloads
  int shared_cores_ = 0;                     // of the own host; 0: each of its ranks has one
  Tariff remote_tariff_{};                   // of links that share no memory
  std::unique_ptr<Control> control_{};       // none where there is one rank; says goodbye last
  std::shared_ptr<shm::Segment> segment_{};  // none where all is TCP
  std::shared_ptr<shm::Domain> domain_{};    // likewise
  std::shared_ptr<Memory> visible_{};        // likewise
  std::shared_ptr<Network> network_{};       // instead of the next
  std::shared_ptr<tcp::Fabric> fabric_{};    // none where all is shared memory
};

}  // namespace tutti::runtime

/// @file
/// Links: the connections of this process to others, which its worlds share.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "algorithms/hash.hpp"
#include "backends/shm/domain.hpp"
#include "backends/tcp/fabric.hpp"
#include "control.hpp"
#include "mesh.hpp"
#include "topology/network_speed.hpp"

namespace tutti::runtime {

/// Options of links; equal on all ranks, but for the segment.
struct LinkOptions {
  bool tls = false;                                ///< As InitOptions.
  bool payload_checksum = false;                   ///< As InitOptions.
  HeartbeatSettings heartbeat{};                   ///< See HeartbeatSettings.
  std::size_t segment_bytes = shm::kSegmentBytes;  ///< Addresses of the own shared memory.

  /// Equality of all members.
  friend bool operator==(const LinkOptions&, const LinkOptions&) = default;
};

/// The settings of connections. Only worlds for which all of them are equal share connections.
struct LinkSettings {
  LinkOptions options{};                           ///< See LinkOptions.
  bool shares_memory = true;                       ///< Whether ranks of one host share memory.
  bool carries_data = true;                        ///< As MeshOptions.
  bool only_local = false;                         ///< As MeshOptions.
  std::string interface {};                        ///< As MeshOptions.
  std::optional<Digest> secret{};                  ///< A code of it, which tells secrets apart.
  Host host{};                                     ///< Where this process runs.

  /// Equality of all members.
  friend bool operator==(const LinkSettings&, const LinkSettings&) = default;
};

/// The shared memory of this process, its sockets, the thread that watches the others, and who is
/// at the other ends. Worlds add to it, share it, and close it with the last of them. Two threads
/// that connect two worlds with the same process at the same time make two links to it. Methods
/// may be called from any thread.
class Links {
 public:
  /// @param settings of a world. @param ranks that it has. @return the links of this process that
  /// have the same settings, or fresh ones, which others will share. Throws Error{transport}.
  [[nodiscard]] static std::shared_ptr<Links> of_process(const LinkSettings& settings, int ranks);
  /// As of_process, but nobody shares them. @param settings see LinkSettings. @param ranks of the
  /// first world. Throws Error{transport}.
  Links(const LinkSettings& settings, int ranks);
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;

  [[nodiscard]] const LinkOptions& options() const noexcept { return settings_.options; }
  /// @return a number that no other process has, by which others know this one.
  [[nodiscard]] std::uint64_t process() const noexcept { return process_; }
  /// @return a number for a new world, if this process is rank 0 there: no other has it.
  [[nodiscard]] std::uint64_t next_world() noexcept { return detail::combine(process_, ++worlds_); }
  /// @return what the processors of this process were when the links were first made.
  [[nodiscard]] const Cores& cores() const noexcept { return cores_; }
  /// @return where these are.
  [[nodiscard]] const Locality& locality() const noexcept { return locality_; }

  /// @return what tells this process from its children.
  [[nodiscard]] const std::shared_ptr<const ForkGuard>& guard() const noexcept { return guard_; }

  /// How this process knows those of a world.
  struct Known {
    /// By rank: the number of its process here. Empty if there is no link to one of them.
    std::vector<Rank> numbers{};
    /// The sum of Peer::link over the other ranks, plus for higher and minus for lower ones. Where
    /// every two ranks mean the same link to each other these sums of all ranks add up to 0, and
    /// elsewhere only by an unlikely chance.
    std::uint64_t balance = 0;
  };
  /// @param processes by rank. @param self the own rank. @return see Known.
  [[nodiscard]] Known find(std::span<const std::uint64_t> processes, Rank self) const;
  /// Takes the links of a world over. @param mesh of the world. @param processes by rank.
  /// @param self the own rank. @return the numbers by rank. Throws Error{transport}.
  [[nodiscard]] std::vector<Rank> add(Mesh& mesh, std::span<const std::uint64_t> processes,
                                      Rank self);

  /// The other end of a link, or this one.
  struct Peer {
    PeerInfo info{};            ///< What it said of itself.
    std::uint64_t process = 0;  ///< As process().
    std::uint64_t link = 0;     ///< A number that both ends know the link by.
    bool is_linked = true;      ///< Whether there is a connection to it.
    bool is_local = true;       ///< Whether memory is shared, or could be.
    bool is_encrypted = false;  ///< Whether what goes over TCP is.
  };
  /// @param number of a peer; this process has 0. @return it.
  [[nodiscard]] const Peer& peer(Rank number) const;

  /// @return what watches the other processes, or null where there never was one.
  [[nodiscard]] Control* control() const;
  /// @return links that share memory, or null.
  [[nodiscard]] const std::shared_ptr<shm::Domain>& domain() const noexcept { return domain_; }
  /// @return links over TCP, or null where there never was one.
  [[nodiscard]] std::shared_ptr<tcp::Fabric> fabric() const;
  /// @return the own shared memory, or null.
  [[nodiscard]] const std::shared_ptr<shm::Segment>& segment() const noexcept { return segment_; }
  /// @return memory that the other ranks of the host see, or null.
  [[nodiscard]] const std::shared_ptr<Memory>& visible_memory() const noexcept { return visible_; }

  /// @param hosts two names. @return how fast the network between them was found to be.
  [[nodiscard]] NetworkSpeed speed(const std::pair<std::string, std::string>& hosts) const;
  /// @param hosts two names. @param speed of the network between them.
  void note_speed(const std::pair<std::string, std::string>& hosts, NetworkSpeed speed);

 private:
  [[nodiscard]] bool is_usable() const noexcept { return !guard_->is_forked(); }
  [[nodiscard]] Rank find_locked(std::uint64_t process) const;
  [[nodiscard]] std::vector<Rank> number_locked(const Mesh& mesh,
                                                std::span<const std::uint64_t> processes,
                                                Rank self);
  void add_ways(Mesh& mesh, const std::vector<Rank>& numbers, Rank self);
  void add_local(Rank number, const Link& link);

  const LinkSettings settings_;
  const std::uint64_t process_;
  const Cores cores_ = usable_cores();
  const Locality locality_;
  std::atomic<std::uint64_t> worlds_{0};
  const std::shared_ptr<const ForkGuard> guard_ = std::make_shared<ForkGuard>();
  mutable std::mutex mutex_{};                    // of all below that changes
  std::deque<Peer> peers_{};                      // by number
  bool is_met_ = false;                           // whether a world was connected
  std::multimap<std::uint64_t, Rank> numbers_{};  // by process
  std::map<std::pair<std::string, std::string>, NetworkSpeed> speeds_{};
  std::unique_ptr<Control> control_{};       // says goodbye last
  std::shared_ptr<shm::Segment> segment_{};  // none where all is TCP
  std::shared_ptr<shm::Domain> domain_{};    // likewise
  std::shared_ptr<Memory> visible_{};        // likewise
  std::shared_ptr<tcp::Fabric> fabric_{};
};

}  // namespace tutti::runtime

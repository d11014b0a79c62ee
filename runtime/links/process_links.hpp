/// @file
/// ProcessLinks: the connections of this process to others, which its worlds share.
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
#include "runtime/control/control.hpp"
#include "topology/network_speed.hpp"

#include "mesh.hpp"

namespace tutti::runtime {

/// Options of links; equal on all ranks, except the segment.
struct LinkOptions {
  bool tls = false;               ///< As InitOptions.
  bool payload_checksum = false;  ///< As InitOptions.
  HeartbeatSettings heartbeat{};
  std::size_t segment_bytes = shm::kSegmentBytes;  ///< Address space of the own shared memory.

  /// Equality of all members.
  friend bool operator==(const LinkOptions&, const LinkOptions&) = default;
};

/// The settings of connections. Worlds share connections only if all settings are equal.
struct LinkSettings {
  LinkOptions options{};
  bool shares_memory = true;       ///< Whether ranks of one host share memory.
  bool carries_data = true;        ///< As MeshOptions.
  bool only_local = false;         ///< As MeshOptions.
  std::string interface {};        ///< As MeshOptions.
  std::optional<Digest> secret{};  ///< A code computed with it, so that different secrets differ.
  Host host{};                     ///< The host of this process.

  /// Equality of all members.
  friend bool operator==(const LinkSettings&, const LinkSettings&) = default;
};

/// The shared memory of this process, its sockets, the thread that watches other processes, and the
/// peers at the other ends. Worlds add links and share them; the last world closes them. Two
/// threads that connect two worlds with the same process at the same time make two links to it.
/// Methods may be called from any thread.
class ProcessLinks {
 public:
  /// @param ranks of the world. @return links of this process that have the same settings, or new
  /// ones, which later worlds will share. Throws Error{transport}.
  [[nodiscard]] static std::shared_ptr<ProcessLinks> shared(const LinkSettings& settings,
                                                            int ranks);
  /// Leaves all worlds of this process: see leave_worlds.
  static void leave_all() noexcept;

  /// @param ranks of the world. @return new links, which no other world will share. Throws
  /// Error{transport}.
  [[nodiscard]] static std::shared_ptr<ProcessLinks> unshared(const LinkSettings& settings,
                                                              int ranks);

  /// Makes the segment of links that are not made yet: memory in it is visible to the ranks with
  /// which these connect. The next links take it, unless the caller has released it. Throws
  /// Error{transport}. @param ranks of the world.
  [[nodiscard]] static std::shared_ptr<shm::Segment> early_segment(int ranks);

  /// Makes links that are not shared. @param ranks of the world. Throws Error{transport}.
  ProcessLinks(const LinkSettings& settings, int ranks);
  ProcessLinks(const ProcessLinks&) = delete;
  ProcessLinks& operator=(const ProcessLinks&) = delete;

  [[nodiscard]] const LinkOptions& options() const noexcept { return settings_.options; }
  /// @return the id of this process, which no other process has.
  [[nodiscard]] std::uint64_t process() const noexcept { return process_; }
  /// @return the id of a new world in which this process is rank 0; no other world has it.
  [[nodiscard]] std::uint64_t next_world() noexcept { return detail::combine(process_, ++worlds_); }
  /// @return the cores of this process when the links were made.
  [[nodiscard]] const Cores& cores() const noexcept { return cores_; }
  /// @return their locality.
  [[nodiscard]] const Locality& locality() const noexcept { return locality_; }

  /// @return the guard that detects forked children.
  [[nodiscard]] const std::shared_ptr<const ForkGuard>& guard() const noexcept { return guard_; }

  /// The links to the processes of a world.
  struct WorldLinks {
    /// The number of each rank's process. Empty if there is no link to one of them.
    std::vector<Rank> numbers{};
    /// The sum of LinkedPeer::link over the other ranks, plus for higher and minus for lower ones.
    /// If any two ranks use the same link to each other, the sums of all ranks add up to 0;
    /// otherwise that is very unlikely.
    std::uint64_t balance = 0;
  };
  /// @param processes ids by rank. @param self rank.
  [[nodiscard]] WorldLinks find(std::span<const std::uint64_t> processes, Rank self) const;
  /// Takes ownership of a world's links. @param processes ids by rank. @param self rank. @return
  /// the numbers by rank. Throws Error{transport}.
  [[nodiscard]] std::vector<Rank> add(Mesh& mesh, std::span<const std::uint64_t> processes,
                                      Rank self);

  /// The process at the other end of a link, or this one.
  struct LinkedPeer {
    PeerInfo info{};            ///< As it described itself.
    std::uint64_t process = 0;  ///< As process().
    std::uint64_t link = 0;     ///< The id of the link, equal at both ends.
    bool is_linked = true;
    bool is_local = true;       ///< Whether it runs on this host, so that memory can be shared.
    bool is_encrypted = false;  ///< Whether TCP connections to it are.
  };
  /// @param number of a peer; this process has 0.
  [[nodiscard]] const LinkedPeer& peer(Rank number) const;

  /// @return the address at which other processes have reached this one, with port 0: that of a
  /// network, if there was one. Empty if no world has connected.
  [[nodiscard]] std::string address() const;

  /// @return the control thread, or null if no world needed one.
  [[nodiscard]] Control* control() const;
  /// @return the links that share memory, or null.
  [[nodiscard]] const std::shared_ptr<shm::Domain>& domain() const noexcept { return domain_; }
  /// @return the links over TCP, or null if no world needed them.
  [[nodiscard]] std::shared_ptr<tcp::Fabric> fabric() const;
  [[nodiscard]] const std::shared_ptr<shm::Segment>& segment() const noexcept { return segment_; }
  /// @return memory that the other ranks of the host can access, or null.
  [[nodiscard]] const std::shared_ptr<Memory>& visible_memory() const noexcept { return visible_; }

  /// @param hosts two names. @return the measured speed of the network between them.
  [[nodiscard]] NetworkSpeed speed(const std::pair<std::string, std::string>& hosts) const;
  void set_speed(const std::pair<std::string, std::string>& hosts, NetworkSpeed speed);

 private:
  void leave() noexcept;
  [[nodiscard]] bool is_usable() const noexcept { return !guard_->is_forked(); }
  [[nodiscard]] Rank find_locked(std::uint64_t process) const;
  [[nodiscard]] std::vector<Rank> number_locked(const Mesh& mesh,
                                                std::span<const std::uint64_t> processes,
                                                Rank self);
  void add_transports(Mesh& mesh, const std::vector<Rank>& numbers, Rank self);
  void add_local(Rank number, const MeshLink& link);

  const LinkSettings settings_;
  bool is_shared_ = false;
  const std::uint64_t process_;
  const Cores cores_ = usable_cores();
  const Locality locality_;
  std::atomic<std::uint64_t> worlds_{0};
  const std::shared_ptr<const ForkGuard> guard_ = std::make_shared<ForkGuard>();
  mutable std::mutex mutex_{};      // of all members below that change
  std::deque<LinkedPeer> peers_{};  // by number
  bool has_connected_ = false;      // whether a world is connected
  std::string address_{};
  std::multimap<std::uint64_t, Rank> numbers_{};  // by process
  std::map<std::pair<std::string, std::string>, NetworkSpeed> speeds_{};
  std::unique_ptr<Control> control_{};       // destroyed last: it notifies the peers
  std::shared_ptr<shm::Segment> segment_{};  // null if all links are TCP, as are the next two
  std::shared_ptr<shm::Domain> domain_{};
  std::shared_ptr<Memory> visible_{};
  std::shared_ptr<tcp::Fabric> fabric_{};
};

}  // namespace tutti::runtime

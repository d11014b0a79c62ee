/// @file
/// The TCP links of a process, and transports over them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include <tutti/spi/failure_signal.hpp>
#include <tutti/spi/transport.hpp>

#include "cipher.hpp"

namespace tutti::tcp {

/// Options of the links of a world; equal on all ranks.
struct Options {
  std::size_t eager_bytes = 65536;      ///< Messages up to this size are sent unasked.
  std::size_t credit_bytes = 1U << 20;  ///< That a peer may send before the receives are posted.
  std::size_t fragment_bytes = 262144;  ///< Longer messages travel in frames of this size.
  std::size_t warm_bytes = 131072;      ///< The most bytes that a combiner gets at once.
  bool payload_checksum = false;        ///< Whether payloads have checksums.
  /// How long closing waits while a peer's host acknowledges nothing more.
  std::chrono::milliseconds linger{5000};
  int idle_spins = 1000;        ///< As Capabilities::idle_spins.
  bool oversubscribed = false;  ///< Whether ranks outnumber cores.
  /// How long Transport::idle_wait sleeps at most: failures, and messages of other communicators,
  /// wake nobody.
  Duration idle_wait = std::chrono::milliseconds{1};
};

/// Another process.
struct Peer {
  Rank rank = 0;                     ///< In the world, or as this process numbers its links.
  int socket = -1;                   ///< Connected and authenticated; owned by the fabric.
  std::shared_ptr<Cipher> cipher{};  ///< Of the socket, or null.
  Rank own_source = -1;              ///< Source of the frames to it; -1: the own rank.
  Rank peer_source = -1;             ///< Source of the frames from it; -1: its rank.
};

class Hub;

/// All TCP links of a process, shared by its communicators, which may be used by several threads.
class Fabric : public std::enable_shared_from_this<Fabric> {
 public:
  /// Throws Error{invalid_argument, transport}; the sockets are closed then.
  /// @param self own rank in the world. @param peers the others. @param options see Options.
  Fabric(Rank self, const std::vector<Peer>& peers, const Options& options);
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;
  /// Waits until all bytes sent have reached the peers' hosts, as long as more of them do within
  /// Options::linger; but not for peers with which a communicator has failed.
  ~Fabric();

  /// A communicator's transport. Local: the other members may make theirs at any time, in any
  /// order. Members without a link cannot be reached by it. Throws Error{invalid_argument}.
  /// @param communicator equal on its members, and never used for another one.
  /// @param members ranks in the world, in the communicator's order, the own one among them.
  /// @param failure_signal raised where the communicator fails; not null. @param oversubscribed
  /// whether its ranks outnumber cores, as in Options.
  /// @return the transport, which keeps the fabric alive.
  [[nodiscard]] std::unique_ptr<Transport> transport(std::uint64_t communicator,
                                                     const std::vector<Rank>& members,
                                                     std::shared_ptr<FailureSignal> failure_signal,
                                                     bool oversubscribed = false);
  /// Sends what is under way, as the destructor does, but keeps all objects. Nothing is sent or
  /// received afterwards. @return false if another thread works with the links until `deadline`.
  [[nodiscard]] bool leave(std::chrono::steady_clock::time_point deadline) noexcept;
  /// Adds links. Throws as the constructor does. @param peers not there yet.
  void add(const std::vector<Peer>& peers);

  /// @return frames that came for communicators that have ended. They are dropped.
  [[nodiscard]] std::uint64_t dropped() const;

 private:
  std::unique_ptr<Hub> hub_;
};

}  // namespace tutti::tcp

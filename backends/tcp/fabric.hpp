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
  std::size_t credit_bytes = 1U << 20;  ///< Bytes that a peer may send before receives are posted.
  std::size_t fragment_bytes = 262144;  ///< Longer messages travel in frames of this size.
  std::size_t warm_bytes = 131072;      ///< The most bytes that a combiner gets at once.
  bool payload_checksum = false;        ///< Whether payloads have checksums.
  /// The longest wait at the end while a peer's host acknowledges nothing more.
  std::chrono::milliseconds linger{5000};
  int idle_spins = 1000;        ///< As Capabilities::idle_spins.
  bool oversubscribed = false;  ///< Whether ranks outnumber cores.
  /// The longest sleep of Transport::idle_wait, which failures and messages of other communicators
  /// do not end.
  Duration idle_wait = std::chrono::milliseconds{1};
};

/// Another process.
struct Peer {
  Rank rank = 0;                     ///< In the world, or as this process numbers its links.
  int socket = -1;                   ///< Connected and authenticated; owned by the fabric.
  std::shared_ptr<Cipher> cipher{};  ///< The cipher of the socket, or null.
  Rank own_source = -1;              ///< Source of the frames to it; -1: the own rank.
  Rank peer_source = -1;             ///< Source of the frames from it; -1: its rank.
};

class Hub;

/// All TCP links of a process, shared by its communicators, which may be used by several threads.
class Fabric : public std::enable_shared_from_this<Fabric> {
 public:
  /// Throws Error{invalid_argument, transport}, and then closes the sockets.
  /// @param self own rank in the world. @param peers the other ranks.
  Fabric(Rank self, const std::vector<Peer>& peers, const Options& options);
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;
  /// Waits until all sent bytes have reached the peers' hosts, while more of them do so within
  /// Options::linger. It does not wait for peers with which a communicator has failed.
  ~Fabric();

  /// A communicator's transport. Local: the other members may make theirs at any time, in any
  /// order. Members without a link cannot be reached by it. Throws Error{invalid_argument}.
  /// @param communicator equal on its members, and never used for another one.
  /// @param members ranks in the world, in the communicator's order, the own one among them.
  /// @param failure_signal raised if the communicator fails; not null. @param oversubscribed
  /// whether its ranks outnumber cores, as in Options.
  /// @return the transport, which keeps the fabric alive.
  [[nodiscard]] std::unique_ptr<Transport> transport(std::uint64_t communicator,
                                                     const std::vector<Rank>& members,
                                                     std::shared_ptr<FailureSignal> failure_signal,
                                                     bool oversubscribed = false);
  /// Sends all pending bytes, as the destructor does, but keeps all objects. Nothing is sent or
  /// received afterwards. @return false if another thread works with the links until `deadline`.
  [[nodiscard]] bool leave(std::chrono::steady_clock::time_point deadline) noexcept;
  /// Adds links. Throws as the constructor. @param peers without a link so far.
  void add(const std::vector<Peer>& peers);

  /// @return the number of frames that were dropped, since their communicators had ended.
  [[nodiscard]] std::uint64_t dropped() const;

 private:
  std::unique_ptr<Hub> hub_;
};

}  // namespace tutti::tcp

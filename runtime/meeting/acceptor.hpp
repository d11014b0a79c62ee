/// @file
/// Acceptor: accepts connections, authenticates their peers, and never blocks.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <vector>

#include "runtime/security/authenticate.hpp"

namespace tutti::runtime {

/// A listening socket.
struct Listener {
  Descriptor socket;   ///< Made by listen_on or listen_locally.
  bool local = false;  ///< A Unix socket: peers must belong to this process's user.
  /// False: ranks of the job are refused with Reason::no_secret.
  bool accepts_ranks = true;
};

/// A connection whose peer is authenticated.
struct AcceptedConnection {
  Descriptor socket;  ///< Non-blocking; nothing after the handshake has been read.
  ConnectionRequest request;
  bool local = false;  ///< A Unix socket.
};

/// A refused peer that is a rank of this job: it has proved so, or it is a process of this user on
/// this host.
struct RefusedPeer {
  ConnectionRequest request{};   ///< The rank that the peer claims.
  int size = 0;                  ///< The world size that the peer has.
  Reason reason = Reason::none;  ///< wrong_size, wrong_secret or no_secret.
};

/// Limits on connections that are not authenticated yet.
struct AcceptorLimits {
  std::chrono::milliseconds time_limit{2000};  ///< From accept to the end of the handshake.
  std::size_t most_peers = 64;                 ///< At the same time; see progress().
};

/// Runs the acceptor's side of all handshakes in the caller's thread, without blocking. Until its
/// time limit, a peer costs one descriptor and a fixed buffer. Poll descriptor(), and call
/// progress() when it is readable or next_deadline() has passed.
class Acceptor {
 public:
  using Admit = AcceptorHandshake::Admit;
  /// Called for each refused peer.
  using Report = std::function<void(const RefusedPeer&)>;

  /// @param listeners at least one. @param admit decides about authenticated peers, and records
  /// those that it admits. @param report may be empty. Throws Error{transport}.
  Acceptor(Identity self, std::vector<Listener> listeners, Admit admit, AcceptorLimits limits = {},
           Report report = {});
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  /// @return a descriptor that is readable when progress() has work.
  [[nodiscard]] int descriptor() const noexcept { return events_.get(); }
  /// @return the time at which progress() must be called even if the descriptor is not readable.
  [[nodiscard]] Deadline next_deadline() const noexcept;
  /// Does what is possible without waiting. At AcceptorLimits::most_peers the oldest peer that has
  /// not named the job is dropped, or else the oldest. Throws Error{transport} if the system fails,
  /// or if descriptors have run out for half a second for another reason than unauthenticated
  /// peers.
  /// @param arrived gets the new connections.
  void progress(std::vector<AcceptedConnection>& arrived);

  /// @return the number of peers refused for a reason.
  [[nodiscard]] std::uint64_t refused(Reason reason) const noexcept {
    return refused_[static_cast<std::size_t>(reason)];
  }
  /// @return such as "; refused connections: 2 wrong secret, 1 not tutti", or an empty text.
  [[nodiscard]] std::string refusals_text() const;

 private:
  struct UnauthenticatedPeer {
    std::uint64_t id;
    Descriptor socket;
    bool local;
    Deadline until;
    AcceptorHandshake handshake;
    std::array<std::byte, kLongestMessage> buffer;
    std::size_t filled;
  };
  using UnauthenticatedPeers = std::list<UnauthenticatedPeer>;

  void watch(int descriptor, std::uint64_t id);
  void accept_some(const Listener& listener);
  bool accept_one(const Listener& listener);
  void check_descriptor_shortage(int error);
  void pause_accepting(const Listener& listener);
  void add_peer(Descriptor socket, const Listener& listener);
  void drop_if_full();
  void receive_from(UnauthenticatedPeers::iterator peer, std::vector<AcceptedConnection>& arrived);
  void report_refused(const UnauthenticatedPeer& peer) const;
  bool reply(UnauthenticatedPeer& peer, std::span<const std::byte> message);
  UnauthenticatedPeers::iterator drop(UnauthenticatedPeers::iterator peer, Reason reason);

  const Identity self_;
  const Admit admit_;
  const AcceptorLimits limits_;
  const Report report_;
  std::vector<Listener> listeners_;
  Descriptor events_;
  Descriptor reserve_;
  Deadline closed_until_{};
  std::optional<Deadline> short_since_{};  // of descriptors
  bool watching_ = true;
  UnauthenticatedPeers unauthenticated_;
  std::uint64_t next_id_ = 0;
  std::array<std::uint64_t, kReasons> refused_{};
};

}  // namespace tutti::runtime

/// @file
/// Acceptor: takes connections from anybody, accepts peers that authenticate, and never blocks.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <vector>

#include "authenticate.hpp"

namespace tutti::runtime {

/// A listening socket.
struct Listener {
  Descriptor socket;   ///< Of listen_on or listen_locally.
  bool local = false;  ///< Of Unix: whoever connects must be of this process's user.
  /// False: it only tells ranks of the job that it takes a secret to come this way.
  bool takes_ranks = true;
};

/// A peer that was let in.
struct Accepted {
  Descriptor socket;          ///< Authenticated, non-blocking; nothing has been read past that.
  ConnectionRequest request;  ///< Who it is and what for.
  bool local = false;         ///< Came over a Unix socket.
};

/// A peer that was refused though it is a rank of this job, as far as can be told: it has proved
/// so, or is a process of this process's user, on this host.
struct RefusedPeer {
  ConnectionRequest request{};   ///< Who it says it is.
  int size = 0;                  ///< How many ranks it counts.
  Reason reason = Reason::none;  ///< wrong_size, wrong_secret or no_secret.
};

/// Limits on connections that have not authenticated yet: strangers.
struct AcceptorLimits {
  std::chrono::milliseconds patience{2000};  ///< From accepting to letting in.
  std::size_t strangers = 64;                ///< At once, at most; see progress().
};

/// Runs the acceptor's part of the handshake for all strangers at once, in the caller's thread and
/// without blocking. A stranger costs a descriptor and a fixed buffer until its time is over. Put
/// descriptor() into a poll, and call progress() when it is readable or next_deadline() has come.
class Acceptor {
 public:
  using Admit = AcceptorHandshake::Admit;
  /// Told of each refused peer.
  using Report = std::function<void(const RefusedPeer&)>;

  /// @param self who accepts. @param listeners at least one. @param admit decides on peers that
  /// have proved themselves, and remembers those it let in. @param limits on strangers. @param
  /// report is told of refused ones, if anybody is. Throws Error{transport}.
  Acceptor(Identity self, std::vector<Listener> listeners, Admit admit, AcceptorLimits limits = {},
           Report report = {});
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  /// @return a descriptor that polls readable when somebody connects.
  [[nodiscard]] int descriptor() const noexcept { return events_.get(); }
  /// @return when progress() must be called even if nobody moves.
  [[nodiscard]] Deadline next_deadline() const noexcept;
  /// Does what can be done now. When strangers are too many, the oldest one leaves that has not
  /// named the job, or else the oldest.
  /// @param arrived those let in are added. Throws Error{transport} only if the system fails, or
  /// descriptors have run out for half a second, and not because of strangers.
  void progress(std::vector<Accepted>& arrived);

  /// @return how many were refused. @param reason for which.
  [[nodiscard]] std::uint64_t refused(Reason reason) const noexcept {
    return refused_[static_cast<std::size_t>(reason)];
  }
  /// @return such as "; refused 2 connections: wrong secret, 1: not tutti", or nothing.
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
  using Strangers = std::list<UnauthenticatedPeer>;

  void watch(int descriptor, std::uint64_t id);
  void accept_some(const Listener& listener);
  bool accept_one(const Listener& listener);
  void check_shortage(int error);
  void survive_shortage(const Listener& listener);
  void welcome(Descriptor socket, const Listener& listener);
  void make_room();
  void listen_to(Strangers::iterator stranger, std::vector<Accepted>& arrived);
  void judge(const UnauthenticatedPeer& stranger) const;
  bool reply(UnauthenticatedPeer& stranger, std::span<const std::byte> message);
  Strangers::iterator dismiss(Strangers::iterator stranger, Reason reason);

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
  Strangers strangers_;
  std::uint64_t next_id_ = 0;
  std::array<std::uint64_t, kReasons> refused_{};
};

}  // namespace tutti::runtime

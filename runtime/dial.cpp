#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <thread>

#include "authenticate.hpp"
#include "descriptors.hpp"
#include "missing_ranks.hpp"

namespace tutti::runtime {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// How long a listener may take to say its first word before it is asked again.
constexpr milliseconds kFirstWord{5000};
/// How long a listener that refuses may take to hang up.
constexpr milliseconds kLastWord{1000};
/// Between two attempts, doubled each time.
constexpr milliseconds kShortestPause{5};
constexpr milliseconds kLongestPause{250};

/// Waits until the peer has hung up, which has nothing new to say.
void await_end(int socket, Deadline deadline) {
  std::array<std::byte, kLongestMessage> ignored;
  const Deadline end = std::min(deadline, Clock::now() + kLastWord);
  while (wait_for(socket, POLLIN, end) && ::recv(socket, ignored.data(), ignored.size(), 0) > 0) {
  }
}

/// Talks until both sides agree. A peer that has not said a word by `patience` is given up; one
/// that has is heard to the end, since it may count on this connection from its verdict on.
void shake_hands(int socket, ConnectorHandshake& handshake, Deadline patience, Deadline deadline) {
  send_all(socket, handshake.hello(), patience);
  std::array<std::byte, kLongestMessage> buffer;
  while (handshake.progress() == Progress::talking) {
    const auto message = std::span{buffer}.first(handshake.wanted());
    receive_all(socket, message, handshake.answered() ? deadline : patience);
    const auto reply = handshake.feed(message);
    if (!reply.empty()) send_all(socket, reply, deadline);
    // The peer looks up whose user's this connection is, which works only while it stands.
    if (!reply.empty() && handshake.progress() == Progress::refused) await_end(socket, patience);
  }
}

/// One attempt. @return the connection, or nothing where no Unix socket listens.
Descriptor attempt(const Party& self, const Target& target, std::size_t round, Deadline deadline) {
  const Deadline patience = std::min(deadline, Clock::now() + kFirstWord);
  Descriptor connection =
      target.addresses.empty()
          ? connect_locally(target.local_name, patience)
          : connect_to(target.addresses[round % target.addresses.size()], patience);
  if (!connection) return connection;
  if (target.addresses.empty() && peer_user(connection.get()) != ::geteuid())
    throw Error{ErrorCode::mismatch, "what listens as " + target.peer + " belongs to another user",
                target.to};
  ConnectorHandshake handshake{self, target.to, target.purpose};
  shake_hands(connection.get(), handshake, patience, deadline);
  if (handshake.progress() == Progress::refused) throw handshake.refusal(target.peer);
  return connection;
}

}  // namespace

Descriptor dial(const Party& self, const Target& target, Deadline deadline) {
  const auto start = Clock::now();
  milliseconds pause = kShortestPause;
  for (std::size_t round = 0;; ++round) {
    try {
      return attempt(self, target, round, deadline);
    } catch (const Shortage&) {
      throw;
    } catch (const Error& error) {
      const bool again = error.code() == ErrorCode::transport ||
                         error.code() == ErrorCode::timeout || error.code() == ErrorCode::peer_dead;
      if (!again) throw;
      // One that listened before and does so no more will not come back.
      if (target.listening && error.code() == ErrorCode::transport)
        throw Error{ErrorCode::peer_dead, target.peer + " cannot be reached: " + error.what(),
                    target.to};
      if (Clock::now() >= deadline)
        throw Error{ErrorCode::timeout,
                    "rank " + std::to_string(self.rank) + " waited " +
                        seconds_text(Clock::now() - start) + " for " + target.peer +
                        "; the last attempt: " + error.what(),
                    target.to};
    }
    std::this_thread::sleep_until(std::min(Clock::now() + pause, deadline));
    pause = std::min(2 * pause, kLongestPause);
  }
}

}  // namespace tutti::runtime

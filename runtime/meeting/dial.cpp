#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>

#include "runtime/security/authenticate.hpp"
#include "runtime/sockets/descriptors.hpp"
#include "runtime/sockets/interruptible.hpp"
#include "runtime/sockets/missing_ranks.hpp"

namespace tutti::runtime {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// The time in which a listener must send its first message; then it is tried again.
constexpr milliseconds kFirstReply{5000};
/// The time in which a listener that refuses must close the connection.
constexpr milliseconds kCloseTime{1000};
/// The pauses between two attempts, doubled each time.
constexpr milliseconds kShortestPause{5};
constexpr milliseconds kLongestPause{250};

/// Waits until the peer has closed the connection.
void await_end(int socket, Deadline deadline) {
  std::array<std::byte, kLongestMessage> ignored;
  const Deadline end = std::min(deadline, Clock::now() + kCloseTime);
  while (wait_for(socket, POLLIN, end) && ::recv(socket, ignored.data(), ignored.size(), 0) > 0) {
  }
}

/// Runs the handshake. A peer that has sent nothing by `patience` is given up. One that has
/// answered gets the whole time, since it may use this connection as soon as it accepts it.
void run_handshake(int socket, ConnectorHandshake& handshake, Deadline patience,
                   Deadline deadline) {
  send_all(socket, handshake.hello(), patience);
  std::array<std::byte, kLongestMessage> buffer;
  while (handshake.state() == HandshakeState::active) {
    const auto message = std::span{buffer}.first(handshake.expected_bytes());
    receive_all(socket, message, handshake.answered() ? deadline : patience);
    const auto reply = handshake.process(message);
    if (!reply.empty()) send_all(socket, reply, deadline);
    // The peer looks up the user of this connection, which must be open for that.
    if (!reply.empty() && handshake.state() == HandshakeState::refused) await_end(socket, patience);
  }
}

/// The longest attempt at one of several addresses before the next one is tried: it is doubled each
/// round, since a host may be slow, and short at first, since a network may drop all packets.
milliseconds patience_of(std::size_t round, std::size_t addresses) {
  constexpr milliseconds kShortest{250};
  if (addresses < 2) return kFirstReply;
  const std::size_t turn = std::min<std::size_t>(round / addresses, 8);
  return std::min(kFirstReply, kShortest * (1 << turn));
}

/// The program at an address belongs to no rank of this job: a rank may listen at another address.
struct OtherProgram : Error {
  explicit OtherProgram(const Error& error) : Error{error} {}
};

/// Makes one attempt. @return the connection, or nothing if no Unix socket listens.
Descriptor attempt(const Identity& self, const Target& target, std::size_t round,
                   Deadline deadline) {
  const std::size_t addresses = target.addresses.size();
  const Deadline patience = std::min(deadline, Clock::now() + patience_of(round, addresses));
  Descriptor connection = addresses == 0
                              ? connect_locally(target.local_name, patience)
                              : connect_to(target.addresses[round % addresses], patience);
  if (!connection) return connection;
  if (addresses == 0 && peer_user(connection.get()) != ::geteuid())
    throw Error{ErrorCode::mismatch, "what listens as " + target.peer + " belongs to another user",
                target.to};
  ConnectorHandshake handshake{self, target.to, target.purpose};
  run_handshake(connection.get(), handshake, patience, deadline);
  if (handshake.found_other_program()) throw OtherProgram{handshake.refusal(target.peer)};
  if (handshake.state() == HandshakeState::refused) throw handshake.refusal(target.peer);
  return connection;
}

bool is_retryable(const Error& error) {
  return error.code() == ErrorCode::transport || error.code() == ErrorCode::timeout ||
         error.code() == ErrorCode::peer_dead;
}

/// Looks up the name again: its addresses may change while a host starts.
void look_up_again(Target& target, Deadline deadline) {
  constexpr std::chrono::seconds kLongestLookUp{1};
  try {
    target.addresses = resolve({target.host, port_of(target.addresses.front())},
                               std::min(deadline, Clock::now() + kLongestLookUp));
  } catch (const Error&) {  // the known addresses may still be right
    return;
  }
}

/// The last error at each of several addresses.
class AttemptErrors {
 public:
  void add(std::size_t address, const Error& error) {
    errors_.resize(std::max(errors_.size(), address + 1));
    errors_[address] = {error.what(), is_retryable(error)};
  }
  /// @return whether nothing changes by waiting: a program refused at each address.
  [[nodiscard]] bool all_refused(std::size_t addresses) const {
    return errors_.size() >= addresses &&
           std::ranges::none_of(std::span{errors_}.first(addresses), &Attempt::is_retryable);
  }
  [[nodiscard]] std::string text() const {
    std::string text;
    for (const auto& [error, _] : errors_)
      if (!error.empty()) text += (text.empty() ? "" : "; ") + error;
    return text;
  }

 private:
  struct Attempt {
    std::string text{};
    bool is_retryable = true;
  };
  std::vector<Attempt> errors_{};
};

}  // namespace

Descriptor dial(const Identity& self, const Target& given, Deadline deadline) {
  Target target = given;
  constexpr std::chrono::seconds kBetweenLookUps{5};
  const auto start = Clock::now();
  const bool has_name =
      !target.addresses.empty() && !target.host.empty() && !is_number(target.host);
  auto look_up_at = has_name ? start + kBetweenLookUps : Deadline::max();
  milliseconds pause = kShortestPause;
  AttemptErrors errors;
  for (std::size_t round = 0;; ++round) {
    const std::size_t addresses = std::max<std::size_t>(target.addresses.size(), 1);
    try {
      return attempt(self, target, round, deadline);
    } catch (const DescriptorShortage&) {
      throw;
    } catch (const Error& error) {
      errors.add(round % addresses, error);
      const bool is_other = dynamic_cast<const OtherProgram*>(&error) != nullptr;
      if (!is_retryable(error) &&
          (is_other ? errors.all_refused(addresses) : round + 1 >= addresses))
        throw;
      // A peer that has stopped listening will not start again. A peer to which there is no route
      // may be alive.
      const bool is_alive = dynamic_cast<const Unreachable*>(&error) != nullptr;
      if (target.listening && error.code() == ErrorCode::transport)
        throw Error{is_alive ? ErrorCode::transport : ErrorCode::peer_dead,
                    target.peer + " cannot be reached: " + error.what(), target.to};
      if (Clock::now() >= deadline)
        throw Error{ErrorCode::timeout,
                    "rank " + std::to_string(self.rank) + " waited " +
                        seconds_text(Clock::now() - start) + " for " + target.peer +
                        "; the last attempt: " + errors.text(),
                    target.to};
    }
    if ((round + 1) % addresses != 0) continue;  // no pause between the addresses of a name
    sleep_until(std::min(Clock::now() + pause, deadline));
    pause = std::min(2 * pause, kLongestPause);
    if (Clock::now() < look_up_at) continue;
    look_up_again(target, deadline);
    look_up_at = Clock::now() + kBetweenLookUps;
  }
}

}  // namespace tutti::runtime

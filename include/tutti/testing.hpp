/// @file
/// For tests of programs: a cluster in one process, with virtual time and scripted faults. The
/// library is tutti::testing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <tutti/communicator.hpp>
#include <tutti/error.hpp>
#include <tutti/export.hpp>
#include <tutti/spi/transport.hpp>

namespace tutti::v0::sim {

/// When a send completes.
enum class Delivery : std::uint8_t {
  random,     ///< The seed decides for each message.
  eager,      ///< As soon as its bytes are copied, whether or not the receive is posted.
  rendezvous  ///< When the receiver has the bytes: there is no buffering at all.
};

/// Something that goes wrong, once, as soon as all its conditions hold.
struct Fault {
  /// The kind of a fault.
  enum class Kind : std::uint8_t {
    delay,  ///< The rank neither polls nor sends for a while; then it continues.
    death   ///< The rank sends nothing any more.
  };
  Rank rank = 0;                      ///< The rank that it hits.
  Kind kind = Kind::delay;            ///< The kind of the fault.
  Duration at{0};                     ///< Not before this virtual time.
  std::uint64_t after_transfers = 0;  ///< Not before the rank has posted this many transfers.
  Duration length{0};                 ///< Length of a delay.
};

/// The ranks, the network and the faults of a cluster.
struct ClusterOptions {
  int size = 1;                                   ///< Number of ranks.
  std::uint64_t seed = 1;                         ///< Decides the order of all that happens.
  Delivery delivery = Delivery::random;           ///< When sends complete.
  Duration alpha = std::chrono::microseconds{1};  ///< Latency of a message.
  std::int64_t beta_ps = 100;  ///< Picoseconds per byte; sends of one rank follow each other.
  Duration jitter = std::chrono::microseconds{4};  ///< Added to a latency: from zero up to this.
  std::vector<int> slowdown{};     ///< Factor on a rank's send costs; empty: 1 for all.
  std::vector<Fault> faults{};     ///< The script.
  bool detect_death = false;       ///< Whether the other ranks are told of a death.
  bool scribble = false;           ///< Fill the pieces of a receive with rubbish when it is posted,
                                   ///< so that tests find a rank that reads them too early.
  bool combines = true;            ///< As Capabilities::combines; the seed decides the parts.
  bool visible = true;             ///< As there; the seed decides which messages stay.
  std::uint32_t tags = 1U << 30U;  ///< As Capabilities::tags.
};

class Network;

/// Makes the transports of all ranks and owns their clock, for tests that call the ranks in an
/// order of their own; most tests need run_ranks only. Used by one thread at a time; clusters share
/// nothing, so that several threads may each have one.
class TUTTI_API Cluster {
 public:
  /// @param options see ClusterOptions. Throws Error{invalid_argument}.
  explicit Cluster(const ClusterOptions& options);

  /// @param rank in [0, size). @return its transport, for make_communicator; it may outlive the
  /// cluster. Once per rank. Throws Error{invalid_argument}.
  [[nodiscard]] std::unique_ptr<Transport> transport(Rank rank);

  /// Moves the clock to the next event and lets it happen. @return false if no event is left:
  /// without new transfers nothing will ever change but the time.
  bool advance();
  /// Moves the clock, and lets everything happen that falls due. @param span by how much.
  void advance_by(Duration span);

  /// @return the virtual time, from zero.
  [[nodiscard]] Duration now() const noexcept;
  /// @return transfers posted so far, by all ranks.
  [[nodiscard]] std::uint64_t transfers() const noexcept;
  /// @return transfers posted and completions collected so far: does not change while all ranks
  /// wait.
  [[nodiscard]] std::uint64_t activity() const noexcept;
  /// @param rank in [0, size). @return whether a fault killed it: do not call it any more.
  [[nodiscard]] bool is_dead(Rank rank) const noexcept;

 private:
  std::shared_ptr<Network> network_;
};

/// Calls a function on every rank of a cluster, each in a thread of its own. One of them runs at a
/// time, until it waits, in an order that the seed decides: so equal seeds give equal runs, and
/// other seeds other orders of messages. Time is virtual: where all ranks wait it moves on to the
/// next event or deadline, so that a timeout of an hour takes no time.
/// @param options see ClusterOptions. A rank that a fault kills leaves its call with
/// Error{peer_dead} that names the rank itself.
/// @param body what each rank does, as a program does after init. It must not wait for another rank
/// but by calls of its communicator.
/// @param communicator the options of each rank's communicator.
/// @return by rank, the Error that left the function, or nothing. Throws Error{invalid_argument}
/// for wrong options, and, when all ranks have ended, any other exception of the lowest rank that
/// had one.
[[nodiscard]] TUTTI_API std::vector<std::optional<Error>> run_ranks(
    const ClusterOptions& options, const std::function<void(Communicator&)>& body,
    const CommunicatorOptions& communicator = {});

}  // namespace tutti::v0::sim

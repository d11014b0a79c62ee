/// @file
/// A cluster in one process: N ranks, one thread, virtual time, everything decided by a seed. It
/// is the reference for every other backend.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <tutti/spi/transport.hpp>

namespace tutti::sim {

/// When a send completes.
enum class Delivery : std::uint8_t {
  random,     ///< The seed decides for each message.
  eager,      ///< Once its bytes are copied out, whether or not the receive is posted.
  rendezvous  ///< Once the receiver has the bytes: there is no buffering at all.
};

/// Something that goes wrong, once, as soon as all its conditions hold.
struct Fault {
  /// The kinds of faults.
  enum class Kind : std::uint8_t {
    delay,  ///< The rank neither polls nor sends for a while; then it goes on.
    death   ///< The rank falls silent for good.
  };
  Rank rank = 0;                      ///< The rank with the fault.
  Kind kind = Kind::delay;            ///< The fault.
  Duration at{0};                     ///< Not before this time.
  std::uint64_t after_transfers = 0;  ///< The least transfers that the rank has posted before.
  Duration length{0};                 ///< Of a delay.
};

/// Options of a cluster.
struct ClusterOptions {
  int size = 1;                                   ///< Number of ranks.
  std::uint64_t seed = 1;                         ///< Decides the order of deliveries.
  Delivery delivery = Delivery::random;           ///< When sends complete.
  Duration alpha = std::chrono::microseconds{1};  ///< Latency of a message.
  std::int64_t beta_ps = 100;  ///< Picoseconds per byte; a rank's sends queue up.
  Duration jitter = std::chrono::microseconds{4};  ///< Added to a latency: from zero up to this.
  std::vector<int> slowdown{};     ///< Factor on a rank's send costs; empty: 1 for all.
  std::vector<Fault> faults{};     ///< The script.
  bool detect_death = false;       ///< Whether the others get a notice of a death.
  bool scribble = false;           ///< Whether the pieces of a receive are filled with rubbish
                                   ///< when it is posted, which shows reads that come too early.
  bool combines = true;            ///< As Capabilities::combines; the seed decides the parts.
  bool visible = true;             ///< As there; the seed decides which messages stay.
  std::uint32_t tags = 1U << 30U;  ///< As Capabilities::tags.
};

class Network;

/// Makes the transports of all ranks and owns their clock. Used by one thread; clusters share
/// nothing, so several threads may each have their own.
class Cluster {
 public:
  /// @param options see ClusterOptions. Throws Error{invalid_argument}.
  explicit Cluster(const ClusterOptions& options);

  /// @param rank in [0, size). @return its transport, which may outlive the cluster. Once per rank.
  [[nodiscard]] std::unique_ptr<Transport> transport(Rank rank);

  /// Moves the clock to the next event and lets it happen. @return false if no event is left:
  /// without new transfers nothing will ever change but the time.
  bool advance();
  /// Moves the clock, and lets everything happen that falls due. @param span by how much.
  void advance_by(Duration span);

  /// @return the time.
  [[nodiscard]] Duration now() const noexcept;
  /// @return transfers posted so far, by all ranks.
  [[nodiscard]] std::uint64_t transfers() const noexcept;
  /// @return transfers posted and completions collected so far: does not change while all ranks
  /// wait.
  [[nodiscard]] std::uint64_t activity() const noexcept;
  /// @param rank in [0, size). @return whether a fault killed it: stop driving it.
  [[nodiscard]] bool is_dead(Rank rank) const noexcept;

 private:
  std::shared_ptr<Network> network_;
};

}  // namespace tutti::sim

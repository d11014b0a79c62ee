/// @file
/// Network: sends messages between hosts in place of tutti's own TCP.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <tutti/export.hpp>
#include <tutti/spi/costs.hpp>
#include <tutti/spi/failure_signal.hpp>
#include <tutti/spi/transport.hpp>

namespace tutti::v0 {

/// Connects ranks that share no memory. It outlives the transports it makes.
class TUTTI_API Network {
 public:
  Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  virtual ~Network() = default;

  /// Collective over the members, and may block until all take part.
  /// @param members ranks of the world, the own one among them; they become ranks 0, 1, ... of the
  /// transport in this order.
  /// @param communicator its number, equal on all members and unique: threads may make several of
  /// the same members at once, in another order on each rank.
  /// @param failure_signal of the communicator, by which its ranks notify each other of failures.
  /// The transport throws its cause as soon as it is set, and raises it when it is aborted. @return
  /// a transport that reaches all members. Throws Error.
  [[nodiscard]] virtual std::unique_ptr<Transport> transport(
      std::span<const Rank> members, std::uint64_t communicator,
      std::shared_ptr<FailureSignal> failure_signal) = 0;
  /// @return the name for texts.
  [[nodiscard]] virtual std::string name() const = 0;
  /// @return assumed costs of its messages, and of bytes if all ranks are on one host; between
  /// hosts the cost of a byte is measured at the start. Equal on all ranks.
  [[nodiscard]] virtual CostModel cost_model() const = 0;
};

}  // namespace tutti::v0

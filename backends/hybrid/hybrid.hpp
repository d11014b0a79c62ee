/// @file
/// A transport made of several: one for the ranks of the own host, one or more for all others.
#pragma once

#include <memory>
#include <vector>

#include <tutti/spi/failure_signal.hpp>
#include <tutti/spi/transport.hpp>

namespace tutti::hybrid {

/// The parts of a hybrid. All transports know all ranks of the communicator by the same numbers.
struct Parts {
  std::unique_ptr<Transport> local;  ///< Reaches the ranks of the own host, and the own rank.
  /// One or more. Each reaches all other ranks, and Transfer::route chooses one.
  std::vector<std::unique_ptr<Transport>> remote;
  std::vector<bool> is_local;  ///< By rank: whether `local` reaches it.
  std::shared_ptr<FailureSignal>
      failure_signal;  ///< The communicator's; all transports have it too.
};

/// @return a transport that posts every transfer to the part that reaches its peer.
[[nodiscard]] std::unique_ptr<Transport> make_transport(Parts parts);

}  // namespace tutti::hybrid

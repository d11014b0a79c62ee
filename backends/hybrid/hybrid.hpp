/// @file
/// A transport of two: one for the ranks of the own host, one for all others.
#pragma once

#include <memory>
#include <vector>

#include <tutti/spi/alarm.hpp>
#include <tutti/spi/transport.hpp>

namespace tutti::hybrid {

/// What a hybrid is made of. Both transports know all ranks of the communicator by the same
/// numbers.
struct Parts {
  std::unique_ptr<Transport> local;   ///< Reaches the ranks of the own host, the own rank too.
  std::unique_ptr<Transport> remote;  ///< Reaches the others.
  std::vector<bool> is_local;         ///< Per rank: which of the two.
  std::shared_ptr<Alarm> alarm;       ///< Of the communicator; both transports have it too.
};

/// @param parts see Parts. @return a transport that gives every transfer to the part that reaches
/// its peer.
[[nodiscard]] std::unique_ptr<Transport> make_transport(Parts parts);

}  // namespace tutti::hybrid

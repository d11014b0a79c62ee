/// @file
/// The GPUs that tests have, and which of them a rank takes.
#pragma once

#include <algorithm>
#include <string>

#include <tutti/types.hpp>

#include "backends/cuda/driver.hpp"

namespace tutti::harness {

/// @param ranks that a test has. @return why it cannot run here, or nothing.
[[nodiscard]] inline std::string lack_of(int ranks) {
  const int devices = cuda::Driver{}.devices();
  return devices >= ranks ? std::string{}
                          : std::to_string(ranks) + " ranks need as many GPUs; here are " +
                                std::to_string(devices);
}

/// @return the GPU of a rank. Over the host, and of peers, ranks share GPUs where these are few.
[[nodiscard]] inline int device_of(Rank rank) {
  return rank % std::max(cuda::Driver{}.devices(), 1);
}

}  // namespace tutti::harness

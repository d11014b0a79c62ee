/// @file
/// A Channel between threads of one process: for tests, and for worlds inside a process.
#pragma once

#include <memory>
#include <vector>

#include <tutti/spi/channel.hpp>

namespace tutti::runtime {

/// @param size at least 1. @return the channels of all ranks, in their order. Each may be used by
/// another thread. Destroying one fails the exchanges that still need it.
[[nodiscard]] std::vector<std::unique_ptr<Channel>> local_channels(int size);

}  // namespace tutti::runtime

/// @file
/// How many addresses there are for shared memory.
#pragma once

#include <cstddef>

namespace tutti::runtime {

/// Every rank maps the shared memory of all ranks of its host, and a limit (`ulimit -v`, as batch
/// systems set) or the processor may have too few addresses for that.
/// @param wanted bytes of one rank's memory. @param ranks how many there may be on this host.
/// @return as many, or fewer, so that there is room for all of them and as much again.
[[nodiscard]] std::size_t mappable_bytes(std::size_t wanted, int ranks) noexcept;

}  // namespace tutti::runtime

/// @file
/// The size of the address space that is available for shared memory.
#pragma once

#include <cstddef>

namespace tutti::runtime {

/// Every rank maps the shared memory of all ranks of its host. A limit (`ulimit -v`, as batch
/// systems set) or the processor may leave too few addresses for that.
/// @param wanted bytes of one rank's memory. @param ranks the most on this host. @return `wanted`,
/// or less, so that the memory of all ranks fits twice.
[[nodiscard]] std::size_t mappable_bytes(std::size_t wanted, int ranks) noexcept;

}  // namespace tutti::runtime

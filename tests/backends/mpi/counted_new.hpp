/// @file
/// Linked into a test executable, counted_new.cpp replaces operator new by one that counts.
#pragma once

#include <cstddef>

namespace tutti::test {

/// @return what the calling thread has allocated so far. The watchdog's thread allocates as it
/// likes, and the MPI's own malloc calls are its business.
[[nodiscard]] std::size_t allocations() noexcept;

}  // namespace tutti::test

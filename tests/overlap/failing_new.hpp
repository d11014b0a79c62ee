/// @file
/// Linked into a test executable, failing_new.cpp replaces operator new by one that can fail.
#pragma once

#include <atomic>
#include <cstdint>

namespace tutti::test {

/// Of the calling thread: which of its next allocations throws std::bad_alloc, 1 for the next one;
/// 0: none.
extern thread_local std::uint32_t failing_allocation;
/// Allocations that have thrown.
extern std::atomic<std::uint32_t> failed_allocations;

}  // namespace tutti::test

/// @file
/// Linked into a test executable, replaced_new.cpp replaces operator new by one that counts, and
/// that can fail. The thread sanitizer's library defines these operators itself.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tutti::harness {

/// Whether allocations are counted at the moment.
extern std::atomic<bool> counting;
/// Allocations counted so far.
extern std::atomic<std::uint64_t> allocations;
/// Their bytes.
extern std::atomic<std::uint64_t> allocated_bytes;
/// Bytes allocated since the program began and not freed, counted or not, as malloc rounds them.
extern std::atomic<std::size_t> held_bytes;
/// The largest value of held_bytes since the test set it.
extern std::atomic<std::size_t> most_held_bytes;

/// The number of the calling thread's allocation that throws std::bad_alloc, 1 for the next one; 0:
/// none throws.
extern thread_local std::uint32_t failing_allocation;
/// Allocations that have thrown.
extern std::atomic<std::uint32_t> failed_allocations;

/// Counts, or does not, within a scope.
class Count {
 public:
  /// @param on whether allocations are counted until the scope ends.
  explicit Count(bool on) : before_{counting.exchange(on)} {}
  Count(const Count&) = delete;
  Count& operator=(const Count&) = delete;
  ~Count() { counting = before_; }

 private:
  bool before_;
};

}  // namespace tutti::harness

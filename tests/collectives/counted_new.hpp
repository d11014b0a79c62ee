/// @file
/// Linked into a test executable, counted_new.cpp replaces operator new by one that counts.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tutti::harness {

/// Whether allocations are counted at the moment.
extern std::atomic<bool> counting;
/// Allocations counted so far.
extern std::atomic<std::uint64_t> allocations;
/// Bytes of theirs.
extern std::atomic<std::uint64_t> allocated_bytes;
/// Bytes allocated since the program began and not freed, counted or not, as malloc rounds them.
extern std::atomic<std::size_t> held_bytes;

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

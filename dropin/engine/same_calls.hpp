/// @file
/// Whether the ranks of a communicator pass the same counts.
#pragma once

#include <chrono>
#include <cstdint>

#include <tutti/communicator.hpp>

#include "dropin/engine/times.hpp"

namespace tutti::dropin {

/// A digest of the calls of a communicator that block. MPI demands equal counts of all ranks, but
/// many MPIs deliver a broadcast to a rank that has room for more, and programs rely on it. Such
/// ranks could choose differently between tutti and the MPI. So they compare their digests now and
/// then, by the number of the call, which is equal on all ranks whatever the counts are.
class SameCalls {
 public:
  /// @return whether the ranks compare before they run the next call.
  [[nodiscard]] bool compare_next() const noexcept { return left_ == 1; }
  /// Counts a call, whatever its arguments are. @return whether the ranks compare before they run
  /// it.
  bool begin() noexcept { return --left_ == 0; }
  /// Adds what the ranks have in common in a call.
  void add(const SimilarCalls& calls) noexcept;
  /// Compares, by the communicator of the calls. Collective. Throws the Error of a call before that
  /// has failed. @return whether all ranks have added the same calls.
  [[nodiscard]] bool are_same(Communicator& communicator);

 private:
  // Calls between two comparisons: more of them where they follow each other quickly.
  static constexpr std::uint32_t kLeastBetween = 16;
  static constexpr std::uint32_t kMostBetween = 64;
  static constexpr std::uint64_t kNanosecondsOfQuickCall = 20'000;

  std::uint64_t digest_ = 0;
  std::uint32_t between_ = kLeastBetween;
  std::uint32_t left_ = kLeastBetween;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

}  // namespace tutti::dropin

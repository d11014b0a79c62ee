/// @file
/// The times of calls in which each rank needs the data of all others, until the ranks compare
/// them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tutti/types.hpp>

#include "dropin/engine/times.hpp"

namespace tutti::dropin {

/// @return whether each rank needs the data of all others. Then the rank that comes last waits for
/// nobody.
[[nodiscard]] bool needs_all_ranks(Collective collective) noexcept;

/// The last such calls of a communicator. The rank with the least time came last: its time is that
/// of moving, and other ranks waited for the rest of theirs. No clocks are compared.
class KeptCalls {
 public:
  /// @param self the rank of this process in MPI_COMM_WORLD.
  explicit KeptCalls(int self) noexcept : self_{self} {}

  /// @return their number.
  [[nodiscard]] std::size_t size() const noexcept { return times_.size(); }

  /// Begins a call. An error handler of the program may leave it without `end`, so that calls are
  /// counted here. @return its number.
  [[nodiscard]] std::uint64_t begin();
  /// Ends a call. @param durations where its time has been added.
  void end(std::uint64_t number, Durations& durations, std::chrono::nanoseconds time) noexcept;

  /// @return numbers of which the least of all ranks is that of the rank which came last.
  [[nodiscard]] std::vector<std::int64_t> keys() const;
  /// @return nanoseconds.
  [[nodiscard]] const std::vector<std::int64_t>& times() const noexcept { return times_; }
  /// Divides the times, and forgets the calls.
  /// @param least the least keys of the ranks. @param sums of the ranks' times. @param ranks number
  /// of ranks.
  void compare(std::span<const std::int64_t> least, std::span<const std::int64_t> sums, int ranks,
               Times& into);

 private:
  int self_;
  std::uint64_t first_ = 0;            // the number of the first one
  std::vector<std::int64_t> times_{};  // 0 for a call without an end
  std::vector<Durations*> durations_{};
};

}  // namespace tutti::dropin

/// @file
/// The chain of ranks that wait for one another, and the rank at its end.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <tutti/spi/call_status.hpp>

namespace tutti::v0::detail {

/// Follows the waits from one rank to the last one. A rank that waits for several others needs all
/// of them, so the chain may follow any.
class WaitForGraph {
 public:
  /// @param all the status of each rank. @param self the rank at which the chain begins.
  /// @param wait of that rank for another one.
  WaitForGraph(std::span<const CallStatus> all, Rank self, const CallStatus::Wait& wait);

  /// @return the last rank, which waits for no other as far as is known; -1 if the chain ends in a
  /// cycle, in which no rank is more at fault than the others.
  [[nodiscard]] Rank culprit() const noexcept { return is_cycle_ ? -1 : end_; }
  /// Whether the first rank waits directly for the last one.
  [[nodiscard]] bool is_direct() const noexcept { return steps_.size() == 1 && !is_cycle_; }
  /// @return the wait for the last rank.
  [[nodiscard]] const CallStatus::Wait& last() const noexcept { return steps_.back().wait; }
  /// @return the number of the earliest collective in which a rank of the chain waits; 0 for none.
  [[nodiscard]] std::uint64_t earliest_call() const noexcept;
  /// @return the chain, such as "rank 1 waits for rank 0 (barrier #2), rank 0 waits ...".
  [[nodiscard]] std::string words() const;

 private:
  struct Step {
    Rank rank = 0;
    CallStatus::Wait wait{};
  };
  std::vector<Step> steps_{};
  Rank end_ = -1;
  bool is_cycle_ = false;
};

}  // namespace tutti::v0::detail

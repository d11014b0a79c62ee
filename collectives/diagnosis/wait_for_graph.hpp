/// @file
/// WaitForGraph: a rank waits for another one, which waits for a third: who is at the end.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <tutti/spi/call_status.hpp>

namespace tutti::v0::detail {

/// From a rank to the one at the end of what it waits for. A rank may wait for several others; it
/// goes on when all of them have, so that any of them leads to a cause.
class WaitForGraph {
 public:
  /// @param all what was found out about each rank. @param self where it begins. @param wait of
  /// that rank, for another one.
  WaitForGraph(std::span<const CallStatus> all, Rank self, const CallStatus::Wait& wait);

  /// The rank at the end, which waits for no other as far as is known; or -1 where the chain ends
  /// in a cycle, of which all ranks are alike.
  [[nodiscard]] Rank culprit() const noexcept { return is_cycle_ ? -1 : end_; }
  /// Whether the first rank waits for the last one itself.
  [[nodiscard]] bool is_direct() const noexcept { return steps_.size() == 1 && !is_cycle_; }
  /// In which call the last one is awaited.
  [[nodiscard]] const CallStatus::Wait& last() const noexcept { return steps_.back().wait; }
  /// The number of the earliest collective that a rank of the chain waits in, or 0 for none.
  [[nodiscard]] std::uint64_t earliest_call() const noexcept;
  /// Who waits for whom, such as "rank 1 waits for rank 0 (barrier #2), rank 0 waits ...".
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

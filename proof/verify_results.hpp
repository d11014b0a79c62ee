/// @file
/// Internal to the verifier: checks results, and determines properties.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "verify_flow.hpp"

namespace tutti::verifying {

/// Checks that all ranks end with the results of the contract. @param flow after its run.
/// @param report receives findings.
void check_results(const Question& question, const DataFlow& flow, Report& report);

/// Determines operand order and equality of trees. Expects correct results. @param flow after its
/// run. @param facts receives the properties.
void compare_trees(const Question& question, const DataFlow& flow, Facts& facts);

/// @return whether ranks use only blocks that they have or want.
[[nodiscard]] Property check_own_counts(const Question& question);

/// Compares schedules with rank 0's: peers and blocks shifted, as sets of steps per round.
class RotationCheck {
 public:
  /// @return whether each schedule is rank 0's, shifted.
  [[nodiscard]] Property check(const Question& question);

 private:
  /// A step over one slot; sides and the order within a round do not count.
  struct Key {
    std::uint64_t what = 0;   // kind, spaces and peer
    std::uint64_t slots = 0;  // the slot and, of local steps, the source
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  void collect(const Question& question, std::size_t rank, std::size_t round,
               std::vector<Key>& keys) const;

  std::vector<Key> first_{};
  std::vector<Key> other_{};
};

}  // namespace tutti::verifying

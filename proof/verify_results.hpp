/// @file
/// Internal to the verifier: what the results are, and which properties hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "verify_flow.hpp"

namespace tutti::verifying {

/// Checks that all ranks end with what the contract wants.
/// @param question what to prove. @param flow after its run. @param report receives findings.
void check_results(const Question& question, const DataFlow& flow, Report& report);

/// Finds out about operand order and equal trees. Expects correct results.
/// @param question what to prove. @param flow after its run. @param facts receives the properties.
void compare_trees(const Question& question, const DataFlow& flow, Facts& facts);

/// Finds out whether ranks touch blocks that they neither have nor want.
/// @param question what to prove. @return the property.
[[nodiscard]] Property check_own_counts(const Question& question);

/// Compares schedules with rank 0's: peers and blocks shifted, as sets of steps per round.
class RotationCheck {
 public:
  /// @param question what to prove. @return the property.
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

/// @file
/// Internal to the verifier: from what held for single shapes to what holds for a row.
#pragma once

#include <string>
#include <vector>

#include "verify_row.hpp"

namespace tutti::verifying {

/// In which cases one property held over the shapes seen.
class CaseRecord {
 public:
  /// @param property whether it held. @param size number of ranks. @param root the root.
  void note(const Property& property, int size, Rank root);
  /// @param when a condition. @return whether the property held wherever the condition does.
  [[nodiscard]] bool holds(When when) const;
  /// @return the strongest condition; root_is_zero before power_of_two where both hold.
  [[nodiscard]] When strongest() const;

 private:
  bool always_ = true;
  bool power_of_two_ = true;
  bool saw_power_of_two_ = false;  // of more than two ranks, on which almost everything holds
  bool root_is_zero_ = true;
};

/// What held over all shapes of a row.
struct RowRecord {
  CaseRecord ordered{};          ///< See Traits::ordered.
  CaseRecord rank_identical{};   ///< See Traits::rank_identical.
  CaseRecord size_invariant{};   ///< See Traits::size_invariant.
  CaseRecord rotational{};       ///< See Traits::rotational.
  CaseRecord own_counts_only{};  ///< See Traits::own_counts_only.
  CaseRecord lockstep{};         ///< See Traits::lockstep.
  /// Per number of ranks, from the range's least: whether the row works there.
  std::vector<bool> serves{};

  /// @param facts of one shape. @param size number of ranks. @param root the root.
  void note(const Facts& facts, int size, Rank root);
};

/// @param row the row. @param record over all shapes. @param min_size of the range.
/// @return a text for each trait that holds more widely than the row claims.
[[nodiscard]] std::vector<std::string> too_little_claimed(const Algorithm& row,
                                                          const RowRecord& record, int min_size);

/// @param record over all shapes. @return the strongest traits.
[[nodiscard]] ProvedTraits proved_traits(const RowRecord& record);

/// @param choice any. @param size number of ranks. @param root the root. @param verifier to find
/// the tree with that the row claims to share. @return what the choice's row claims for that shape.
/// Throws Error{invalid_argument} where it claims the tree of a row that there is not.
[[nodiscard]] Claims claims_of(const Choice& choice, int size, Rank root, Verifier& verifier);

}  // namespace tutti::verifying

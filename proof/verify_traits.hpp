/// @file
/// Internal to the verifier: derives the traits of a row from properties of single shapes.
#pragma once

#include <string>
#include <vector>

#include "verify_row.hpp"

namespace tutti::verifying {

/// The cases in which a property held, over all noted shapes.
class CaseRecord {
 public:
  /// Adds the property of one shape. @param size number of ranks.
  void note(const Property& property, int size, Rank root);
  /// @return whether the property held in every shape with this condition.
  [[nodiscard]] bool holds(When when) const;
  /// @return the strongest condition; root_is_zero before power_of_two if both hold.
  [[nodiscard]] When strongest() const;

 private:
  bool always_ = true;
  bool power_of_two_ = true;
  bool saw_power_of_two_ = false;  // of more than two ranks, on which almost everything holds
  bool root_is_zero_ = true;
};

/// The properties of all shapes of a row.
struct RowRecord {
  CaseRecord ordered{};          ///< See Traits::ordered.
  CaseRecord rank_identical{};   ///< See Traits::rank_identical.
  CaseRecord size_invariant{};   ///< See Traits::size_invariant.
  CaseRecord rotational{};       ///< See Traits::rotational.
  CaseRecord own_counts_only{};  ///< See Traits::own_counts_only.
  CaseRecord lockstep{};         ///< See Traits::lockstep.
  /// Per number of ranks, from the range's least: whether the row serves it.
  std::vector<bool> serves{};

  /// Adds the facts of one shape. @param size number of ranks.
  void note(const Facts& facts, int size, Rank root);
};

/// @param record over all shapes. @param min_size of the range. @return a text for each trait that
/// holds more widely than the row claims.
[[nodiscard]] std::vector<std::string> too_little_claimed(const Algorithm& row,
                                                          const RowRecord& record, int min_size);

/// @param record over all shapes. @return the strongest traits.
[[nodiscard]] ProvedTraits proved_traits(const RowRecord& record);

/// @param verifier finds the tree that the row claims to share. @return the claims of the choice's
/// row for that shape. Throws Error{invalid_argument} if it claims the tree of a row that does not
/// exist.
[[nodiscard]] Claims claims_of(const Choice& choice, int size, Rank root, Verifier& verifier);

}  // namespace tutti::verifying

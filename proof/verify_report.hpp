/// @file
/// Internal to the verifier: collects findings, and formats their places.
#pragma once

#include <string>
#include <vector>

#include "verify.hpp"

namespace tutti::verifying {

/// A place in a schedule; members that are -1 are not known.
struct FindingPlace {
  Rank rank = -1;            ///< The rank.
  std::int64_t round = -1;   ///< The round.
  std::int64_t slot = -1;    ///< The slot.
  Space space = Space::out;  ///< The space of the slot.
};

/// @return such as "scratch[12]".
[[nodiscard]] std::string text_of(Space space, std::int64_t slot);

/// @return such as "rank 2, round 3, out[4]".
[[nodiscard]] std::string text_of(const FindingPlace& place);

/// The findings about one question.
class Report {
 public:
  /// @param question must outlive this object.
  explicit Report(const Question& question) : question_{question} {}

  /// Adds a finding unless there are enough. @param text the fault and its place. @param where the
  /// place as numbers.
  void add(CheckKind kind, const std::string& text, const FindingPlace& where = {});
  /// Adds a finding. @param text the fault.
  void add(CheckKind kind, const FindingPlace& place, const std::string& text) {
    add(kind, text_of(place) + ": " + text, place);
  }
  /// @return whether nothing was found so far.
  [[nodiscard]] bool empty() const noexcept { return findings_.empty(); }
  /// @return all findings; this object has none afterwards.
  [[nodiscard]] std::vector<Finding> release_findings() { return std::move(findings_); }

 private:
  const Question& question_;
  std::vector<Finding> findings_{};
};

}  // namespace tutti::verifying

/// @file
/// Watches pending operations: their deadlines, and the reports of their waits to other ranks.
#pragma once

#include <tutti/spi/group.hpp>

#include "collectives/binding/active_calls.hpp"

#include "failures.hpp"
#include "unmatched_search.hpp"

namespace tutti::v0::detail {

/// Fails operations at their deadlines, and reports their waits to the other ranks. It asks the
/// rank for which the oldest one waits whether it is in the same call.
class WaitMonitor {
 public:
  /// All arguments outlive this.
  WaitMonitor(CallCounter& calls, Failures& failures, ActiveCalls& active,
              UnmatchedSearch& unmatched) noexcept
      : calls_{calls}, failures_{failures}, active_{active}, unmatched_{unmatched} {}

  /// Checks all operations once. Throws the first failure. @param first the operation whose wait is
  /// reported first, or null. @param blocks whether the caller polls until it is done.
  void look(const Execution* first, bool blocks, Duration now);
  /// Withdraws reports of waits that are over.
  void end_reports() noexcept;
  /// Lets reports expire soon: the program does not wait now, but may wait again.
  void end_wait(Duration now) noexcept;

 private:
  void report(const Execution* first, bool blocks, Duration now) noexcept;
  void ask_awaited(Duration now);

  CallCounter& calls_;
  Failures& failures_;
  ActiveCalls& active_;
  UnmatchedSearch& unmatched_;
  Duration thorough_look_{0};  // when the next thorough look is due
  Duration next_question_{0};  // when the awaited rank may be asked again
  Duration next_report_{0};
  bool has_reported_ = false;
};

}  // namespace tutti::v0::detail

/// @file
/// Looks after operations that wait: their deadlines, and what the other ranks know of them.
#pragma once

#include <tutti/spi/group.hpp>

#include "collectives/binding/active_calls.hpp"

#include "failures.hpp"
#include "unmatched_search.hpp"

namespace tutti::v0::detail {

/// Fails operations at their deadlines, reports to the other ranks what they wait for, and asks the
/// rank that the oldest one waits for whether it is in the same call.
class WaitMonitor {
 public:
  /// All of them live longer.
  WaitMonitor(CallCounter& calls, Failures& failures, ActiveCalls& active,
              UnmatchedSearch& unmatched) noexcept
      : calls_{calls}, failures_{failures}, active_{active}, unmatched_{unmatched} {}

  /// Looks once, for all operations. Throws the first failure. @param first whose wait is reported
  /// first, or null. @param blocks whether the caller polls until it is done. @param now the time.
  void look(const Execution* first, bool blocks, Duration now);
  /// Withdraws reports of waits that are over.
  void end_reports() noexcept;
  /// Lets reports expire soon: the program does not wait now, but may wait again. @param now the
  /// time.
  void end_wait(Duration now) noexcept;

 private:
  void report(const Execution* first, bool blocks, Duration now) noexcept;
  void ask_awaited(Duration now);

  CallCounter& calls_;
  Failures& failures_;
  ActiveCalls& active_;
  UnmatchedSearch& unmatched_;
  Duration thorough_look_{0};  // when the next one is due
  Duration next_question_{0};  // when the awaited rank may next be asked what it does
  Duration next_report_{0};
  bool has_reported_ = false;
};

}  // namespace tutti::v0::detail

/// @file
/// Messages that nobody receives: how a communicator finds out that ranks disagree.
#pragma once

#include <tutti/spi/transport.hpp>

#include "collectives/binding/active_calls.hpp"
#include "collectives/execution/call_order.hpp"

#include "failures.hpp"

namespace tutti::v0::detail {

/// Looks for messages of calls that have ended, or that differ from the one that waits: a rank that
/// only sends learns from nothing else that others see the call differently. It looks where a
/// message waits for its receive, where this rank waits anyway, and thoroughly once in a window and
/// after a long wait.
class UnmatchedSearch {
 public:
  /// All of them live longer.
  UnmatchedSearch(Transport& transport, CallOrder& order, Failures& failures,
                  const ActiveCalls& active) noexcept
      : transport_{transport}, order_{order}, failures_{failures}, active_{active} {}

  /// The transport is about to be polled.
  void note_poll() noexcept { has_looked_ = false; }
  /// A collective is about to take its position. Throws Error{mismatch}. @param binding of it.
  void look_before(const Binding& binding) {
    if (order_.laps() || (transport_.has_unexpected() && !has_looked_)) {
      const bool thoroughly = order_.laps();
      order_.end_lap();
      look(thoroughly);
    }
    is_likely_ = is_likely_ || binding.may_leave_unmatched;
  }
  /// An operation is done, and is about to be reported. Throws the first failure.
  void look_after(const Execution& execution) {
    if (execution.is_ordered() &&
        (transport_.has_unexpected() || (is_likely_ && execution.binding().awaits_all)))
      find_after(execution);
  }
  /// @param thoroughly as Transport::find_unmatched. Throws Error{mismatch}.
  void look(bool thoroughly);
  /// Looks for messages of runs that have ended. Throws Error{mismatch}.
  void look_for_runs(const Execution& plan);
  /// A plan that is not running will never run again: looks for its messages.
  void end_plan(Execution& execution) noexcept;
  /// The communicator ends: reports a disagreement that no rank has noticed yet.
  void end() noexcept;

 private:
  void find_after(const Execution& execution);
  void look_for_all_runs();

  Transport& transport_;
  CallOrder& order_;
  Failures& failures_;
  const ActiveCalls& active_;
  bool has_looked_ = false;  // since the last poll
  bool is_likely_ = false;   // a call may have left some, and none waited for all since
};

}  // namespace tutti::v0::detail

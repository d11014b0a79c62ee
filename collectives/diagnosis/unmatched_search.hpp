/// @file
/// The search for messages that no call receives, which show that ranks disagree.
#pragma once

#include <tutti/spi/transport.hpp>

#include "collectives/binding/active_calls.hpp"
#include "collectives/execution/call_order.hpp"

#include "failures.hpp"

namespace tutti::v0::detail {

/// Looks for messages of calls that have ended, or that differ from the pending one. A rank that
/// only sends in a call has no other sign that ranks disagree about it. It looks when a message
/// waits for its receive, and when this rank waits anyway; thoroughly once in a window of tags, and
/// after a long wait.
class UnmatchedSearch {
 public:
  /// All arguments outlive this.
  UnmatchedSearch(Transport& transport, CallOrder& order, Failures& failures,
                  const ActiveCalls& active) noexcept
      : transport_{transport}, order_{order}, failures_{failures}, active_{active} {}

  /// To be called before the transport is polled.
  void note_poll() noexcept { has_looked_ = false; }
  /// To be called before a collective takes its position. Throws Error{mismatch}.
  void look_before(const Binding& binding) {
    if (order_.laps() || (transport_.has_unexpected() && !has_looked_)) {
      const bool thoroughly = order_.laps();
      order_.end_lap();
      look(thoroughly);
    }
    is_likely_ = is_likely_ || binding.may_leave_unmatched;
  }
  /// To be called when an operation is done, before the program gets to know it. Throws the first
  /// failure.
  void look_after(const Execution& execution) {
    if (execution.is_ordered() &&
        (transport_.has_unexpected() || (is_likely_ && execution.binding().awaits_all)))
      find_after(execution);
  }
  /// @param thoroughly as Transport::find_unmatched. Throws Error{mismatch}.
  void look(bool thoroughly);
  /// Looks for messages of a plan's runs that have ended. Throws Error{mismatch}.
  void look_for_runs(const Execution& plan);
  /// Ends a plan that is not running, and looks for its messages.
  void end_plan(Execution& execution) noexcept;
  /// To be called when the communicator ends: reports a disagreement that no rank has found yet.
  void end() noexcept;

 private:
  void find_after(const Execution& execution);
  void look_for_all_runs();

  Transport& transport_;
  CallOrder& order_;
  Failures& failures_;
  const ActiveCalls& active_;
  bool has_looked_ = false;  // since the last poll
  bool is_likely_ = false;   // a call may have left messages, and none waited for all ranks since
};

}  // namespace tutti::v0::detail

/// @file
/// The executions of a communicator that have not ended.
#pragma once

#include <cstdint>
#include <list>

#include "collectives/execution/call_order.hpp"
#include "collectives/execution/execution.hpp"

#include "program_cache.hpp"

namespace tutti::v0::detail {

/// Lists executions that handles or blocking calls own, and finds the oldest pending ones.
class ActiveCalls {
 public:
  using CachedExecution = ProgramCache::CachedExecution;
  using List = std::list<CachedExecution>;

  explicit ActiveCalls(const CallOrder& order) noexcept : order_{order} {}

  /// @return the executions that were acquired, the latest first.
  [[nodiscard]] List& in_use() noexcept { return in_use_; }
  [[nodiscard]] const List& in_use() const noexcept { return in_use_; }
  /// @return the executions that wait for their start, in the order of the calls.
  [[nodiscard]] List& queued() noexcept { return queued_; }
  /// @return the position of an execution in a list, or the list's end.
  [[nodiscard]] static List::iterator find(List& list, const Execution& execution) noexcept;

  /// @return whether an execution has started and not ended.
  [[nodiscard]] bool has_started() const noexcept;
  /// The oldest collective that has not ended, or the next one.
  struct Oldest {
    std::uint64_t sequence;
    std::uint64_t summary = 0;  ///< The summary for make_fingerprint, or 0 if it is unknown.
  };
  [[nodiscard]] Oldest oldest_collective() const noexcept;
  /// @return the execution of the oldest collective, or null if that one waits for its start.
  [[nodiscard]] const Execution* oldest_started() const noexcept;
  /// @return the plan that was made first of those that run, or null.
  [[nodiscard]] const Execution* oldest_plan() const noexcept;
  /// @return whether a collective has not ended.
  [[nodiscard]] bool has_collective() const noexcept {
    return oldest_collective().sequence < order_.count();
  }

 private:
  const CallOrder& order_;
  List in_use_{};
  List queued_{};
};

}  // namespace tutti::v0::detail

#include "active_calls.hpp"

#include <algorithm>

namespace tutti::v0::detail {

ActiveCalls::List::iterator ActiveCalls::find(List& list, const Execution& execution) noexcept {
  return std::ranges::find_if(
      list, [&execution](const CachedExecution& other) { return &other.execution == &execution; });
}

bool ActiveCalls::has_started() const noexcept {
  return std::ranges::any_of(
      in_use_, [](const CachedExecution& cached) { return !cached.execution.done(); });
}

ActiveCalls::Oldest ActiveCalls::oldest_collective() const noexcept {
  Oldest oldest{order_.count()};
  for (const CachedExecution& cached : in_use_) {
    const Execution& execution = cached.execution;
    if (!execution.done() && !execution.is_queued() && execution.is_ordered() &&
        execution.sequence() < oldest.sequence)
      oldest = {execution.sequence(), execution.binding().fingerprint};
  }
  if (order_.oldest_kept() < oldest.sequence) oldest = {order_.oldest_kept()};
  return oldest;
}

const Execution* ActiveCalls::oldest_started() const noexcept {
  const std::uint64_t oldest = oldest_collective().sequence;
  for (const CachedExecution& cached : in_use_)
    if (!cached.execution.done() && cached.execution.is_ordered() &&
        cached.execution.sequence() == oldest)
      return &cached.execution;
  return nullptr;
}

const Execution* ActiveCalls::oldest_plan() const noexcept {
  const Execution* oldest = nullptr;
  for (const CachedExecution& cached : in_use_)
    if (!cached.execution.done() && cached.execution.plan() != 0 &&
        (oldest == nullptr || cached.execution.plan() < oldest->plan()))
      oldest = &cached.execution;
  return oldest;
}

}  // namespace tutti::v0::detail

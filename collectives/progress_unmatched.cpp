// Messages that nobody receives: how a communicator finds out that ranks disagree, and ends.
#include <tutti/spi/fingerprint.hpp>

#include "progress.hpp"

namespace tutti::v0::detail {

/// Tells the ranks of a disagreement that nobody has noticed yet.
void Progress::look_back() noexcept {
  try {
    find_unmatched(false);
    for (const CachedExecution& held : in_use_)
      if (held.execution.plan() != 0) find_unmatched_of(held.execution);
  } catch (...) {
    failures_.end_as_caught();
  }
}

/// Looks for messages of runs that have ended: plans are started when each rank likes, so what has
/// come of a later run is none of those. While a plan runs, messages of that run may still arrive.
void Progress::find_unmatched_of(const Execution& plan) {
  if (!transport_.has_unexpected() || plan.sequence() == 0) return;
  const std::uint64_t next = plan.sequence() + (plan.done() ? 1 : 0);
  const std::uint32_t first = order_.tag_of_plan(plan.plan());
  for (Rank rank = 0; rank < transport_.size(); ++rank)
    for (std::uint32_t tag = first; tag < first + plan.tags(); ++tag) {
      const auto found = transport_.probe(rank, tag);
      if (found && is_of_plan(found->fingerprint) && is_before_run(found->fingerprint, next))
        throw unmatched_plan(rank, found->fingerprint);
    }
}

void Progress::end_plan(Execution& execution) noexcept {
  try {
    if (!failures_.has_failed()) find_unmatched_of(execution);
  } catch (...) {
    failures_.keep_as_caught();
  }
  execution.set_plan(0);
}

Progress::Oldest Progress::oldest_pending() const noexcept {
  Oldest oldest{order_.count()};
  for (const CachedExecution& held : in_use_)
    if (!held.execution.done() && !held.execution.is_held() && held.execution.is_ordered() &&
        held.execution.sequence() < oldest.sequence)
      oldest = {held.execution.sequence(), held.execution.binding().fingerprint};
  if (order_.oldest_kept() < oldest.sequence) oldest = {order_.oldest_kept()};
  return oldest;
}

/// Looks for messages of calls that have ended, or that differ from the one that waits: a rank that
/// only sends learns from nothing else that others see the call differently. Done where a message
/// waits for its receive, where this rank waits anyway, and thoroughly once in a window and where
/// it has waited for long.
void Progress::find_unmatched(bool thoroughly) {
  const Oldest oldest = oldest_pending();
  transport_.find_unmatched(make_fingerprint(oldest.summary, oldest.sequence), thoroughly);
  has_looked_ = true;
  if (!thoroughly) return;
  for (const CachedExecution& held : in_use_)
    if (held.execution.plan() != 0) find_unmatched_of(held.execution);
}

/// Whatever a rank sent before a message that this call has received has come too. So where ranks
/// disagree about an earlier call, the first call that waits for them fails, and not the next one.
void Progress::find_unmatched_after(const Execution& execution) {
  if (failures_.has_failed()) return;
  if (execution.binding().awaits_all) unmatched_are_likely_ = has_pending();
  try {
    find_unmatched(false);
  } catch (...) {
    failures_.fail_as_caught();
  }
}

bool Progress::has_pending() const noexcept {
  return oldest_pending().sequence < order_.count();
}

}  // namespace tutti::v0::detail

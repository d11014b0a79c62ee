#include "unmatched_search.hpp"

#include <tutti/spi/fingerprint.hpp>

namespace tutti::v0::detail {

void UnmatchedSearch::end() noexcept {
  try {
    look(false);
    look_for_all_runs();
  } catch (...) {
    failures_.end_as_caught();
  }
}

/// Ranks start runs of a plan at different times, so a message of a later run is no error. While a
/// plan runs, a message of that run is none either.
void UnmatchedSearch::look_for_runs(const Execution& plan) {
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

void UnmatchedSearch::look_for_all_runs() {
  for (const ActiveCalls::CachedExecution& cached : active_.in_use())
    if (cached.execution.plan() != 0) look_for_runs(cached.execution);
}

void UnmatchedSearch::end_plan(Execution& execution) noexcept {
  try {
    if (!failures_.has_failed()) look_for_runs(execution);
  } catch (...) {
    failures_.keep_as_caught();
  }
  execution.set_plan(0);
}

void UnmatchedSearch::look(bool thoroughly) {
  const ActiveCalls::Oldest oldest = active_.oldest_collective();
  transport_.find_unmatched(make_fingerprint(oldest.summary, oldest.sequence), thoroughly);
  has_looked_ = true;
  if (thoroughly) look_for_all_runs();
}

/// If this call received a message of a rank, all earlier messages of that rank have arrived too.
/// So if ranks disagree about an earlier call, the first call that waits for them fails, and not
/// the one after it.
void UnmatchedSearch::find_after(const Execution& execution) {
  if (failures_.has_failed()) return;
  if (execution.binding().awaits_all) is_likely_ = active_.has_collective();
  try {
    look(false);
  } catch (...) {
    failures_.fail_as_caught();
  }
}

}  // namespace tutti::v0::detail

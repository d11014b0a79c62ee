#include "progress.hpp"

#include <algorithm>
#include <utility>

namespace tutti::v0::detail {
namespace {

/// Polls from one look at the clock to the next, where a poll is so short that reading it would
/// count.
constexpr int kPollsPerClock = 32;

}  // namespace

Progress::Progress(const Parts& parts)
    : transport_{parts.transport}, order_{parts.order}, calls_{parts.calls},
      failures_{parts.failures}, options_{parts.options},
      polls_per_clock_{std::clamp(transport_.capabilities().idle_spins, 1, kPollsPerClock)},
      polls_until_clock_{polls_per_clock_}, hook_{static_cast<bool>(options_.progress)} {}

/// Who destroys a communicator hears of nothing any more, but ranks that still call it do.
void Progress::end() noexcept {
  waiting_.clear();
  if (!failures_.has_failed()) look_back();
  if (failures_.is_quiet()) return;
  for (CachedExecution& held : in_use_)
    if (!held.execution.done()) held.execution.abandon();
  // Peers may still write into their memory, so that is never freed.
  if (!tasks_.empty()) static_cast<void>(new auto(std::move(tasks_)));
}

bool Progress::has_anything_pending() const noexcept {
  if (failures_.has_failed()) return false;
  return !tasks_.empty() || !waiting_.empty() ||
         std::ranges::any_of(in_use_,
                             [](const CachedExecution& held) { return !held.execution.done(); });
}

void Progress::begin(Execution& execution, const void* in, void* out, Duration timeout) {
  if (execution.binding().layout().contract().collective == Collective::barrier) in = out = &token_;
  try {
    execution.start({in, out}, turn_of(execution), timeout);
    while (!execution.done() && transport_.completed() > 0) deliver();
  } catch (...) {
    failures_.fail_as_caught();
  }
  if (hook_.is_asked_at_start()) help_others(transport_.now());
}

void Progress::hold(Execution& execution, const void* in, void* out, Duration timeout) {
  waiting_.push_back({.execution = &execution, .in = in, .out = out, .timeout = timeout});
  held_.splice(held_.end(), in_use_, find(in_use_, execution));
  execution.hold(timeout);
}

std::list<Progress::CachedExecution>::iterator Progress::find(std::list<CachedExecution>& held,
                                                              const Execution& execution) noexcept {
  return std::ranges::find_if(
      held, [&execution](const CachedExecution& other) { return &other.execution == &execution; });
}

/// In the order of the calls, which is the same on all ranks.
void Progress::start_waiting() {
  while (!waiting_.empty()) {
    const Waiting next = waiting_.front();
    const std::uint64_t places = next.task ? next.task->places() : 1;
    if (!is_within_window(places)) return;
    waiting_.pop_front();
    if (!next.task) {
      in_use_.splice(in_use_.begin(), held_, held_.begin());
      begin(*next.execution, next.in, next.out, next.timeout);
      continue;
    }
    next.task->let_start();
    advance_tasks();
    next.task->started();
  }
}

/// Collectives are counted. Messages between two ranks are not, since the others know nothing of
/// them; they have tags of their own, behind those of the window. So have plans, whose runs are
/// counted for each.
Execution::Turn Progress::turn_of(const Execution& execution) {
  if (execution.plan() != 0) {
    find_unmatched_of(execution);
    return {execution.sequence() + 1, order_.tag_of_plan(execution.plan())};
  }
  if (!execution.binding().is_collective) return {0, order_.tag_of_message(execution.user_tag())};
  if (order_.laps() || (transport_.has_unexpected() && !has_looked_)) {
    const bool thoroughly = order_.laps();
    order_.end_lap();
    find_unmatched(thoroughly);
  }
  const Execution::Turn turn = order_.take();
  calls_.begin(order_.count(), execution.binding().fingerprint);
  unmatched_are_likely_ = unmatched_are_likely_ || execution.binding().may_leave_unmatched;
  return turn;
}

std::size_t Progress::poll() {
  failures_.check();
  has_looked_ = false;
  try {
    transport_.poll();
    const std::size_t count = deliver();
    if (count == 0 && polls_until_clock_ <= 1) find_unmatched(false);
    if (!waiting_.empty()) start_waiting();
    return count;
  } catch (...) {
    failures_.fail_as_caught();
  }
}

/// Tells executions what is done. @return how much; what that completes comes next.
std::size_t Progress::deliver() {
  const std::size_t count = transport_.completed();
  for (std::size_t i = 0; i < count && transport_.completed() > 0; ++i)
    Execution::complete_oldest(transport_);
  return count;
}

void Progress::start_later(Execution& execution, const void* in, void* out, Duration timeout,
                           Execution::Turn turn) {
  failures_.check();
  order_.end_keeping(turn);
  try {
    calls_.note(turn.sequence + 1, execution.binding().fingerprint);
    execution.start({in, out}, turn, timeout);
  } catch (...) {
    failures_.fail_as_caught();
  }
}

void Progress::start(const std::shared_ptr<Task>& task) {
  try {
    task->prepare();
    order_.prepare_to_keep();
    tasks_.push_back(task);
    if (task->places() > 0 && !has_room(task->places())) {
      waiting_.push_back({.task = task});
      return;
    }
  } catch (...) {
    task->drop();
    throw;
  }
  task->let_start();
  advance_tasks();
  task->started();
}

bool Progress::is_next(const Task& task) const noexcept {
  const auto messages = task.receives();
  for (const auto& other : tasks_) {
    if (other.get() == &task) break;
    if (messages && other->receives() == messages) return false;
  }
  return true;
}

void Progress::advance_tasks() {
  try {
    for (const auto& task : tasks_) task->advance();
  } catch (...) {
    failures_.fail_as_caught();
  }
  std::erase_if(tasks_, [](const auto& task) { return task->done(); });
}

}  // namespace tutti::v0::detail

#include "progress.hpp"

#include <algorithm>
#include <utility>

#include "collectives/binding/check_call.hpp"

namespace tutti::v0::detail {
namespace {

/// The most polls between two reads of the clock, since a read costs about as much as a short poll.
constexpr int kPollsPerClock = 32;

const Execution* execution_of(const Execution& pending) noexcept {
  return &pending;
}
template <class Pending>
const Execution* execution_of(const Pending& /*pending*/) noexcept {
  return nullptr;
}

}  // namespace

Progress::Progress(Transport& transport, Diagnosis& diagnosis, const CommunicatorOptions& options)
    : transport_{transport}, order_{diagnosis.order()}, calls_{diagnosis.counter()},
      failures_{diagnosis.failures()}, options_{options}, active_{order_},
      unmatched_{transport_, order_, failures_, active_}, monitor_{calls_, failures_, active_,
                                                                   unmatched_},
      polls_per_clock_{std::clamp(transport_.capabilities().idle_spins, 1, kPollsPerClock)},
      polls_until_clock_{polls_per_clock_}, hook_{static_cast<bool>(options_.progress)} {}

/// A program that destroys its communicator gets no more errors, but ranks that still use it do.
void Progress::end() noexcept {
  waiting_.clear();
  if (!failures_.has_failed()) unmatched_.end();
  if (failures_.is_quiet()) return;
  for (ActiveCalls::CachedExecution& cached : active_.in_use())
    if (!cached.execution.done()) cached.execution.abandon();
  // Peers may still write into their memory, so that is never freed.
  if (!tasks_.empty()) static_cast<void>(new auto(std::move(tasks_)));
}

void Progress::begin(Execution& execution, const void* in, void* out, Duration timeout) {
  if (execution.binding().is_barrier()) in = out = &token_;
  try {
    execution.start({in, out}, position_of(execution), timeout);
    while (!execution.done() && transport_.completed() > 0) deliver();
  } catch (...) {
    failures_.fail_as_caught();
  }
  if (hook_.is_asked_at_start()) call_hook(transport_.now());
}

void Progress::queue(Execution& execution, const void* in, void* out, Duration timeout) {
  waiting_.push_back({.execution = &execution, .in = in, .out = out, .timeout = timeout});
  ActiveCalls::List& queued = active_.queued();
  queued.splice(queued.end(), active_.in_use(), ActiveCalls::find(active_.in_use(), execution));
  execution.queue(timeout);
}

/// Starts waiting operations in the order of the calls, which is the same on all ranks.
void Progress::start_waiting() {
  while (!waiting_.empty()) {
    const Waiting next = waiting_.front();
    const std::uint64_t positions = next.task ? next.task->positions() : 1;
    if (!is_within_window(positions)) return;
    waiting_.pop_front();
    if (!next.task) {
      ActiveCalls::List& started = active_.in_use();
      started.splice(started.begin(), active_.queued(), active_.queued().begin());
      begin(*next.execution, next.in, next.out, next.timeout);
      continue;
    }
    next.task->let_start();
    advance_tasks();
    next.task->started();
  }
}

/// Collectives take positions. Messages between two ranks do not, since the other ranks do not take
/// part; they have tags of their own, behind those of the window. So have plans, each of which
/// counts its runs.
Execution::CallPosition Progress::position_of(const Execution& execution) {
  if (execution.plan() != 0) {
    unmatched_.look_for_runs(execution);
    return {execution.sequence() + 1, order_.tag_of_plan(execution.plan())};
  }
  if (!execution.binding().is_collective) return {0, order_.tag_of_message(execution.user_tag())};
  unmatched_.look_before(execution.binding());
  const Execution::CallPosition position = order_.next();
  calls_.begin(order_.count(), execution.binding().fingerprint);
  return position;
}

std::size_t Progress::poll() {
  failures_.check();
  unmatched_.note_poll();
  try {
    transport_.poll();
    const std::size_t count = transport_.completed() > 0 ? deliver() : 0;
    if (count == 0 && polls_until_clock_ <= 1) unmatched_.look(false);
    if (!waiting_.empty()) start_waiting();
    return count;
  } catch (...) {
    failures_.fail_as_caught();
  }
}

/// Continues executions after completed transfers. @return the number of these transfers, without
/// those that complete meanwhile.
std::size_t Progress::deliver() {
  const std::size_t count = transport_.completed();
  for (std::size_t i = 0; i < count && transport_.completed() > 0; ++i)
    SegmentRun::complete_oldest(transport_);
  return count;
}

void Progress::start_later(Execution& execution, const void* in, void* out, Duration timeout,
                           Execution::CallPosition position) {
  failures_.check();
  order_.end_keeping(position);
  try {
    calls_.note(position.sequence + 1, execution.binding().fingerprint);
    execution.start({in, out}, position, timeout);
  } catch (...) {
    failures_.fail_as_caught();
  }
}

void Progress::start(const std::shared_ptr<Task>& task) {
  try {
    task->prepare();
    order_.prepare_to_keep();
    tasks_.push_back(task);
    if (task->positions() > 0 && !has_room(task->positions())) {
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
  std::erase_if(tasks_, [](const auto& task) {
    if (task->done()) task->notice().send();
    return task->done();
  });
}

/// Other libraries may have to advance before an awaited message can come.
void Progress::call_hook(Duration now) {
  if (!hook_.is_due(now)) return;
  try {
    options_.progress();
  } catch (...) {
    failures_.fail_as_caught();
  }
  hook_.end_call(now, transport_.now());
}

/// One step of a test or wait for a pending operation. Every few polls it checks the deadlines of
/// all operations, so that polling one of them never hides that another one is late, and calls
/// CommunicatorOptions::progress. @param blocks whether the caller polls until it is done. @return
/// whether something moved.
template <class Pending>
bool Progress::poll_for(const Pending& pending, bool blocks) {
  const bool moved = poll() > 0;
  if (moved) hook_.end_idleness();
  if (!tasks_.empty()) {  // also if nothing moved: calls of tasks may have completed elsewhere
    advance_tasks();
    if (!waiting_.empty()) failures_.attempt([this] { start_waiting(); });
  }
  if (polls_until_clock_ > 0) --polls_until_clock_;
  if (polls_until_clock_ == 0 && !pending.done()) {
    polls_until_clock_ = polls_per_clock_;
    const Duration now = transport_.now();
    monitor_.look(execution_of(pending), blocks, now);
    call_hook(now);
  } else if (hook_.is_waited_for() && !pending.done()) {
    call_hook(transport_.now());
  }
  // If something above fails, the report stays for ranks that fail at the same time.
  if (pending.done()) end_reports();
  return moved;
}

/// A program may do other things for long between two tests, so each test calls the hook.
template <class Pending>
void Progress::test_for(const Pending& pending) {
  poll_for(pending, false);
  if (hook_.exists() && !pending.done()) call_hook(transport_.now());
}

/// The program itself does not wait, so the report is that of a rank that polls now and then.
bool Progress::step_for_progress() {
  struct AnyCompletion {
    [[nodiscard]] static bool done() noexcept { return false; }
  };
  const bool moved = poll_for(AnyCompletion{}, false);
  if (!has_anything_pending()) end_reports();
  return moved;
}

bool Progress::step(const Execution& execution) {
  check_started(execution.is_enlisted());
  return poll_for(execution, true);
}

bool Progress::test(const Execution& execution) {
  check_started(execution.is_enlisted());
  if (!execution.done()) test_for(execution);
  if (!execution.done()) return false;
  end_reports();  // also if it had ended before
  unmatched_.look_after(execution);
  return true;
}

bool Progress::test(const Task& task) {
  if (!task.done()) test_for(task);
  return task.done();
}

template <class Pending>
void Progress::wait_for(const Pending& pending) {
  for (IdleBackoff backoff; !pending.done();) {
    if (poll_for(pending, true)) backoff.end();
    else pause(backoff);
  }
}

/// After other threads had the core, the next poll reads the clock.
void Progress::pause(IdleBackoff& backoff, bool wakes) {
  const IdleBackoff::Wait wait{.drives = hook_.exists(), .wakes = wakes};
  if (!backoff.advance(transport_, contention_, wait)) return;
  polls_until_clock_ = 1;
  hook_.end_yield();
}

void Progress::wait(const Execution& execution) {
  check_started(execution.is_enlisted());
  wait_for(execution);
  end_reports();  // also if it had ended before
  unmatched_.look_after(execution);
}
void Progress::wait_until(const std::function<bool()>& condition) {
  struct ConditionHolds {
    [[nodiscard]] bool done() const { return condition(); }
    const std::function<bool()>& condition;
  };
  wait_for(ConditionHolds{condition});
  monitor_.end_wait(transport_.now());
}

}  // namespace tutti::v0::detail

// How operations come to their end while somebody waits.
#include <algorithm>
#include <utility>

#include "check_call.hpp"
#include "idleness.hpp"
#include "progress.hpp"

namespace tutti::v0::detail {
namespace {

/// From one thorough look for messages that nobody receives to the next. It costs some system
/// calls.
constexpr Duration kThoroughLooks = std::chrono::milliseconds{100};
/// After so long without anything that comes, a collective asks the rank it waits for whether it is
/// in the same call; again after twice that time, and so on, and at most so long after the last.
constexpr Duration kPatience = std::chrono::milliseconds{200};
constexpr Duration kLongestSilence = std::chrono::seconds{10};
/// From one note of what is waited for here to the next. Ranks that wait in vain ask for it, and
/// they have waited for longer than that.
constexpr Duration kWords = std::chrono::milliseconds{2};

const Execution* execution_of(const Execution& pending) noexcept {
  return &pending;
}
template <class Pending>
const Execution* execution_of(const Pending& /*pending*/) noexcept {
  return nullptr;
}

}  // namespace

/// Others may have to go on before what is awaited here can come.
void Progress::help_others(Duration now) {
  if (!hook_.is_due(now)) return;
  try {
    options_.progress();
  } catch (...) {
    failures_.fail_as_caught();
  }
  hook_.end_call(now, transport_.now());
}

/// Tells the other ranks what is waited for: in this call first, if it is one.
void Progress::tell_waits(const Execution* first, bool blocks, Duration now) noexcept {
  if (now < next_word_) return;
  next_word_ = now + kWords;
  std::array<CallWait, CallCounter::kMostWaits> waits{};
  std::size_t count = 0;
  if (first != nullptr && !first->is_held()) waits[count++] = first->wait(now);
  for (auto held = in_use_.rbegin(); held != in_use_.rend() && count < waits.size(); ++held)
    if (!held->execution.done() && &held->execution != first)
      waits[count++] = held->execution.wait(now);
  calls_.wait(std::span{waits}.first(count), blocks);
  has_told_waits_ = true;
}

/// What those wait for that have not started.
const Execution* Progress::oldest_started() const noexcept {
  const std::uint64_t oldest = oldest_pending().sequence;
  for (const CachedExecution& held : in_use_)
    if (!held.execution.done() && held.execution.is_ordered() &&
        held.execution.sequence() == oldest)
      return &held.execution;
  return nullptr;
}
/// A plan that runs, the one made first.
const Execution* Progress::oldest_plan() const noexcept {
  const Execution* oldest = nullptr;
  for (const CachedExecution& held : in_use_)
    if (!held.execution.done() && held.execution.plan() != 0 &&
        (oldest == nullptr || held.execution.plan() < oldest->plan()))
      oldest = &held.execution;
  return oldest;
}

/// A disagreement of which no message tells is noticed by who waits, long before the deadline.
void Progress::ask_awaited(Duration now) {
  if (now < next_question_) return;
  const Execution* oldest = oldest_started();
  if (oldest == nullptr) oldest = oldest_plan();
  if (oldest == nullptr) return;
  const CallWait wait = oldest->wait(now);
  if (wait.rank < 0 || wait.time < kPatience) return;
  next_question_ = now + std::min(wait.time, kLongestSilence);
  if (const auto error = failures_.blame().disagreement_with_awaited(wait)) failures_.fail(*error);
}

void Progress::check_deadlines(const Execution* first, bool blocks, Duration now) {
  tell_waits(first, blocks, now);
  for (auto held = in_use_.rbegin(); held != in_use_.rend(); ++held)
    if (!held->execution.done() && held->execution.is_late(now))
      failures_.fail(failures_.blame().lateness(held->execution, now));
  if (now < thorough_look_) return;
  thorough_look_ = now + kThoroughLooks;
  for (CachedExecution& held : held_)
    if (held.execution.is_late(now)) {
      const Execution* const oldest = oldest_started();
      failures_.fail(failures_.blame().lateness(oldest == nullptr ? held.execution : *oldest, now));
    }
  try {
    find_unmatched(true);
  } catch (...) {
    failures_.fail_as_caught();
  }
  ask_awaited(now);
}

/// One step of a test or wait for an operation that is pending. Now and then it looks at the clock,
/// for all operations: whoever is polled, none waits beyond its deadline unnoticed, and
/// CommunicatorOptions::progress is called. @param blocks whether the caller polls until it is
/// done. @return whether something moved.
template <class Pending>
bool Progress::poll_for(const Pending& pending, bool blocks) {
  const bool moved = poll() > 0;
  if (moved) hook_.end_idleness();
  if (!tasks_.empty()) {  // also what went on otherwise
    advance_tasks();
    if (!waiting_.empty()) failures_.attempt([this] { start_waiting(); });
  }
  if (polls_until_clock_ > 0) --polls_until_clock_;
  if (polls_until_clock_ == 0 && !pending.done()) {
    polls_until_clock_ = polls_per_clock_;
    const Duration now = transport_.now();
    check_deadlines(execution_of(pending), blocks, now);
    help_others(now);
  } else if (hook_.is_waited_for() && !pending.done()) {
    help_others(transport_.now());
  }
  // Where something above fails its word stands: others that fail just then still go by it, and
  // nobody asks later.
  if (pending.done()) end_told_waits();
  return moved;
}

/// A program may do other things between two tests, for long.
template <class Pending>
void Progress::test_for(const Pending& pending) {
  poll_for(pending, false);
  if (hook_.exists() && !pending.done()) help_others(transport_.now());
}

/// The program itself does not wait, so it is told as one that looks now and then.
bool Progress::step_for_progress() {
  struct AnyCompletion {
    [[nodiscard]] static bool done() noexcept { return false; }
  };
  const bool moved = poll_for(AnyCompletion{}, false);
  if (!has_anything_pending()) end_told_waits();
  return moved;
}

/// The other ranks are told no more of waits that are over.
void Progress::end_told_waits() noexcept {
  if (!std::exchange(has_told_waits_, false)) return;
  calls_.advance();
}

bool Progress::step(const Execution& execution) {
  check_started(execution.is_enlisted());
  return poll_for(execution, true);
}

bool Progress::step_awaited(const Execution& execution) {
  return poll_for(execution, true);
}

bool Progress::test(const Execution& execution) {
  check_started(execution.is_enlisted());
  if (!execution.done()) test_for(execution);
  if (execution.done()) end(execution);
  return execution.done();
}

bool Progress::test(const Task& task) {
  if (!task.done()) test_for(task);
  return task.done();
}

template <class Pending>
void Progress::wait_for(const Pending& pending) {
  const int spins = transport_.capabilities().idle_spins;
  for (Idleness idleness; !pending.done();) {
    if (poll_for(pending, true)) idleness.end();
    else if (idleness.advance(transport_, spins, hook_.exists())) wake();
  }
}

void Progress::wait(const Execution& execution) {
  check_started(execution.is_enlisted());
  wait_for(execution);
  end(execution);
}
void Progress::wait_until(const std::function<bool()>& condition) {
  struct ConditionHolds {
    [[nodiscard]] bool done() const { return condition(); }
    const std::function<bool()>& condition;
  };
  wait_for(ConditionHolds{condition});
}

}  // namespace tutti::v0::detail

#include "wait_monitor.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tutti::v0::detail {
namespace {

/// Time between two thorough looks for messages that no call receives. A look costs some system
/// calls.
constexpr Duration kThoroughLooks = std::chrono::milliseconds{100};
/// A collective that has waited for this long asks the awaited rank whether it is in the same call.
constexpr Duration kPatience = std::chrono::milliseconds{200};
/// The next question comes when the wait has doubled, or this long after the last one.
constexpr Duration kLongestSilence = std::chrono::seconds{10};
/// Time between two reports of waits. A rank that reads the report has itself waited for longer.
constexpr Duration kReports = std::chrono::milliseconds{2};

}  // namespace

/// Reports the call that the program waits for before the others.
void WaitMonitor::report(const Execution* first, bool blocks, Duration now) noexcept {
  if (now < next_report_) return;
  next_report_ = now + kReports;
  std::array<CallWait, CallCounter::kMostWaits> waits{};
  std::size_t count = 0;
  if (first != nullptr && !first->is_queued()) waits[count++] = first->wait(now);
  const ActiveCalls::List& calls = active_.in_use();
  for (auto cached = calls.rbegin(); cached != calls.rend() && count < waits.size(); ++cached)
    if (!cached->execution.done() && &cached->execution != first)
      waits[count++] = cached->execution.wait(now);
  calls_.wait(std::span{waits}.first(count), blocks);
  has_reported_ = true;
}

void WaitMonitor::end_reports() noexcept {
  if (std::exchange(has_reported_, false)) calls_.advance();
}

void WaitMonitor::end_wait(Duration now) noexcept {
  if (!has_reported_) return;
  next_report_ = now;
  report(nullptr, false, now);
}

/// Finds a disagreement that no message shows, long before the deadline.
void WaitMonitor::ask_awaited(Duration now) {
  if (now < next_question_) return;
  const Execution* oldest = active_.oldest_started();
  if (oldest == nullptr) oldest = active_.oldest_plan();
  if (oldest == nullptr) return;
  const CallWait wait = oldest->wait(now);
  if (wait.rank < 0 || wait.time < kPatience) return;
  next_question_ = now + std::min(wait.time, kLongestSilence);
  if (const auto error = failures_.blame().disagreement_with_awaited(wait)) failures_.fail(*error);
}

/// Queued calls are checked less often, since they wait for calls that have started.
void WaitMonitor::look(const Execution* first, bool blocks, Duration now) {
  if (blocks) failures_.check_interrupt();
  report(first, blocks, now);
  ActiveCalls::List& calls = active_.in_use();
  for (auto cached = calls.rbegin(); cached != calls.rend(); ++cached)
    if (!cached->execution.done() && cached->execution.is_late(now))
      failures_.fail(failures_.blame().lateness(cached->execution, now));
  if (now < thorough_look_) return;
  thorough_look_ = now + kThoroughLooks;
  for (ActiveCalls::CachedExecution& cached : active_.queued())
    if (cached.execution.is_late(now)) {
      const Execution* const oldest = active_.oldest_started();
      failures_.fail(
          failures_.blame().lateness(oldest == nullptr ? cached.execution : *oldest, now));
    }
  try {
    unmatched_.look(true);
  } catch (...) {
    failures_.fail_as_caught();
  }
  ask_awaited(now);
}

}  // namespace tutti::v0::detail

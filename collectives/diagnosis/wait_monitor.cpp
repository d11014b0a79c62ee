#include "wait_monitor.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tutti::v0::detail {
namespace {

/// From one thorough look for messages that nobody receives to the next. It costs some system
/// calls.
constexpr Duration kThoroughLooks = std::chrono::milliseconds{100};
/// A collective to which nothing came for this long asks the rank it waits for whether it is in the
/// same call.
constexpr Duration kPatience = std::chrono::milliseconds{200};
/// Each next question comes when the wait has doubled, and this long after the last one at most.
constexpr Duration kLongestSilence = std::chrono::seconds{10};
/// From one report of waits to the next. Ranks that wait in vain ask for it, and they have waited
/// for longer than that.
constexpr Duration kReports = std::chrono::milliseconds{2};

}  // namespace

/// The call at hand first, if it is one.
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

/// So a disagreement that no message shows is found long before the deadline.
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

/// Calls that wait for their start are looked at less often: they wait for what has started.
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

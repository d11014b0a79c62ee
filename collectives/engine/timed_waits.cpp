// Waits that end after a time without a failure, and the text of a rank's waits.
#include <algorithm>
#include <thread>

#include <tutti/attempt.hpp>

#include "engine.hpp"

namespace tutti::v0 {
namespace {

/// Polls between two reads of the clock.
constexpr int kPollsPerClock = 16;
/// The sleep between two tests of a call on a stream, whose end wakes no thread.
constexpr std::chrono::microseconds kPause{50};

/// Makes progress until a condition is met, or for a time at most.
template <class IsMet>
void wait_at_most(detail::Engine& engine, Duration time, const IsMet& is_met) {
  const Transport& transport = engine.transport();
  const Duration end = deadline_after(transport.now(), time);
  int polls = 0;
  engine.progress().wait_until(
      [&] { return is_met() || (++polls % kPollsPerClock == 0 && transport.now() >= end); });
}

/// @param test returns whether the call has ended. @return whether it has ended within the time.
template <class Test>
bool wait_for_streamed(Duration time, const Test& test) {
  const auto now = [] { return std::chrono::steady_clock::now().time_since_epoch(); };
  const Duration end = deadline_after(now(), time);
  while (!test()) {
    if (now() >= end) return false;
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

}  // namespace

bool Request::wait_for(Duration time) {
  if (streamed_ != nullptr) return wait_for_streamed(time, [this] { return test(); });
  if (test()) return true;
  detail::Execution& execution = *execution_;
  {
    const std::shared_ptr<detail::Engine> engine = engine_;
    const detail::CallGuard use{engine};
    wait_at_most(*engine, time, [&] { return execution.done(); });
    if (execution.is_dropped()) return true;  // by an operator, with this handle
  }
  return test();
}

bool Plan::wait_for(Duration time) {
  if (streamed_ != nullptr) return wait_for_streamed(time, [this] { return test(); });
  if (test()) return true;
  {
    const detail::CallGuard use{engine_};
    wait_at_most(*engine_, time, [this] { return execution_->done(); });
  }
  return test();
}

std::string Communicator::waits() const {
  std::string lines;
  if (engine_ == nullptr) return lines;
  for (const CallStatus::Wait& wait : engine_->call_status().waits) {
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(wait.time);
    lines += wait.call;
    if (wait.rank >= 0) lines += " waits for rank " + std::to_string(wait.rank);
    lines += ", since " + std::to_string(milliseconds.count()) + " ms\n";
  }
  return lines;
}

}  // namespace tutti::v0

// How operations come to their end while somebody waits.
#include "engine.hpp"
#include "idleness.hpp"
#include "objects.hpp"

namespace tutti::detail {
namespace {

/// From one thorough look for messages that nobody receives to the next. It costs some system
/// calls.
constexpr Duration kThoroughLooks = std::chrono::milliseconds{100};

void refuse_enlisted(const Execution& execution) {
  if (execution.is_enlisted())
    throw Error{ErrorCode::invalid_argument,
                "the call is of a batch that has not started yet; wait for it after the batch"};
}

}  // namespace

void Engine::check_deadlines() {
  const Duration now = transport_->now();
  for (Held& held : in_use_)
    if (!held.execution.done() && held.execution.is_late(now))
      fail(witnesses().lateness(held.execution));
  if (now < thorough_look_) return;
  thorough_look_ = now + kThoroughLooks;
  try {
    find_strays(true);
  } catch (...) {
    fail_as_caught();
  }
}

/// One step of a test or wait for an operation that is pending. Now and then it looks at the clock,
/// for all operations: whoever is polled, none waits beyond its deadline unnoticed.
/// @return whether something moved.
template <class Pending>
bool Engine::poll_for(const Pending& pending) {
  const bool moved = progress() > 0;
  if (!objects_.empty()) advance_objects();  // also what went on otherwise
  if (polls_until_clock_ > 0) --polls_until_clock_;
  if (polls_until_clock_ == 0 && !pending.done()) {
    polls_until_clock_ = polls_per_clock_;
    check_deadlines();
  }
  return moved;
}

template bool Engine::poll_for(const Execution& pending);  // for those that wait elsewhere

bool Engine::test(const Execution& execution) {
  refuse_enlisted(execution);
  if (!execution.done()) poll_for(execution);
  return execution.done();
}

bool Engine::test(const ObjectOperation& operation) {
  if (!operation.done()) poll_for(operation);
  return operation.done();
}

template <class Pending>
void Engine::wait_for(const Pending& pending) {
  const int spins = transport_->capabilities().idle_spins;
  for (Idleness idleness; !pending.done();) {
    if (poll_for(pending)) idleness.end();
    else idleness.go_on(*transport_, spins);
  }
}

void Engine::wait(const Execution& execution) {
  refuse_enlisted(execution);
  wait_for(execution);
}
void Engine::wait(const ObjectOperation& operation) {
  wait_for(operation);
}
void Engine::wait(const ObjectArrivals& arrivals) {
  wait_for(arrivals);
}
void Engine::wait_to_decode(const ObjectOperation& operation) {
  struct Begun {
    [[nodiscard]] bool done() const noexcept { return operation.done() || operation.is_arriving(); }
    const ObjectOperation& operation;
  };
  wait_for(Begun{operation});
}

}  // namespace tutti::detail

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

/// Others may have to go on before what is awaited here can come.
void Engine::help_others(Duration now) {
  if (!hook_.is_due(now)) return;
  try {
    options_.progress();
  } catch (...) {
    fail_as_caught();
  }
  hook_.end_call(transport_->now());
}

void Engine::check_deadlines(Duration now) {
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
/// for all operations: whoever is polled, none waits beyond its deadline unnoticed, and others than
/// tutti have their turn.
/// @return whether something moved.
template <class Pending>
bool Engine::poll_for(const Pending& pending) {
  const bool moved = progress() > 0;
  if (moved) hook_.end_idleness();
  if (!objects_.empty()) advance_objects();  // also what went on otherwise
  if (polls_until_clock_ > 0) --polls_until_clock_;
  if (polls_until_clock_ == 0 && !pending.done()) {
    polls_until_clock_ = polls_per_clock_;
    const Duration now = transport_->now();
    check_deadlines(now);
    help_others(now);
  }
  return moved;
}

template bool Engine::poll_for(const Execution& pending);  // for those that wait elsewhere

/// A program may do other things between two tests, for long.
template <class Pending>
void Engine::test_for(const Pending& pending) {
  poll_for(pending);
  if (hook_.exists() && !pending.done()) help_others(transport_->now());
}

bool Engine::test(const Execution& execution) {
  refuse_enlisted(execution);
  if (!execution.done()) test_for(execution);
  return execution.done();
}

bool Engine::test(const ObjectOperation& operation) {
  if (!operation.done()) test_for(operation);
  return operation.done();
}

template <class Pending>
void Engine::wait_for(const Pending& pending) {
  const int spins = transport_->capabilities().idle_spins;
  for (Idleness idleness; !pending.done();) {
    if (poll_for(pending)) idleness.end();
    else if (idleness.go_on(*transport_, spins)) wake();
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

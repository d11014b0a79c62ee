// Calls that start together.
#include <algorithm>

#include "engine.hpp"

namespace tutti::v0::detail {

void Engine::enlist(Execution& execution, const void* in, void* out, const Enlistment& how) {
  failures_.check();
  check_start(execution, in, out);
  enlisted_.push_back({&execution, in, out, how});
  execution.set_enlisted(true);
}

void Engine::strike(Execution& execution) noexcept {
  std::erase_if(enlisted_, [&](const Enlisted& call) { return call.execution == &execution; });
  execution.set_enlisted(false);
}

void Engine::start_enlisted() {
  for (const Enlisted& call : enlisted_) {
    call.execution->set_enlisted(false);
    if (call.how.blocks) awaited_.push_back(call.execution);
  }
  try {
    outbox_.gather();
    for (const Enlisted& call : enlisted_)
      start(*call.execution, call.in, call.out, call.how.timeout);
    outbox_.flush();
  } catch (...) {
    outbox_.drop();
    enlisted_.clear();
    failures_.fail_as_caught();
  }
  enlisted_.clear();
  if (streamed_) streamed_->start_enlisted();
}

bool Engine::has_awaited() const noexcept {
  return !failures_.has_failed() && std::ranges::any_of(awaited_, [](const Execution* execution) {
    return !execution->done();
  });
}

bool Engine::step_awaited() {
  const auto pending =
      std::ranges::find_if(awaited_, [](const Execution* execution) { return !execution->done(); });
  return pending != awaited_.end() && progress_.step_awaited(**pending);
}

void Engine::wait_awaited() {
  for (const Execution* execution : awaited_) progress_.wait(*execution);
}

void Engine::end_batch() noexcept {
  for (const Enlisted& call : enlisted_) {
    call.execution->set_enlisted(false);
    if (call.how.blocks) release(call.execution);
  }
  enlisted_.clear();
  for (Execution* execution : awaited_) release(execution);
  awaited_.clear();
  if (streamed_) streamed_->end_batch();
}

}  // namespace tutti::v0::detail

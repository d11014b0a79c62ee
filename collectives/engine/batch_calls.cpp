#include "batch_calls.hpp"

#include <algorithm>

namespace tutti::v0::detail {

void BatchCalls::add(Execution& execution, const void* in, void* out, const Enlistment& how) {
  calls_.check_start(execution, in, out);
  enlisted_.push_back({&execution, in, out, how});
  execution.set_enlisted(true);
}

void BatchCalls::remove(Execution& execution) noexcept {
  if (!execution.is_enlisted()) return;
  std::erase_if(enlisted_, [&](const Enlisted& call) { return call.execution == &execution; });
  execution.set_enlisted(false);
}

void BatchCalls::start() {
  for (const Enlisted& call : enlisted_) {
    call.execution->set_enlisted(false);
    if (call.how.blocks) awaited_.push_back(call.execution);
  }
  Outbox& outbox = calls_.binder().outbox();
  try {
    outbox.gather();
    for (const Enlisted& call : enlisted_)
      calls_.start(*call.execution, call.in, call.out, call.how.timeout);
    outbox.flush();
  } catch (...) {
    outbox.drop();
    enlisted_.clear();
    calls_.diagnosis().failures().fail_as_caught();
  }
  enlisted_.clear();
}

bool BatchCalls::has_awaited() const noexcept {
  return !calls_.diagnosis().failures().has_failed() &&
         std::ranges::any_of(awaited_,
                             [](const Execution* execution) { return !execution->done(); });
}

bool BatchCalls::step_awaited() {
  const auto pending =
      std::ranges::find_if(awaited_, [](const Execution* execution) { return !execution->done(); });
  return pending != awaited_.end() && calls_.progress().step(**pending);
}

void BatchCalls::wait_awaited() {
  for (const Execution* execution : awaited_) calls_.progress().wait(*execution);
}

void BatchCalls::end() noexcept {
  for (const Enlisted& call : enlisted_) {
    call.execution->set_enlisted(false);
    if (call.how.blocks) calls_.release(call.execution);
  }
  enlisted_.clear();
  for (Execution* execution : awaited_) calls_.release(execution);
  awaited_.clear();
}

}  // namespace tutti::v0::detail

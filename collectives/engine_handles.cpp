// How handles end: of calls that are done, and of pending ones, by whatever thread.
#include <algorithm>

#include "engine.hpp"

namespace tutti::v0::detail {

void Engine::release(Execution* execution) noexcept {
  if (execution->is_enlisted()) strike(*execution);
  if (execution->is_held()) return give_up(execution->state());
  const auto found = Progress::find(progress_.in_use(), *execution);
  if (found == progress_.in_use().end()) return;
  if (!execution->done()) {
    // Peers may still write into its memory if abort could not stop them, so it stays with us.
    return give_up(execution->state());
  }
  if (execution->plan() != 0) progress_.end_plan(*execution);
  execution->rest();
  cache_.take_back(progress_.in_use(), found);
}

void Engine::give_up(const std::string& what) noexcept {
  failures_.give_up(what);
}

void Engine::drop(Execution* execution) noexcept {
  if (!enter_when_free()) {
    execution->set_dropped(true);
    has_dropped_ = true;
    return;
  }
  release(execution);
  leave();
}

void Engine::drop(std::shared_ptr<Task> task) noexcept {
  if (!enter_when_free()) {
    task->set_dropped();
    has_dropped_ = true;
    return;
  }
  if (!task->done()) task->drop_pending();
  task.reset();  // it gives memory back
  leave();
}

void Engine::release_dropped() noexcept {
  has_dropped_ = false;
  for (const auto& task : progress_.tasks())
    if (task->is_dropped() && !task->done()) task->drop_pending();
  for (CachedExecution& held : progress_.held())
    if (held.execution.is_dropped()) give_up(held.execution.state());
  for (auto held = progress_.in_use().begin(); held != progress_.in_use().end();) {
    Execution& execution = (held++)->execution;
    if (!execution.is_dropped()) continue;
    execution.set_dropped(false);
    release(&execution);
  }
}

}  // namespace tutti::v0::detail

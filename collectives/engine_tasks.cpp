// Turns that are kept for later, and the tasks that need them.
#include <algorithm>
#include <utility>

#include "engine.hpp"

namespace tutti::inline v0::detail {

Execution::Turn Engine::keep_turn() {
  return order_.keep();
}

void Engine::start_later(Execution& execution, const void* in, void* out, Duration timeout,
                         Execution::Turn turn) {
  failures_.check();
  give_up_turn(turn);
  try {
    calls_->note(turn.sequence + 1, execution.binding().fingerprint);
    execution.start({in, out}, turn, timeout);
  } catch (...) {
    failures_.fail_as_caught();
  }
}

void Engine::start(const std::shared_ptr<Task>& task) {
  try {
    task->prepare();
    order_.prepare_to_keep();
    tasks_.push_back(task);
    if (task->places() > 0 && !has_room(task->places())) {
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

bool Engine::is_next(const Task& task) const noexcept {
  const auto messages = task.receives();
  for (const auto& other : tasks_) {
    if (other.get() == &task) break;
    if (messages && other->receives() == messages) return false;
  }
  return true;
}

void Engine::advance_tasks() {
  try {
    for (const auto& task : tasks_) task->advance();
  } catch (...) {
    failures_.fail_as_caught();
  }
  std::erase_if(tasks_, [](const auto& task) { return task->done(); });
}

}  // namespace tutti::inline v0::detail

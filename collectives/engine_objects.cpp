// Turns that are kept for later, and the object collectives that need them.
#include "engine.hpp"
#include "objects.hpp"

namespace tutti::detail {

Execution::Turn Engine::keep_turn() {
  kept_.push_back(sequence_);
  return take_turn();
}

void Engine::start_later(Execution& execution, const void* in, void* out, Duration timeout,
                         Execution::Turn turn) {
  if (failure_) complain();
  give_up_turn(turn);
  try {
    // Who has begun a later call since is asked for that one.
    if (calls_ && turn.sequence + 1 == sequence_)
      calls_->begin(sequence_, execution.binding().summary);
    execution.start({in, out}, turn, timeout);
  } catch (...) {
    fail_as_caught();
  }
}

void Engine::start(const std::shared_ptr<ObjectOperation>& operation) {
  try {
    operation->prepare();
    check_window(operation->places());
    kept_.reserve(kept_.size() + 1);
    objects_.push_back(operation);
  } catch (...) {
    operation->drop();
    throw;
  }
  operation->start();
  advance_objects();
}

void Engine::advance_objects() {
  try {
    for (const auto& operation : objects_) operation->advance();
  } catch (...) {
    fail_as_caught();
  }
  std::erase_if(objects_, [](const auto& operation) { return operation->done(); });
}

}  // namespace tutti::detail

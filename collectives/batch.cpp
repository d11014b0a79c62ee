#include <tutti/batch.hpp>

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "engine.hpp"
#include "idleness.hpp"

namespace tutti::inline v0::detail {
namespace {

/// See BatchScope. Null, or an object on this thread's stack.
thread_local BatchScope* gathering = nullptr;

/// The first exception of several communicators, each of which goes on without the others.
class FirstError {
 public:
  template <class Action>
  void attempt(const Action& action) {
    try {
      action();
    } catch (...) {
      if (!error_) error_ = std::current_exception();
    }
  }
  void raise() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::exception_ptr error_{};
};

/// Waits for the calls of several communicators, each of which is polled in turn. None is dozed
/// upon for longer than its transport's patience, since the others would not wake it.
void wait_for_all(Engine* first, FirstError& errors) {
  Idleness idleness;
  for (bool is_over = false; !is_over;) {
    is_over = true;
    bool moved = false;
    Engine* waiting = nullptr;
    for (Engine* engine = first; engine != nullptr; engine = engine->next_in_batch.get())
      errors.attempt([&] {
        if (!engine->has_awaited()) return;
        is_over = false;
        waiting = engine;
        moved = engine->step_awaited() || moved;
      });
    if (is_over) return;
    Transport& transport = waiting->transport();
    if (moved) idleness.end();
    else if (idleness.go_on(transport, transport.capabilities().idle_spins))
      waiting->progress().wake();
  }
}

}  // namespace

BatchScope::BatchScope() {
  refuse("another batch");
  gathering = this;
}

BatchScope::~BatchScope() {
  if (gathering == this) gathering = nullptr;
  if (!is_running_) enter();
  while (first_ != nullptr) {
    const std::shared_ptr<Engine> engine = std::move(first_);
    first_ = std::exchange(engine->next_in_batch, nullptr);
    engine->end_batch();
    engine->let_go();
    engine->leave();
  }
}

BatchScope* BatchScope::current() noexcept {
  return gathering;
}

void BatchScope::refuse(std::string_view what) {
  if (gathering != nullptr)
    throw Error{ErrorCode::invalid_argument,
                std::string{what} + " cannot be within a batch, whose calls have not started yet"};
}

void BatchScope::add(const std::shared_ptr<Engine>& engine) noexcept {
  if (engine->next_in_batch != nullptr || engine.get() == last_) return;
  if (last_ == nullptr) first_ = engine;
  else last_->next_in_batch = engine;
  last_ = engine.get();
  last_->keep();
}

/// That succeeds, since the engines are kept for this thread.
void BatchScope::enter() {
  for (Engine* engine = first_.get(); engine != nullptr; engine = engine->next_in_batch.get())
    engine->enter();
}

void BatchScope::run() {
  gathering = nullptr;
  enter();
  is_running_ = true;
  FirstError errors;
  for (Engine* engine = first_.get(); engine != nullptr; engine = engine->next_in_batch.get())
    errors.attempt([engine] { engine->start_enlisted(); });
  if (first_ != nullptr && first_.get() == last_)
    errors.attempt([this] { first_->wait_awaited(); });
  else wait_for_all(first_.get(), errors);
  for (Engine* engine = first_.get(); engine != nullptr; engine = engine->next_in_batch.get())
    errors.attempt([engine] { engine->wait_awaited_streamed(); });
  errors.raise();
}

}  // namespace tutti::inline v0::detail

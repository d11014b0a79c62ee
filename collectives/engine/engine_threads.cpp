// Threads in an engine: callers, the progress thread, and threads that destroy handles.
#include <thread>
#include <utility>

#include <tutti/attempt.hpp>
#include <tutti/spi/service_thread.hpp>

#include "engine.hpp"

namespace tutti::v0::detail {
namespace {

constexpr Occupancy::Words kCommunicatorWords{
    .object = "the communicator",
    .callbacks = "an operator or a Codec",
    .instead = "; call another one there, such as a group of the same ranks",
    .otherwise = ", or give each thread one of its own, such as a group of the same ranks"};

/// Counts a thread while it wants to enter.
class Caller {
 public:
  explicit Caller(std::atomic<int>& callers) noexcept : callers_{callers} { ++callers_; }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;
  ~Caller() { --callers_; }

 private:
  std::atomic<int>& callers_;
};

}  // namespace

Engine::~Engine() {
  if (shared_thread_ && !shared_thread_->is_forked()) shared_thread_->remove(*this);
  else if (shared_thread_)
    static_cast<void>(new auto(std::move(shared_thread_)));  // the thread belongs to the parent
  progress_.end();
}

void Engine::start_progress_thread() {
  shared_thread_ = ProgressThread::of_process();
  transport_->expect_idle_waits();
  shared_thread_->add(*this);
  progress_thread_.store(shared_thread_.get(), std::memory_order_release);
}

void Engine::notify(Notice& notice, bool is_done, int eventfd, const char* function) {
  failures().check();
  failures().check_signal();
  if (eventfd >= 0 && !is_done && !shared_thread_) {
    check_threads(function);
    start_progress_thread();
  }
  notice.set(eventfd);
  has_notices_ = true;
}

/// Sends the notices of operations that have ended, or all if the communicator has failed.
void Engine::send_notices() noexcept {
  has_notices_ = false;
  const auto send = [this](Notice& notice, bool is_done) {
    if (is_done || failures().has_failed()) notice.send();
    has_notices_ = has_notices_ || notice.is_set();
  };
  for (const auto& task : progress_.tasks()) send(task->notice(), task->done());
  for (ActiveCalls::List* const list : {&progress_.active().in_use(), &progress_.active().queued()})
    for (ActiveCalls::CachedExecution& cached : *list)
      send(cached.execution.notice(), cached.execution.done());
}

/// The progress thread leaves after a poll, or as soon as it is woken.
void Engine::enter_after_progress() {
  const Caller caller{callers_};
  for (;;) {
    if (occupancy_.try_enter()) return;
    if (const ProgressThread* thread = progress_thread_) thread->check_process();
    if (!occupancy_.is_for_progress_of_another()) {
      if (occupancy_.try_enter()) return;  // it has just left
      if (!occupancy_.is_for_progress_of_another()) occupancy_.reject(kCommunicatorWords);
    }
    transport_->end_idle_wait();
    std::this_thread::yield();
  }
}

/// As Occupancy::enter_when_free.
bool Engine::enter_when_free() noexcept {
  const Caller caller{callers_};
  const ProgressThread* const thread = progress_thread_;
  const bool is_forked = failures().is_forked() || (thread != nullptr && thread->is_forked());
  if (thread != nullptr && !is_forked) transport_->end_idle_wait();
  return occupancy_.enter_when_free(is_forked);
}

Engine::Advance Engine::advance(bool may_wait_idle) noexcept {
  if (callers_ > 0 || failures().is_forked() || !occupancy_.try_enter_for_progress())
    return Advance::none;
  Advance advance =
      wants_progress() && progress_.has_anything_pending() ? Advance::pending : Advance::none;
  if (advance == Advance::pending) {
    try {
      if (progress_.step_for_progress()) advance = Advance::moved;
      else if (may_wait_idle && callers_ == 0) transport_->idle_wait();
    } catch (...) {  // the communicator has failed: its next call throws the error
    }
  }
  if (has_dropped_) release_dropped();
  if (has_notices_) send_notices();
  const bool is_abandoned = std::exchange(is_abandoned_, false);
  occupancy_.leave();
  // The destructor waits until the progress thread has left, so another thread has to run it. If
  // none can be started, the engine is never deleted.
  if (is_abandoned)
    static_cast<void>(attempt([this] { start_thread([this] { delete this; }).detach(); }));
  return advance;
}

void Engine::release(Execution& execution) noexcept {
  batch_.remove(execution);
  calls_.release(&execution);
}

void Engine::drop(Execution* execution) noexcept {
  if (!enter_when_free()) {
    execution->set_dropped(true);
    has_dropped_ = true;
    return;
  }
  release(*execution);
  leave();
}

void Engine::drop(std::shared_ptr<Task> task) noexcept {
  if (!enter_when_free()) {
    task->set_dropped();
    has_dropped_ = true;
    return;
  }
  if (!task->done()) task->drop_pending();
  task->notice().send();
  task.reset();  // gives memory back to the engine
  leave();
}

void Engine::release_dropped() noexcept {
  has_dropped_ = false;
  for (const auto& task : progress_.tasks())
    if (task->is_dropped() && !task->done()) {
      task->drop_pending();
      task->notice().send();
    }
  for (ActiveCalls::CachedExecution& cached : progress_.active().queued())
    if (cached.execution.is_dropped()) failures().give_up(cached.execution.state());
  ActiveCalls::List& in_use = progress_.active().in_use();
  for (auto cached = in_use.begin(); cached != in_use.end();) {
    Execution& execution = (cached++)->execution;
    if (!execution.is_dropped()) continue;
    execution.set_dropped(false);
    release(execution);
  }
}

}  // namespace tutti::v0::detail

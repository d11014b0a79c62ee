#include "progress_thread.hpp"

#include <algorithm>
#include <chrono>

#include <tutti/spi/service_thread.hpp>

#include "engine.hpp"

namespace tutti::v0::detail {
namespace {

/// Empty polls before the thread sleeps. An answer that is already on its way arrives within them.
constexpr int kPolls = 20;
/// The sleep if several communicators have something pending: a sleep in the transport of one of
/// them would not end for a message of another.
constexpr std::chrono::microseconds kShortSleep{50};

}  // namespace

std::shared_ptr<ProgressThread> ProgressThread::of_process() {
  static std::mutex mutex;
  static std::weak_ptr<ProgressThread> current;
  const std::lock_guard lock{mutex};
  std::shared_ptr<ProgressThread> found = current.lock();
  if (found == nullptr || found->is_forked()) {
    found = std::make_shared<ProgressThread>();
    current = found;
  }
  return found;
}

ProgressThread::ProgressThread()
    : thread_{start_service_thread("tutti-progress", [this] { run(); })} {}

ProgressThread::~ProgressThread() {
  if (is_forked()) {
    thread_.detach();
    return;
  }
  is_over_.store(true, std::memory_order_release);
  wake();
  thread_.join();
}

void ProgressThread::add(Engine& engine) {
  auto slot = std::make_shared<Slot>();
  slot->engine = &engine;
  const std::lock_guard lock{mutex_};
  slots_.push_back(std::move(slot));
  ++version_;
}

void ProgressThread::remove(Engine& engine) noexcept {
  std::shared_ptr<Slot> slot;
  {
    const std::lock_guard lock{mutex_};
    const auto found = std::ranges::find(slots_, &engine, [](const auto& s) { return s->engine; });
    if (found == slots_.end()) return;
    slot = std::move(*found);
    slots_.erase(found);
    ++version_;
  }
  while (!slot->mutex.try_lock()) {
    engine.transport().end_idle_wait();
    std::this_thread::yield();
  }
  slot->engine = nullptr;
  slot->mutex.unlock();
}

void ProgressThread::refresh() {
  const std::lock_guard lock{mutex_};
  if (seen_version_ == version_) return;
  seen_ = slots_;
  seen_version_ = version_;
}

ProgressThread::Round ProgressThread::go_round(bool may_wait_idle) {
  Round round;
  for (const auto& slot : seen_) {
    const std::lock_guard lock{slot->mutex};
    if (slot->engine == nullptr) continue;
    switch (slot->engine->advance(may_wait_idle)) {
      case Engine::Advance::none: break;
      case Engine::Advance::pending: ++round.pending; break;
      case Engine::Advance::moved:
        ++round.pending;
        round.moved = true;
        break;
    }
  }
  return round;
}

void ProgressThread::run() {
  int empty_polls = 0;
  int pending = 0;
  while (!is_over_.load(std::memory_order_acquire)) {
    const std::uint32_t seen = signal_.load(std::memory_order_acquire);
    refresh();
    const Round round = go_round(empty_polls > kPolls && pending == 1);
    pending = round.pending;
    if (round.moved || pending == 0) empty_polls = 0;
    else ++empty_polls;
    if (pending == 0) signal_.wait(seen, std::memory_order_acquire);
    else if (empty_polls > kPolls && pending > 1) std::this_thread::sleep_for(kShortSleep);
  }
}

}  // namespace tutti::v0::detail

#include "stage_thread.hpp"

#include <utility>

namespace tutti::inline v0::detail {

void StageBell::ring() {
  const std::lock_guard lock{mutex_};
  ++count_;
  rung_.notify_one();
}

std::uint64_t StageBell::count() {
  const std::lock_guard lock{mutex_};
  return count_;
}

void StageBell::wait(std::uint64_t seen, Duration longest) {
  std::unique_lock lock{mutex_};
  rung_.wait_for(lock, longest, [&] { return count_ != seen; });
}

StageThread::StageThread(Function function, StageBell& bell)
    : function_{std::move(function)}, bell_{&bell}, thread_{[this] { work(); }} {}

StageThread::~StageThread() {
  {
    const std::lock_guard lock{mutex_};
    phase_ = Phase::stopped;
    asked_.notify_one();
  }
  thread_.join();
}

void StageThread::start(std::size_t slot, std::uint64_t item) {
  const std::lock_guard lock{mutex_};
  slot_ = slot;
  item_ = item;
  phase_ = Phase::asked;
  asked_.notify_one();
}

bool StageThread::is_finished() {
  // The thread may have lost its processor within the lock. It rings after it.
  const std::unique_lock lock{mutex_, std::try_to_lock};
  if (!lock || phase_ != Phase::done) return false;
  phase_ = Phase::idle;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  return true;
}

void StageThread::work() {
  while (true) {
    std::unique_lock lock{mutex_};
    asked_.wait(lock, [&] { return phase_ == Phase::asked || phase_ == Phase::stopped; });
    if (phase_ == Phase::stopped) return;
    const std::size_t slot = slot_;
    const std::uint64_t item = item_;
    lock.unlock();
    std::exception_ptr error;
    try {
      function_(slot, item);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (phase_ == Phase::stopped) return;
    error_ = std::move(error);
    phase_ = Phase::done;
    lock.unlock();
    bell_->ring();
  }
}

}  // namespace tutti::inline v0::detail

/// @file
/// Threads for stages of a Pipeline that block.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include <tutti/spi/service_thread.hpp>
#include <tutti/types.hpp>

namespace tutti::v0::detail {

/// Wakes one thread that waits for others.
class StageBell {
 public:
  /// Wakes the thread that waits, or lets its next wait return at once.
  void ring() {
    const std::lock_guard lock{mutex_};
    is_rung_ = true;
    rung_.notify_one();
  }
  /// Waits for a ring since the last wait. @param longest the most time to wait.
  void wait(Duration longest) {
    std::unique_lock lock{mutex_};
    rung_.wait_for(lock, longest, [&] { return is_rung_; });
    is_rung_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable rung_;
  bool is_rung_ = false;
};

/// A thread that calls a function for one item after the other. The destructor waits for its end.
class StageThread {
 public:
  using Function = std::function<void(std::size_t slot, std::uint64_t item)>;
  /// @param bell is rung after each call. Throws as start_thread.
  StageThread(Function function, StageBell& bell)
      : function_{std::move(function)}, bell_{&bell}, thread_{start_thread([this] { work(); })} {}
  StageThread(const StageThread&) = delete;
  StageThread& operator=(const StageThread&) = delete;
  ~StageThread() {
    go_to(Phase::stopped);
    thread_.join();
  }
  /// Starts an item. is_finished() must have returned true, or thrown, for the item before.
  void start(std::size_t slot, std::uint64_t item) {
    slot_ = slot;
    item_ = item;
    go_to(Phase::asked);
  }
  /// Does not block. Throws the exception of the function. @return whether the function has
  /// returned since start(); true only once.
  bool is_finished() {
    if (phase_ != Phase::done) return false;
    phase_ = Phase::idle;
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    return true;
  }

 private:
  enum class Phase { idle, asked, done, stopped };
  void go_to(Phase phase) {
    phase_ = phase;
    phase_.notify_one();
  }
  void work() {
    for (Phase phase = phase_; phase != Phase::stopped; phase = phase_) {
      if (phase != Phase::asked) {
        phase_.wait(phase);
        continue;
      }
      try {
        function_(slot_, item_);
      } catch (...) {
        error_ = std::current_exception();
      }
      if (phase_.compare_exchange_strong(phase, Phase::done)) bell_->ring();
    }
  }

  Function function_;
  StageBell* bell_;
  std::atomic<Phase> phase_ = Phase::idle;
  std::size_t slot_ = 0;  // used by the thread while it is asked, as are the next two
  std::uint64_t item_ = 0;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace tutti::v0::detail

/// @file
/// Threads on which stages of a Pipeline block.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include <tutti/types.hpp>

namespace tutti::inline v0::detail {

/// Wakes one thread that waits for others.
class StageBell {
 public:
  /// Something has happened.
  void ring();
  /// @return how often it was rung.
  [[nodiscard]] std::uint64_t count();
  /// Waits until it has been rung more often. @param seen what count returned. @param longest when
  /// to return at the latest.
  void wait(std::uint64_t seen, Duration longest);

 private:
  std::mutex mutex_;
  std::condition_variable rung_;
  std::uint64_t count_ = 0;
};

/// A thread that calls a function for one item after the other. The destructor waits for its end.
class StageThread {
 public:
  using Function = std::function<void(std::size_t slot, std::uint64_t item)>;
  /// @param function what to call. @param bell is rung after each call.
  StageThread(Function function, StageBell& bell);
  StageThread(const StageThread&) = delete;
  StageThread& operator=(const StageThread&) = delete;
  ~StageThread();
  /// Begins with an item; the one before has been found to be finished.
  void start(std::size_t slot, std::uint64_t item);
  /// Throws what the function threw. Does not block. @return whether it has returned and was found
  /// to have done so.
  bool is_finished();

 private:
  enum class Phase { idle, asked, done, stopped };
  void work();

  Function function_;
  StageBell* bell_;
  std::mutex mutex_;
  std::condition_variable asked_;
  Phase phase_ = Phase::idle;
  std::size_t slot_ = 0;
  std::uint64_t item_ = 0;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace tutti::inline v0::detail

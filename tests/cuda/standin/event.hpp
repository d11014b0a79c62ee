/// @file
/// An event, and a point in a stream that it marks.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "tests/cuda/standin/context.hpp"

namespace tutti::standin {

/// A point in a stream, which is reached once.
class Mark {
 public:
  using Time = std::chrono::steady_clock::time_point;

  void reach();
  bool is_reached() const;
  /// Waits until it is reached. @return when that was.
  Time wait() const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool reached_ = false;
  Time time_{};
};

class Event {
 public:
  Event(Context& context, bool timed) : context_{context}, timed_{timed} {}

  Context& context() const noexcept { return context_; }
  bool is_timed() const noexcept { return timed_; }
  /// @return the last mark; null if the event was never recorded.
  std::shared_ptr<const Mark> last() const;
  /// Puts a new mark in the place of the last one.
  std::shared_ptr<Mark> renew();

 private:
  Context& context_;
  const bool timed_;
  mutable std::mutex mutex_;
  std::shared_ptr<Mark> last_;
};

}  // namespace tutti::standin

/// @file
/// An event, and a point in a stream that it marks.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>

#include "tests/cuda/standin/stream.hpp"

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

/// @return what reaches a mark, even in a context that has failed: else others wait forever.
Work work_that_reaches(std::shared_ptr<Mark> mark);
/// @return what waits for a mark.
Work work_that_waits_for(std::shared_ptr<const Mark> mark);

struct Capture;

/// A point in what a stream has recorded.
struct CapturedPoint {
  std::shared_ptr<Capture> capture;  ///< Null: none.
  std::set<std::size_t> tails;       ///< The nodes that come before the point.
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
  /// @return where it was recorded last, if that was in a recording of a stream.
  CapturedPoint captured() const;
  void set_captured(CapturedPoint point);

 private:
  Context& context_;
  const bool timed_;
  mutable std::mutex mutex_;
  std::shared_ptr<Mark> last_;
  CapturedPoint captured_;
};

}  // namespace tutti::standin

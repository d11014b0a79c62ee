/// @file
/// A hardware queue, which streams share.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace tutti::standin {

/// Runs the operations of streams in the order in which they are enqueued: a stream that waits
/// holds up all others of its queue.
class Queue {
 public:
  /// @return the place in the queue, for await.
  std::uint64_t enter() {
    const std::scoped_lock lock{mutex_};
    return entered_++;
  }
  /// Waits until all before a place have left.
  void await(std::uint64_t place) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return left_ == place; });
  }
  void leave() {
    const std::scoped_lock lock{mutex_};
    ++left_;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t entered_ = 0;
  std::uint64_t left_ = 0;
};

}  // namespace tutti::standin

/// @file
/// Locks that are waited for until a deadline.
#pragma once

#include <chrono>
#include <mutex>
#include <thread>

namespace tutti::v0 {

/// @return the lock; it owns nothing if another thread has the mutex until the deadline.
inline std::unique_lock<std::mutex> lock_by(std::mutex& mutex,
                                            std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock{mutex, std::try_to_lock};
  while (!lock && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
    static_cast<void>(lock.try_lock());
  }
  return lock;
}

}  // namespace tutti::v0

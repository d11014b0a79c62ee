/// @file
/// Processors of devices, which kernels that wait for other devices may occupy.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>

#include "tests/cuda/standin/stream.hpp"

namespace tutti::standin {

class Processors {
 public:
  void occupy(int device, bool all) {
    const std::scoped_lock lock{mutex_};
    if (all) full_.insert(device);
    else full_.erase(device);
    changed_.notify_all();
  }
  /// Waits until a kernel can run, or until its stream gives up.
  void await_room(int device, const Stream& on) {
    constexpr std::chrono::milliseconds kAgain{2};
    std::unique_lock lock{mutex_};
    while (full_.contains(device) && !on.is_in_vain()) changed_.wait_for(lock, kAgain);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<int> full_;
};

}  // namespace tutti::standin

/// @file
/// A mutex that its owner may try to lock.
#pragma once

#include <atomic>
#include <thread>

namespace tutti::dropin {

/// A mutex that is hardly ever contended. Unlike std::mutex it lets a thread that has it try to
/// lock it, which fails: the MPI may poll tutti's calls inside a call that tutti makes.
class TryMutex {
 public:
  [[nodiscard]] bool try_lock() noexcept { return !is_locked_.exchange(true); }
  void lock() noexcept {
    while (!try_lock()) std::this_thread::yield();
  }
  void unlock() noexcept { is_locked_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> is_locked_{false};
};

}  // namespace tutti::dropin

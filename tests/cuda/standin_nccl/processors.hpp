/// @file
/// Processors of devices, which a kernel of NCCL keeps while it waits for its peers.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>

#include "failure.hpp"
#include "mesh.hpp"
#include "tests/cuda/standin/hooks.hpp"

namespace tutti::nccl_standin {

/// Limits the kernels of NCCL that run at once on each device. While all run, other kernels of NCCL
/// and of programs wait.
class Processors {
 public:
  explicit Processors(int kernels) : kernels_{kernels} {}

  /// Waits until a kernel can run, or until its communicator is stopped. @return whether it can.
  bool begin(int device, const Mesh& mesh) {
    constexpr std::chrono::milliseconds kAgain{2};
    std::unique_lock lock{mutex_};
    while (running_[device] >= kernels_ && !mesh.is_stopped()) changed_.wait_for(lock, kAgain);
    if (mesh.is_stopped()) return false;
    tutti_standin_occupy(device, ++running_[device] == kernels_);
    return true;
  }
  void end(int device) {
    const std::scoped_lock lock{mutex_};
    --running_[device];
    tutti_standin_occupy(device, false);
    changed_.notify_all();
  }

 private:
  const int kernels_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int, int> running_;  ///< By device.
};

/// One kernel's share of a device.
class Occupation {
 public:
  Occupation(Processors& processors, int device, const Mesh& mesh)
      : processors_{processors}, device_{device}, has_begun_{processors.begin(device, mesh)} {}
  Occupation(const Occupation&) = delete;
  Occupation& operator=(const Occupation&) = delete;
  ~Occupation() {
    if (has_begun_) processors_.end(device_);
  }

 private:
  Processors& processors_;
  const int device_;
  const bool has_begun_;
};

/// Rooms for one thread at a time: a communicator, and a launch on a device.
class OneAtATime {
 public:
  class Scope {
   public:
    /// Throws Failure if another thread is in there.
    Scope(OneAtATime& only, const char* why) : only_{only} {
      require(!only_.is_entered_.exchange(true), ncclInvalidUsage, why);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() { only_.is_entered_ = false; }

   private:
    OneAtATime& only_;
  };

 private:
  std::atomic<bool> is_entered_{false};
};

}  // namespace tutti::nccl_standin

/// @file
/// NcclCommunicator: one communicator of NCCL, whose calls end in time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include <tutti/spi/fork_guard.hpp>
#include <tutti/spi/transport.hpp>

#include "device.hpp"
#include "nccl.hpp"

namespace tutti::v0::cuda {

/// @return the time after so long.
[[nodiscard]] inline std::chrono::steady_clock::time_point in(Duration patience) noexcept {
  using Clock = std::chrono::steady_clock;
  return Clock::time_point{deadline_after(Clock::now().time_since_epoch(), patience)};
}

/// Calls block, or not, as NCCL has it. A thread of its own aborts the communicator where a call
/// does not return in time. Calls are of one thread at a time.
class NcclCommunicator {
 public:
  using Clock = std::chrono::steady_clock;
  using Call = std::function<ncclResult_t(ncclComm_t)>;
  /// The library, the GPU, and the mode.
  struct Parts {
    std::shared_ptr<const Nccl> nccl;
    std::shared_ptr<const Device> device;
    Duration timeout;             ///< Of the start and the end.
    bool is_nonblocking = false;  ///< As ncclConfig_t has it, unless NCCL_COMM_BLOCKING is set.
  };
  /// Waits for all ranks. @param id of rank 0's making, the same on all. Throws Error{timeout,
  /// peer_dead, transport}.
  NcclCommunicator(Parts parts, int size, Rank rank, const ncclUniqueId& id);
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;
  /// All that was enqueued is done, but for graphs, for which NCCL waits: after the timeout and two
  /// seconds that is left to a thread of its own.
  ~NcclCommunicator();

  /// Calls NCCL in the context of the device. @param what is done, after "cannot". @param patience
  /// how long that may take. @param call takes the communicator, and gives the result. Throws Error
  /// with NCCL's words; Error{timeout}, of which the communicator is aborted.
  void call(const char* what, Duration patience, const Call& call);
  /// Throws what has failed.
  void check_health() const;
  /// Ends all that is under way, so that streams go on. After two seconds a thread of its own goes
  /// on with it. @param held is kept until NCCL has ended it.
  void abort(std::shared_ptr<const void> held = nullptr) noexcept;

 private:
  void start(int size, Rank rank, const ncclUniqueId& id);
  void await_state(const char* what, Duration patience, Clock::time_point deadline) const;
  void watch() noexcept;

  Parts parts_;
  ForkGuard guard_{};
  std::shared_ptr<ncclComm_t> handle_ = std::make_shared<ncclComm_t>();  // null after abort
  std::mutex mutex_{};                                                   // of what follows
  std::condition_variable changed_{};
  Clock::time_point deadline_ = Clock::time_point::max();  // of the call under way
  Clock::time_point wakes_ = Clock::time_point::max();     // when the thread looks again
  bool is_late_ = false;                                   // the thread has aborted
  bool is_ending_ = false;
  std::thread watchdog_{};
};

}  // namespace tutti::v0::cuda

/// @file
/// A communicator of NCCL whose calls end in time.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include <tutti/spi/fork_guard.hpp>

#include "device.hpp"
#include "nccl.hpp"
#include "polling.hpp"

namespace tutti::v0::cuda {

/// Blocking or nonblocking, as NCCL is configured. A thread of its own aborts the communicator if a
/// call does not return in time. One thread at a time.
class NcclCommunicator {
 public:
  using Call = std::function<ncclResult_t(ncclComm_t)>;
  struct Config {
    std::shared_ptr<const Nccl> nccl;
    std::shared_ptr<const Device> device;
    Duration timeout;             ///< Limit for the start and for the end.
    bool is_nonblocking = false;  ///< As ncclConfig_t; NCCL_COMM_BLOCKING overrides it.
  };
  /// Waits for all ranks. @param id the one made by rank 0. Throws Error{timeout, peer_dead,
  /// transport}.
  NcclCommunicator(Config config, int size, Rank rank, const ncclUniqueId& id);
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;
  /// To be called when the streams are done. NCCL also waits for graphs of the communicator; after
  /// the timeout and two seconds a thread of its own continues with that.
  ~NcclCommunicator();

  /// Calls NCCL in the context of the device. @param what the text of an error, after "cannot".
  /// @param patience limit for the call. Throws Error with NCCL's message; Error{timeout},
  /// after which the communicator is aborted.
  void call(const char* what, Duration patience, const Call& call);
  /// Throws the failure of an earlier call.
  void check_health() const;
  /// Aborts all calls, so that streams continue. After two seconds a thread of its own continues
  /// with that. @param held is kept until NCCL has ended.
  void abort(std::shared_ptr<const void> held = nullptr) noexcept;

 private:
  void start(int size, Rank rank, const ncclUniqueId& id);
  void await_state(const char* what, Duration patience, Clock::time_point deadline) const;
  void watch() noexcept;

  Config config_;
  ForkGuard guard_{};
  std::shared_ptr<ncclComm_t> handle_ = std::make_shared<ncclComm_t>();  // null after abort
  std::mutex mutex_{};                                                   // guards all below
  std::condition_variable changed_{};
  Clock::time_point deadline_ = Clock::time_point::max();  // of the current call
  Clock::time_point wakes_ = Clock::time_point::max();     // when the watchdog checks again
  bool is_late_ = false;                                   // whether the watchdog has aborted
  bool is_ending_ = false;
  std::thread watchdog_{};
};

}  // namespace tutti::v0::cuda

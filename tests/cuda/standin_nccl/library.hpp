/// @file
/// Common parts of all functions of the stand-in.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <nccl.h>

#include "communicator.hpp"
#include "faults.hpp"
#include "processors.hpp"

namespace tutti::nccl_standin {

/// The communicators that were not destroyed, by handle.
class Communicators {
 public:
  ncclComm_t add(std::shared_ptr<Communicator> communicator);
  /// Throws Failure if there is no such communicator.
  std::shared_ptr<Communicator> find(ncclComm_t handle) const;
  void remove(ncclComm_t handle);
  std::vector<std::shared_ptr<Communicator>> all() const;

 private:
  mutable std::mutex mutex_;
  std::map<ncclComm_t, std::shared_ptr<Communicator>> by_handle_;
};

/// Operations that are enqueued and have not begun. They are kept here, because a failed stream
/// never begins them.
class Launches {
 public:
  void* add(std::unique_ptr<Communicator::Launch> launch);
  std::unique_ptr<Communicator::Launch> pop(void* handle);

 private:
  std::mutex mutex_;
  std::map<void*, std::unique_ptr<Communicator::Launch>> by_handle_;
};

/// Memory from ncclMemAlloc.
class Allocations {
 public:
  void add(void* start, std::size_t bytes);
  /// @return whether it was there.
  bool remove(void* start);
  /// @return whether an address lies in it.
  bool has(const void* data) const;
  std::size_t size() const;

 private:
  mutable std::mutex mutex_;
  std::map<const void*, std::size_t> bytes_;  ///< By their beginning.
};

/// @return what CUDA_STANDIN_NCCL_KERNELS says, or 8.
int kernels_at_once();

/// The functions of NCCL have no object to hold what they share, so it is one per process.
struct Library {
  Calls calls{setting("FAULT")};
  Communicators communicators;
  Launches launches;
  Allocations memory;
  Processors processors{kernels_at_once()};
  const bool kernels_spin = setting("NCCL_SPINS") == "1";
  std::array<OneAtATime, 64> launching;  ///< By device.
  std::atomic<int> registrations{0};     ///< From ncclCommRegister, and not deregistered.
  std::atomic<int> windows{0};           ///< From ncclCommWindowRegister, and not deregistered.
};

/// It is never destroyed: streams may be using it to the very end.
Library& library();

}  // namespace tutti::nccl_standin

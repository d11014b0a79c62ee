/// @file
/// The calls of a thread between ncclGroupStart and ncclGroupEnd.
#pragma once

#include <memory>
#include <vector>

#include "communicator.hpp"

namespace tutti::nccl_standin {

class Group {
 public:
  void start() noexcept { ++depth_; }

  /// Adds an operation; it is enqueued when the group ends. Throws Failure if the communicator has
  /// operations of another stream in this group.
  void add(std::shared_ptr<Communicator> communicator, const Operation& operation, CUstream stream);
  /// The end of the group waits for this communicator if it blocks.
  /// @param handle becomes null if that fails; it may be null itself.
  void add(std::shared_ptr<Communicator> communicator, ncclComm_t* handle);
  /// The end of the group waits for what the ranks agree on, if the communicator blocks.
  void add(std::shared_ptr<Communicator> communicator);

  /// A call in this group has failed: its end enqueues nothing and returns that.
  void note(ncclResult_t result) noexcept;

  /// Throws Failure if there is no group.
  ncclResult_t end();

 private:
  /// Operations of one communicator on one stream.
  struct Batch {
    std::shared_ptr<Communicator> communicator;
    CUstream stream = nullptr;
    std::vector<Operation> operations;
  };
  struct Connecting {
    std::shared_ptr<Communicator> communicator;
    ncclComm_t* handle = nullptr;
  };

  static ncclResult_t enqueue(Batch& batch);
  static ncclResult_t wait_for(const Connecting& connecting, bool gives_up);

  int depth_ = 0;
  ncclResult_t error_ = ncclSuccess;
  std::vector<Batch> batches_;
  std::vector<Connecting> connecting_;
  std::vector<std::shared_ptr<Communicator>> agreeing_;
};

/// @return the group of this thread.
Group& group() noexcept;

}  // namespace tutti::nccl_standin

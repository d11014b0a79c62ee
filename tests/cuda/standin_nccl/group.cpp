#include "group.hpp"

#include <algorithm>
#include <utility>

#include "failure.hpp"
#include "library.hpp"

namespace tutti::nccl_standin {
namespace {

bool is_error(ncclResult_t result) {
  return result != ncclSuccess && result != ncclInProgress;
}

// The first error, or else whether anything is in progress.
ncclResult_t worse(ncclResult_t a, ncclResult_t b) {
  if (is_error(a)) return a;
  return b == ncclSuccess ? a : b;
}

// As NCCL, which copies messages to the own rank when they are launched.
void require_own_pairs(const std::vector<Operation>& operations, int rank) {
  const auto count = [&](OperationType kind) {
    return std::count_if(operations.begin(), operations.end(), [&](const Operation& operation) {
      return operation.kind == kind && operation.peer == rank;
    });
  };
  require(count(OperationType::send) == count(OperationType::receive), ncclInvalidUsage,
          "a message to the own rank is sent and received in the same group");
}

}  // namespace

void Group::add(std::shared_ptr<Communicator> communicator, const Operation& operation,
                CUstream stream) {
  const auto found = std::find_if(batches_.begin(), batches_.end(), [&](const Batch& batch) {
    return batch.communicator == communicator;
  });
  if (found == batches_.end()) {
    batches_.push_back({std::move(communicator), stream, {operation}});
    return;
  }
  require(found->stream == stream, ncclInvalidUsage,
          "a group has operations of one communicator on two streams");
  found->operations.push_back(operation);
}

void Group::add(std::shared_ptr<Communicator> communicator, ncclComm_t* handle) {
  connecting_.push_back({std::move(communicator), handle});
}

void Group::add(std::shared_ptr<Communicator> communicator) {
  agreeing_.push_back(std::move(communicator));
}

void Group::note(ncclResult_t result) noexcept {
  if (depth_ > 0 && is_error(result) && error_ == ncclSuccess) error_ = result;
}

ncclResult_t Group::end() {
  require(depth_ > 0, ncclInvalidUsage, "a group ends that has not begun");
  if (--depth_ > 0) return ncclSuccess;
  std::vector<Batch> batches = std::exchange(batches_, {});
  const std::vector<Connecting> connecting = std::exchange(connecting_, {});
  const std::vector<std::shared_ptr<Communicator>> agreeing = std::exchange(agreeing_, {});
  ncclResult_t result = std::exchange(error_, ncclSuccess);
  const bool gives_up = is_error(result);
  for (const Connecting& one : connecting) result = worse(result, wait_for(one, gives_up));
  if (is_error(result)) return result;
  for (const auto& one : agreeing) result = worse(result, one->wait_until_agreed());
  if (is_error(result)) return result;
  for (Batch& batch : batches) result = worse(result, enqueue(batch));
  return result;
}

ncclResult_t Group::enqueue(Batch& batch) {
  require_own_pairs(batch.operations, batch.communicator->membership().rank);
  return Communicator::enqueue(std::move(batch.communicator), std::move(batch.operations),
                               batch.stream);
}

ncclResult_t Group::wait_for(const Connecting& connecting, bool gives_up) {
  if (gives_up) connecting.communicator->abort();
  const ncclResult_t result =
      gives_up ? ncclInternalError : connecting.communicator->wait_until_connected();
  if (!is_error(result) || connecting.handle == nullptr) return result;
  library().communicators.remove(*connecting.handle);
  *connecting.handle = nullptr;
  return result;
}

Group& group() noexcept {
  static thread_local Group own;
  return own;
}

}  // namespace tutti::nccl_standin

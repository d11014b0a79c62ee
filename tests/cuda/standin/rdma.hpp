/// @file
/// What network adapters write to memory of devices by GPUDirect RDMA.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <cuda.h>

namespace tutti::standin {

/// Where the device does not order such writes, nothing of it sees them before they are flushed.
class Rdma {
 public:
  /// @param kind "ordered" or nothing; "flushed": writes are to be flushed; "unordered": and
  /// nothing can do so.
  explicit Rdma(const std::string& kind)
      : ordering_{kind.empty() || kind == "ordered" ? CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER
                                                    : CU_GPU_DIRECT_RDMA_WRITES_ORDERING_NONE},
        options_{kind == "unordered" ? 0 : CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST} {}

  int ordering() const noexcept { return ordering_; }
  int options() const noexcept { return options_; }

  /// @param device whose memory it is. @param store does it.
  void write(int device, std::function<void()> store) {
    if (ordering_ != CU_GPU_DIRECT_RDMA_WRITES_ORDERING_NONE) return store();
    const std::scoped_lock lock{mutex_};
    pending_.emplace_back(device, std::move(store));
  }
  void flush(int device) {
    const std::scoped_lock lock{mutex_};
    for (const auto& [owner, store] : pending_)
      if (owner == device) store();
    std::erase_if(pending_, [&](const auto& write) { return write.first == device; });
  }

 private:
  const int ordering_;
  const int options_;
  std::mutex mutex_;
  std::vector<std::pair<int, std::function<void()>>> pending_;
};

}  // namespace tutti::standin

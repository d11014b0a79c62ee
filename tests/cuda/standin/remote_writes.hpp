/// @file
/// Values that devices write to memory of other ones, in the order of a stream.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include <cuda.h>

namespace tutti::standin {

/// A device may reorder what others write to its memory: a kernel sees such a value for certain
/// only where its stream has waited for that very one. Here it sees the one before until then. Of
/// what other processes write nothing is known.
class RemoteWrites {
 public:
  /// @param address of 64 bits. @param before what is there. @param after what is written.
  void note(CUdeviceptr address, std::uint64_t before, std::uint64_t after) {
    const std::scoped_lock lock{mutex_};
    writes_.insert_or_assign(address, Write{before, after});
  }
  /// A stream has waited for what is there.
  void complete(CUdeviceptr address) {
    const std::scoped_lock lock{mutex_};
    writes_.erase(address);
  }
  /// @param found what is there. @return what a kernel reads.
  std::uint64_t seen(CUdeviceptr address, std::uint64_t found) const {
    const std::scoped_lock lock{mutex_};
    const auto write = writes_.find(address);
    return write != writes_.end() && write->second.after == found ? write->second.before : found;
  }

 private:
  struct Write {
    std::uint64_t before;
    std::uint64_t after;
  };
  mutable std::mutex mutex_;
  std::map<CUdeviceptr, Write> writes_;
};

}  // namespace tutti::standin

/// @file
/// A pool of a device's memory, from which streams allocate.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <set>

#include "tests/cuda/standin/event.hpp"

namespace tutti::standin {

/// An Arena counts its bytes; all else is here.
class Pool {
 public:
  explicit Pool(int device) : device_{device} {}

  int device() const noexcept { return device_; }

  /// Whether an allocation may wait until another stream has come to a free, as by
  /// CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, which the driver allows by default.
  void allow_dependencies(bool allowed) noexcept { may_depend_ = allowed; }
  /// Whether it holds what was freed, until it is trimmed.
  void hold(bool holds) noexcept { holds_ = holds; }
  bool holds() const noexcept { return holds_; }

  /// Other devices access it only where they were allowed to, whatever their contexts may.
  void allow_access(int device, bool allowed);
  bool may_access(int device) const;

  /// A stream has freed bytes. @param end is reached when it has come to that.
  void note_free(const Stream& stream, std::size_t bytes, std::shared_ptr<const Mark> end);
  /// A stream allocates bytes. The driver may take any free that it may depend on; here it takes
  /// one wherever there is one, so that programs which cannot bear that show it.
  /// @return what the stream has to wait for, or null.
  std::shared_ptr<const Mark> take_free(const Stream& stream, std::size_t bytes);

  /// Bytes that are allocated, and those that the device has given to the pool. The Arena's.
  std::size_t used = 0;
  std::size_t reserved = 0;

 private:
  struct Free {
    const Stream* stream;
    std::size_t bytes;
    std::shared_ptr<const Mark> end;
  };

  const int device_;
  std::atomic<bool> may_depend_{true};
  std::atomic<bool> holds_{false};
  mutable std::mutex mutex_;
  std::set<int> open_to_;
  std::deque<Free> frees_;  ///< That streams have not come to.
};

}  // namespace tutti::standin

/// @file
/// ForkGuard: tells a process from the children that it forks.
#pragma once

#include <atomic>
#include <cstdint>

#include <tutti/export.hpp>
#include <tutti/version.hpp>

namespace tutti::v0 {

/// A child of fork has a copy of all that its parent has: sockets, shared memory, half of a
/// conversation. Whatever it did with them would disturb the parent, so it must not touch them. A
/// guard is a page of memory that the system empties in such a child.
class TUTTI_API ForkGuard {
 public:
  /// Throws Error{transport} where the system refuses.
  ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;
  ~ForkGuard();

  /// @return whether this process is a child of the one that made the guard. Costs a load.
  [[nodiscard]] bool is_forked() const noexcept {
    return page_->load(std::memory_order_relaxed) == 0;
  }
  /// Throws Error{invalid_argument} in a child. @param object that belongs to the process, for the
  /// text.
  void check(const char* object = "a communicator") const {
    if (is_forked()) reject(object);
  }

 private:
  [[noreturn]] static void reject(const char* object);

  std::atomic<std::uint32_t>* page_;
};

}  // namespace tutti::v0

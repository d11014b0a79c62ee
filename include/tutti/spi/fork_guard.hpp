/// @file
/// ForkGuard: detects forked children.
#pragma once

#include <atomic>
#include <cstdint>

#include <tutti/export.hpp>
#include <tutti/version.hpp>

namespace tutti::v0 {

/// A forked child has copies of its parent's sockets and shared memory. Using them would disturb
/// the parent, so the child must not touch them. A guard is a page of memory that the system clears
/// in such a child.
class TUTTI_API ForkGuard {
 public:
  /// Throws Error{transport} if the system reports an error.
  ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;
  ~ForkGuard();

  /// @return whether this process is a forked child of the owner. Costs a load.
  [[nodiscard]] bool is_forked() const noexcept {
    return page_->load(std::memory_order_relaxed) == 0;
  }
  /// Throws Error{invalid_argument} in a child. @param object of the parent, for the text.
  void check(const char* object = "a communicator") const {
    if (is_forked()) reject(object);
  }

 private:
  [[noreturn]] static void reject(const char* object);

  std::atomic<std::uint32_t>* page_;
};

}  // namespace tutti::v0

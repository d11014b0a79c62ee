/// @file
/// Which thread is in a communicator.
#pragma once

#include <atomic>
#include <cstdint>

namespace tutti::inline v0::detail {

/// Its address is another one in each thread.
inline constinit thread_local std::uint32_t thread_mark = 0;

/// A communicator serves one thread at a time, and no call within another one. A thread enters for
/// each call, and may keep others out between calls too. That costs an exchange of a word which
/// nobody else writes: some 2 ns.
class Occupancy {
 public:
  /// Throws Error{invalid_argument} where another thread is in, or this one.
  void enter() {
    if (!try_enter()) refuse();
  }
  /// @return whether this thread entered.
  [[nodiscard]] bool try_enter() noexcept {
    std::uintptr_t found = 0;
    if (word_.compare_exchange_strong(found, this_thread(), std::memory_order_acquire,
                                      std::memory_order_relaxed))
      return true;
    if (found != (this_thread() | kKept)) return false;
    word_.store(this_thread(), std::memory_order_relaxed);
    return true;
  }
  /// As try_enter, for the progress thread: nobody is in, nor keeps others out.
  [[nodiscard]] bool try_enter_for_progress() noexcept {
    std::uintptr_t found = 0;
    return word_.compare_exchange_strong(found, this_thread() | kProgress,
                                         std::memory_order_acquire, std::memory_order_relaxed);
  }
  /// @return whether the progress thread is in, and this one is another.
  [[nodiscard]] bool is_for_progress_of_another() const noexcept {
    const std::uintptr_t word = word_.load(std::memory_order_relaxed);
    return (word & kProgress) != 0 && (word & ~kProgress) != this_thread();
  }
  /// Throws Error{invalid_argument} that says who is in.
  [[noreturn]] void refuse() const;
  /// As enter, but waits until another thread has left. @param is_forked whether this process is a
  /// child, to which a thread that was in did not come along, and never leaves. @return whether
  /// this one entered: it does not where it is in already, nor where it would wait in vain.
  [[nodiscard]] bool enter_when_free(bool is_forked) noexcept;
  void leave() noexcept {
    word_.store(keepers_ == 0 ? 0 : this_thread() | kKept, std::memory_order_release);
  }
  /// Between calls, too, others are kept out from now on, until let_go has been called as often.
  /// This and the next are called by the thread that is in.
  void keep() noexcept { ++keepers_; }
  void let_go() noexcept { --keepers_; }

 private:
  static constexpr std::uintptr_t kKept = 1;
  static constexpr std::uintptr_t kProgress = 2;

  [[nodiscard]] static std::uintptr_t this_thread() noexcept {
    return reinterpret_cast<std::uintptr_t>(&thread_mark);
  }

  std::atomic<std::uintptr_t> word_{0};  // the thread that is in, or, with kKept, that may enter
  std::uint32_t keepers_ = 0;
};

}  // namespace tutti::inline v0::detail

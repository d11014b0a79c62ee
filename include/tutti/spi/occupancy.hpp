/// @file
/// The guard of objects that serve one thread at a time.
#pragma once

#include <atomic>
#include <cstdint>

#include <tutti/version.hpp>

namespace tutti::v0::detail {

/// Its address is another one in each thread.
inline constinit thread_local std::uint32_t thread_mark = 0;

/// Objects that have an Occupancy, such as a communicator, serve one thread at a time, and no call
/// within another one. A thread enters for each call, and may keep others out between calls too.
/// That costs an exchange of a word which nobody else writes: some 2 ns.
class Occupancy {
 public:
  /// What errors say of an object.
  struct Words {
    const char* object = "";     ///< Such as "the communicator".
    const char* callbacks = "";  ///< From which it is not called, such as "an operator or a Codec".
    const char* instead = "";    ///< What to do there; empty: nothing.
    const char* otherwise = "";  ///< What several threads may do instead; empty: nothing.
  };

  Occupancy() noexcept = default;
  /// Of a copy of the object, in which no thread is.
  Occupancy(const Occupancy& /*other*/) noexcept {}
  /// The object is assigned to; this changes nothing. @return this.
  Occupancy& operator=(const Occupancy& /*other*/) noexcept { return *this; }
  ~Occupancy() = default;

  /// Throws Error{invalid_argument} where another thread is in, or this one. @param words of it.
  void enter(const Words& words) {
    if (!try_enter()) reject(words);
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
  /// @return whether this thread is in a call.
  [[nodiscard]] bool is_in() const noexcept {
    return (word_.load(std::memory_order_relaxed) & ~kProgress) == this_thread();
  }
  /// Throws Error{invalid_argument} that says who is in. @param words of the object.
  [[noreturn]] void reject(const Words& words) const;
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

/// A call of this thread in an object that has an Occupancy.
class Occupied {
 public:
  /// Throws Error{invalid_argument} where another thread is in, or this one. @param occupancy of
  /// the object, which lives longer. @param words of it.
  Occupied(Occupancy& occupancy, const Occupancy::Words& words) : occupancy_{occupancy} {
    occupancy_.enter(words);
  }
  Occupied(const Occupied&) = delete;
  Occupied& operator=(const Occupied&) = delete;
  ~Occupied() { occupancy_.leave(); }

 private:
  Occupancy& occupancy_;
};

}  // namespace tutti::v0::detail

/// @file
/// The guard of objects that one thread at a time may call.
#pragma once

#include <atomic>
#include <cstdint>

#include <tutti/export.hpp>
#include <tutti/version.hpp>

namespace tutti::v0::detail {

/// A variable whose address differs between threads.
inline constinit thread_local std::uint32_t thread_mark = 0;

/// Objects with an Occupancy, such as a communicator, accept calls of one thread at a time, and no
/// call within another one. A thread enters for each call, and may keep others out between calls
/// too. That costs an exchange of a word that is in its own cache: about 2 ns.
class Occupancy {
 public:
  /// Parts of error texts.
  struct Words {
    const char* object = "";     ///< Such as "the communicator".
    /// Functions that must not call it, such as "an operator or a Codec".
    const char* callbacks = "";
    const char* instead = "";    ///< The alternative there; empty: none.
    const char* otherwise = "";  ///< The alternative for several threads; empty: none.
  };

  Occupancy() noexcept = default;
  /// The copy of an object is free.
  Occupancy(const Occupancy& /*other*/) noexcept {}
  /// Assignment of the object changes nothing.
  Occupancy& operator=(const Occupancy& /*other*/) noexcept { return *this; }
  ~Occupancy() = default;

  /// Throws Error{invalid_argument} if this or another thread is in.
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
  /// As try_enter, for the progress thread: succeeds only if no thread is in or keeps others out.
  [[nodiscard]] bool try_enter_for_progress() noexcept {
    std::uintptr_t found = 0;
    return word_.compare_exchange_strong(found, this_thread() | kProgress,
                                         std::memory_order_acquire, std::memory_order_relaxed);
  }
  /// @return whether the progress thread is in, and this thread is another one.
  [[nodiscard]] bool is_for_progress_of_another() const noexcept {
    const std::uintptr_t word = word_.load(std::memory_order_relaxed);
    return (word & kProgress) != 0 && (word & ~kProgress) != this_thread();
  }
  /// @return whether this thread is in a call.
  [[nodiscard]] bool is_in() const noexcept {
    return (word_.load(std::memory_order_relaxed) & ~kProgress) == this_thread();
  }
  /// Throws Error{invalid_argument} that names the thread that is in.
  [[noreturn]] TUTTI_API void reject(const Words& words) const;
  /// As enter, but waits until another thread has left. @param is_forked whether this process is a
  /// forked child, in which other threads do not exist and never leave. @return whether this thread
  /// entered: not if it is in already, or would wait without end.
  [[nodiscard]] bool enter_when_free(bool is_forked) noexcept;
  void leave() noexcept {
    word_.store(keepers_ == 0 ? 0 : this_thread() | kKept, std::memory_order_release);
  }
  /// From now on keeps others out between calls too, until let_go has been called as often. Only
  /// the thread that is in calls these two.
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
  /// Throws Error{invalid_argument} if this or another thread is in. @param occupancy must outlive
  /// this.
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

/// @file
/// Alarm: the first failure of a communicator in this process, whoever noticed it.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include <tutti/error.hpp>
#include <tutti/fork_guard.hpp>

namespace tutti {

/// How long a transport that finds a peer gone waits for the alarm to say why, before it says so
/// itself: whoever watches the processes knows within milliseconds if one has died, and which.
inline constexpr std::chrono::milliseconds kAlarmPatience{50};

/// Goes off once, by whichever thread comes first: the one that polls, or the one that watches the
/// other processes. Transports look at it whenever they are polled and throw what it says. All
/// methods are safe to call from several threads at once. In a forked child it says that a child
/// may not use what is its parent's, and tells nobody anything.
class Alarm {
 public:
  /// Tells the other ranks of the communicator; does not throw.
  using Tell = std::function<void(const Error&)>;

  Alarm() = default;
  /// @param tell called once by raise, if that comes before hear. @param guard of the process.
  Alarm(Tell tell, std::shared_ptr<const ForkGuard> guard)
      : tell_{std::move(tell)}, guard_{std::move(guard)} {}
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  /// This rank fails: the first cause is kept, and told to the others.
  /// @param cause what happened here.
  void raise(const Error& cause) {
    if (is_forked()) return;  // where another thread may have left the mutex locked
    if (set(cause) && tell_) tell_(cause);
  }
  /// Another rank failed, or is gone: the first cause is kept.
  /// @param cause what happened there.
  void hear(const Error& cause) { static_cast<void>(set(cause)); }
  /// @return whether it went off. Costs a load.
  [[nodiscard]] bool went_off() const noexcept { return went_off_.load(std::memory_order_acquire); }
  /// @return whether this process is a child of the one that made it.
  [[nodiscard]] bool is_forked() const noexcept { return guard_ && guard_->is_forked(); }
  /// Throws the first cause if it went off.
  void check() const {
    if (went_off() || is_forked()) complain();
  }

 private:
  [[nodiscard]] bool set(const Error& cause) {
    const std::lock_guard lock{mutex_};
    if (error_) return false;
    error_ = cause;
    went_off_.store(true, std::memory_order_release);
    return true;
  }
  [[noreturn]] void complain() const {
    if (guard_) guard_->check();
    const std::lock_guard lock{mutex_};
    throw Error{*error_};
  }

  Tell tell_{};
  std::shared_ptr<const ForkGuard> guard_{};
  std::atomic<bool> went_off_{false};
  mutable std::mutex mutex_{};
  std::optional<Error> error_{};
};

}  // namespace tutti

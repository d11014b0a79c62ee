/// @file
/// FailureSignal: the first failure of a communicator in this process, whoever noticed it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include <tutti/error.hpp>
#include <tutti/export.hpp>
#include <tutti/spi/fork_guard.hpp>

namespace tutti::v0 {

/// How long a transport that finds a peer gone waits for the alarm to say why, before it says so
/// itself: whoever watches the processes knows within milliseconds if one has died, and which.
inline constexpr std::chrono::milliseconds kAlarmPatience{50};

/// How long a rank that failed waits for what all ranks will say, before it says what it saw
/// itself.
inline constexpr std::chrono::milliseconds kAgreementPatience{1000};

/// Goes off once, by whichever thread comes first: the one that polls, or the one that watches the
/// other processes. Transports look at it whenever they are polled and throw what it says. All
/// methods are safe to call from several threads at once. In a forked child it says that a child
/// may not use what is its parent's, and tells nobody anything.
class TUTTI_API FailureSignal {
 public:
  /// Tells the other ranks of the communicator what was raised; does not throw. The ranks agree on
  /// one cause, which hear brings, also to the rank that raised.
  using Tell = std::function<void(const Error&)>;

  FailureSignal() = default;
  /// @param tell called once by raise, if that comes before hear. @param guard of the process.
  FailureSignal(Tell tell, std::shared_ptr<const ForkGuard> guard)
      : tell_{std::move(tell)}, guard_{std::move(guard)} {}
  FailureSignal(const FailureSignal&) = delete;
  FailureSignal& operator=(const FailureSignal&) = delete;

  /// This rank fails, and the others are told. Does not wait for what they say.
  /// @param cause what happened here; the alarm's own cause if there is nobody to be told.
  void raise(const Error& cause) {
    if (is_forked()) return;  // where another thread may have left the mutex locked
    {
      const std::lock_guard lock{mutex_};
      if (went_off_) return;
      raised_ = cause;
      if (!tell_) error_ = cause;
      agrees_by_ = std::chrono::steady_clock::now() + kAgreementPatience;
      went_off_.store(true, std::memory_order_release);
    }
    if (tell_) tell_(cause);
  }
  /// All ranks are told of a failure: the first cause is kept.
  /// @param cause what happened somewhere.
  void hear(const Error& cause) {
    {
      const std::lock_guard lock{mutex_};
      if (!error_) error_ = cause;
      went_off_.store(true, std::memory_order_release);
    }
    agreed_.notify_all();
  }
  /// @return whether it went off. Costs a load.
  [[nodiscard]] bool went_off() const noexcept { return went_off_.load(std::memory_order_acquire); }
  /// @return whether this process is a child of the one that made it.
  [[nodiscard]] bool is_forked() const noexcept { return guard_ && guard_->is_forked(); }
  /// Throws the first cause if it went off: what all ranks say, for which it waits after a raise,
  /// though not for long.
  void check() const {
    if (went_off() || is_forked()) complain();
  }

 private:
  [[noreturn]] void complain() const {
    if (guard_) guard_->check();
    std::unique_lock lock{mutex_};
    if (!agreed_.wait_until(lock, agrees_by_, [this] { return error_.has_value(); }))
      error_ = raised_;
    detail::raise(*error_);
  }

  Tell tell_{};
  std::shared_ptr<const ForkGuard> guard_{};
  std::atomic<bool> went_off_{false};
  mutable std::mutex mutex_{};
  mutable std::condition_variable agreed_{};
  mutable std::optional<Error> error_{};  // what all ranks say
  std::optional<Error> raised_{};         // what was seen here
  std::chrono::steady_clock::time_point agrees_by_{};
};

}  // namespace tutti::v0

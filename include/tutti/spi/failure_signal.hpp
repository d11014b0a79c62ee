/// @file
/// FailureSignal: the first failure of a communicator in this process, whichever thread met it.
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

/// A transport that loses a peer waits for this long until the failure signal gives the reason, and
/// only then reports the loss itself: the control plane watches the processes and knows within
/// milliseconds if one has died, and which.
inline constexpr std::chrono::milliseconds kSignalPatience{50};

/// A rank that failed waits for this long until the ranks have agreed on one cause, and only then
/// reports its own.
inline constexpr std::chrono::milliseconds kAgreementPatience{1000};

/// Raised once, by the thread that polls or by the one that watches the other processes. Transports
/// check it at every poll, and throw its cause. All methods are safe to call from several threads
/// at once. In a forked child a check throws, since a child may not use its parent's communicator,
/// and nobody is informed.
class TUTTI_API FailureSignal {
 public:
  /// Informs the other ranks of the communicator; does not throw. The ranks agree on one cause,
  /// which set_cause brings, also to the rank that raised.
  using Tell = std::function<void(const Error&)>;

  FailureSignal() = default;
  /// @param tell called once by raise, if that comes before set_cause. @param guard of the process.
  FailureSignal(Tell tell, std::shared_ptr<const ForkGuard> guard)
      : tell_{std::move(tell)}, guard_{std::move(guard)} {}
  FailureSignal(const FailureSignal&) = delete;
  FailureSignal& operator=(const FailureSignal&) = delete;

  /// This rank fails, and the others are informed. Does not wait for their answer.
  /// @param cause of the failure here; the cause of the signal if there is no `tell`.
  void raise(const Error& cause) {
    if (is_forked()) return;  // where another thread may have left the mutex locked
    {
      const std::lock_guard lock{mutex_};
      if (is_raised_) return;
      raised_ = cause;
      if (!tell_) error_ = cause;
      agrees_by_ = std::chrono::steady_clock::now() + kAgreementPatience;
      is_raised_.store(true, std::memory_order_release);
    }
    if (tell_) tell_(cause);
  }
  /// All ranks get the cause of a failure; the first one is kept. @param cause of it.
  void set_cause(const Error& cause) {
    {
      const std::lock_guard lock{mutex_};
      if (!error_) error_ = cause;
      is_raised_.store(true, std::memory_order_release);
    }
    agreed_.notify_all();
  }
  /// Costs a load. @return whether it was raised.
  [[nodiscard]] bool is_raised() const noexcept {
    return is_raised_.load(std::memory_order_acquire);
  }
  /// @return whether this process is a child of the one that made it.
  [[nodiscard]] bool is_forked() const noexcept { return guard_ && guard_->is_forked(); }
  /// Throws the cause, if the signal was raised. After a raise it waits until all ranks agree on
  /// one, though not for long.
  void check() const {
    if (is_raised() || is_forked()) throw_cause();
  }

 private:
  [[noreturn]] void throw_cause() const {
    if (guard_) guard_->check();
    std::unique_lock lock{mutex_};
    if (!agreed_.wait_until(lock, agrees_by_, [this] { return error_.has_value(); }))
      error_ = raised_;
    detail::raise(*error_);
  }

  Tell tell_{};
  std::shared_ptr<const ForkGuard> guard_{};
  std::atomic<bool> is_raised_{false};
  mutable std::mutex mutex_{};
  mutable std::condition_variable agreed_{};
  mutable std::optional<Error> error_{};  // on which all ranks agree
  std::optional<Error> raised_{};         // the cause on this rank
  std::chrono::steady_clock::time_point agrees_by_{};
};

}  // namespace tutti::v0

/// @file
/// FailureSignal: the first failure of a communicator in this process.
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

/// Time for which a transport that has lost a peer waits for the cause, before it reports the loss
/// itself: the watcher of the processes knows within milliseconds whether one has died, and which.
inline constexpr std::chrono::milliseconds kSignalPatience{50};

/// Time for which a failed rank waits for the cause that all ranks agree on, before it reports its
/// own.
inline constexpr std::chrono::milliseconds kAgreementPatience{1000};

/// A flag that is set once, by the first thread with a failure: the thread that polls, or the one
/// that watches the other processes. Transports check it at every poll and throw its cause.
/// Thread-safe. In a forked child it reports that the child may not use its parent's objects, and
/// notifies no rank.
class TUTTI_API FailureSignal {
 public:
  /// Notifies the other ranks of the communicator; does not throw. The ranks agree on one cause,
  /// which set_cause stores on all of them.
  using Report = std::function<void(const Error&)>;

  FailureSignal() = default;
  /// @param report called once by raise, if that comes before set_cause.
  FailureSignal(Report report, std::shared_ptr<const ForkGuard> guard)
      : report_{std::move(report)}, guard_{std::move(guard)} {}
  FailureSignal(const FailureSignal&) = delete;
  FailureSignal& operator=(const FailureSignal&) = delete;

  /// Fails this rank and notifies the others. Does not wait for the agreed cause.
  /// @param cause the failure on this rank; the signal's cause if there are no other ranks.
  void raise(const Error& cause) {
    if (is_forked()) return;  // where another thread may have left the mutex locked
    {
      const std::lock_guard lock{mutex_};
      if (is_raised_) return;
      raised_ = cause;
      if (!report_) error_ = cause;
      agrees_by_ = std::chrono::steady_clock::now() + kAgreementPatience;
      is_raised_.store(true, std::memory_order_release);
    }
    if (report_) report_(cause);
  }
  /// Stores the cause that all ranks agree on; the first one counts.
  void set_cause(const Error& cause) {
    {
      const std::lock_guard lock{mutex_};
      if (!error_) error_ = cause;
      is_raised_.store(true, std::memory_order_release);
    }
    agreed_.notify_all();
  }
  /// @return whether there is a failure. Costs a load.
  [[nodiscard]] bool is_raised() const noexcept {
    return is_raised_.load(std::memory_order_acquire);
  }
  /// @return whether this process is a forked child of the owner.
  [[nodiscard]] bool is_forked() const noexcept { return guard_ && guard_->is_forked(); }
  /// Throws the first cause if there is one: the agreed one, for which it waits a short time after
  /// a raise.
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

  Report report_{};
  std::shared_ptr<const ForkGuard> guard_{};
  std::atomic<bool> is_raised_{false};
  mutable std::mutex mutex_{};
  mutable std::condition_variable agreed_{};
  mutable std::optional<Error> error_{};  // on which all ranks agree
  std::optional<Error> raised_{};         // the cause on this rank
  std::chrono::steady_clock::time_point agrees_by_{};
};

}  // namespace tutti::v0

/// @file
/// Alarm: the first failure of a communicator in this process, whoever noticed it.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>

#include <tutti/error.hpp>

namespace tutti {

/// Goes off once, by whichever thread comes first: the one that polls, or the one that watches the
/// other processes. Transports look at it whenever they are polled and throw what it says. All
/// methods are safe to call from several threads at once.
class Alarm {
 public:
  /// Tells the other ranks of the communicator; does not throw.
  using Tell = std::function<void(const Error&)>;

  Alarm() = default;
  /// @param tell called once by raise, if that comes before hear.
  explicit Alarm(Tell tell) : tell_{std::move(tell)} {}
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  /// This rank fails: the first cause is kept, and told to the others.
  /// @param cause what happened here.
  void raise(const Error& cause) {
    if (set(cause) && tell_) tell_(cause);
  }
  /// Another rank failed, or is gone: the first cause is kept.
  /// @param cause what happened there.
  void hear(const Error& cause) { static_cast<void>(set(cause)); }
  /// @return whether it went off. Costs a load.
  [[nodiscard]] bool went_off() const noexcept { return went_off_.load(std::memory_order_acquire); }
  /// Throws the first cause if it went off.
  void check() const {
    if (!went_off()) return;
    const std::lock_guard lock{mutex_};
    throw Error{*error_};
  }

 private:
  [[nodiscard]] bool set(const Error& cause) {
    const std::lock_guard lock{mutex_};
    if (error_) return false;
    error_ = cause;
    went_off_.store(true, std::memory_order_release);
    return true;
  }

  Tell tell_{};
  std::atomic<bool> went_off_{false};
  mutable std::mutex mutex_{};
  std::optional<Error> error_{};
};

}  // namespace tutti

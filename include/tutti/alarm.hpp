/// @file
/// Alarm: the first failure of a communicator in this process, whoever noticed it.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>

#include <tutti/error.hpp>

namespace tutti {

/// Raised once, by any thread: the one that polls, or the one that watches other processes.
/// Transports look at it whenever they are polled and throw what it says. All methods are safe to
/// call from several threads at once.
class Alarm {
 public:
  Alarm() = default;
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  /// The first call sets the error; later ones change nothing.
  /// @param cause what happened. @return whether this call was the first.
  bool raise(const Error& cause) noexcept {
    const std::lock_guard lock{mutex_};
    if (error_) return false;
    error_ = cause;
    raised_.store(true, std::memory_order_release);
    return true;
  }
  /// @return whether there is an error. Costs a load.
  [[nodiscard]] bool raised() const noexcept { return raised_.load(std::memory_order_acquire); }
  /// Throws the error if there is one.
  void check() const {
    if (raised()) throw Error{error()};
  }
  /// @return the error. Call it only after raised() said yes.
  [[nodiscard]] Error error() const {
    const std::lock_guard lock{mutex_};
    return *error_;
  }

 private:
  std::atomic<bool> raised_{false};
  mutable std::mutex mutex_{};
  std::optional<Error> error_{};
};

}  // namespace tutti

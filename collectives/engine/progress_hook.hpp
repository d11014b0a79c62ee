/// @file
/// The times at which CommunicatorOptions::progress is called.
#pragma once

#include <algorithm>
#include <utility>

#include <tutti/types.hpp>

namespace tutti::v0::detail {

/// Decides when a thread calls the hook. A short call ends before its thread counts as idle, so the
/// hook costs it nothing. In a longer wait the hook takes at most half of the time, unless one call
/// of it is very long. It is also called after each yield of the core.
class ProgressHook {
 public:
  explicit ProgressHook(bool exists) noexcept : exists_{exists} {}

  /// To be called when something has started or moved, so that this thread is not idle.
  void end_idleness() noexcept { is_idle_ = false; }
  /// To be called after a yield of the core, which may have been long: is_due() returns true next.
  void end_yield() noexcept { has_yielded_ = exists_; }
  /// To be called when an operation starts. @return whether to call is_due(), which needs the time.
  [[nodiscard]] bool is_asked_at_start() noexcept {
    end_idleness();
    if (!exists_ || --starts_ > 0) return false;
    starts_ = kStartsPerLook;
    return true;
  }
  /// @return whether there is a hook.
  [[nodiscard]] bool exists() const noexcept { return exists_; }
  /// @return whether to call is_due() at every poll, since nothing has come for a while.
  [[nodiscard]] bool is_waited_for() const noexcept { return exists_ && is_idle_; }
  /// @return whether the hook is to be called.
  [[nodiscard]] bool is_due(Duration now) noexcept {
    if (!exists_) return false;
    if (!std::exchange(is_idle_, true)) idle_since_ = now;
    if (std::exchange(has_yielded_, false)) return true;
    return now - called_ >= kBusyInterval || now - std::max(idle_since_, called_) >= interval_;
  }
  /// To be called after the hook. @param begin its start. @param end its end.
  void end_call(Duration begin, Duration end) noexcept {
    called_ = end;
    interval_ = std::clamp(end - begin, kShortestInterval, kLongestInterval);
  }

 private:
  static constexpr Duration kShortestInterval = std::chrono::microseconds{2};
  static constexpr Duration kLongestInterval = std::chrono::microseconds{20};
  static constexpr Duration kBusyInterval = std::chrono::milliseconds{1};
  static constexpr int kStartsPerLook = 32;
  bool exists_;
  bool is_idle_ = false;
  bool has_yielded_ = false;
  int starts_ = kStartsPerLook;
  Duration idle_since_{0};
  Duration called_{0};
  Duration interval_{kShortestInterval};
};

}  // namespace tutti::v0::detail

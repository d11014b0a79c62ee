/// @file
/// When CommunicatorOptions::progress is called.
#pragma once

#include <algorithm>

#include <tutti/types.hpp>

namespace tutti::inline v0::detail {

/// Seldom enough that no call feels it: short ones are over before a thread counts as idle, and
/// what moves goes on moving. And often enough that whoever needs the hook hardly waits, even of a
/// thread that only makes calls that are short.
class ProgressHook {
 public:
  /// @param exists whether there is a hook.
  explicit ProgressHook(bool exists) noexcept : exists_{exists} {}

  /// Something has started or moved, so that this thread is not idle.
  void end_idleness() noexcept { is_idle_ = false; }
  /// An operation starts. @return whether to ask is_due, which wants to know the time.
  [[nodiscard]] bool is_asked_at_start() noexcept {
    end_idleness();
    if (!exists_ || --starts_ > 0) return false;
    starts_ = kStartsPerLook;
    return true;
  }
  /// @return whether there is a hook.
  [[nodiscard]] bool exists() const noexcept { return exists_; }
  /// @param now the time. @return whether the hook is to be called.
  [[nodiscard]] bool is_due(Duration now) noexcept {
    if (!exists_) return false;
    if (!is_idle_) idle_since_ = now;
    is_idle_ = true;
    return now - called_ >= kBusyInterval || now - std::max(idle_since_, called_) >= kIdleInterval;
  }
  /// It was called. @param now the time.
  void end_call(Duration now) noexcept { called_ = now; }

 private:
  static constexpr Duration kIdleInterval = std::chrono::microseconds{25};
  static constexpr Duration kBusyInterval = std::chrono::milliseconds{1};
  static constexpr int kStartsPerLook = 32;
  bool exists_;
  bool is_idle_ = false;
  int starts_ = kStartsPerLook;
  Duration idle_since_{0};
  Duration called_{0};
};

}  // namespace tutti::inline v0::detail

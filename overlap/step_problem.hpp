/// @file
/// The problem that makes a step void.
#pragma once

#include <mutex>
#include <string>
#include <type_traits>

#include <tutti/types.hpp>

namespace tutti::v0::detail {

/// The first problem of a step on this rank, which makes the step void on all ranks. Any thread may
/// use it.
class StepProblem {
 public:
  explicit StepProblem(Rank self) noexcept : self_{self} {}
  /// Notes a problem of which this rank is at fault. @param words makes the text.
  template <class Words>
  requires std::is_invocable_v<Words>
  void note(Words words) noexcept { note_of(self_, words); }
  /// Notes a problem. @param culprit the rank at fault, or -1. @param words makes the text.
  template <class Words>
  void note_of(Rank culprit, Words words) noexcept {
    const std::lock_guard lock{mutex_};
    if (text_.empty()) try {
        culprit_ = culprit;
        text_ = words();
      } catch (...) {
        text_ = "out of memory";  // short: it needs no memory
      }
  }
  void clear() noexcept {
    const std::lock_guard lock{mutex_};
    text_.clear();
  }
  /// @return empty without a problem.
  [[nodiscard]] std::string text() {
    const std::lock_guard lock{mutex_};
    return text_;
  }
  [[nodiscard]] bool exists() {
    const std::lock_guard lock{mutex_};
    return !text_.empty();
  }
  [[nodiscard]] Rank culprit() {
    const std::lock_guard lock{mutex_};
    return culprit_;
  }

 private:
  const Rank self_;
  std::mutex mutex_{};
  std::string text_{};
  Rank culprit_ = -1;
};

}  // namespace tutti::v0::detail

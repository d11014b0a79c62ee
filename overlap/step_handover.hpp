/// @file
/// The transfer of steps between the program's thread and GradientSync's.
#pragma once

#include <atomic>
#include <cstdint>

#include <tutti/spi/interrupt.hpp>

namespace tutti::v0::detail {

/// Passes steps from the program's thread to GradientSync's and back, by atomic words only. Steps
/// are counted from one.
class StepHandover {
 public:
  /// Allows gradients of the next step to become ready. For the program's thread.
  void begin_next() noexcept {
    begun_.fetch_add(1, std::memory_order_release);
    wake();
  }
  /// Sleeps until the step has its result. For the program's thread. @param is_active whether this
  /// rank has gradients of its own in the step.
  void wait(bool is_active) noexcept {
    is_active_ = is_active;
    interrupt_.store(interrupt_flag(), std::memory_order_release);
    const std::uint32_t before = ended_.load(std::memory_order_acquire);
    asked_.fetch_add(1, std::memory_order_release);
    wake();
    ended_.wait(before, std::memory_order_acquire);
    interrupt_.store(nullptr, std::memory_order_release);
  }
  /// Notes that the step has its result. For GradientSync's thread.
  void end_step() noexcept {
    ended_.fetch_add(1, std::memory_order_release);
    ended_.notify_all();
  }
  /// Makes GradientSync's thread return.
  void end() noexcept {
    is_over_.store(1, std::memory_order_release);
    wake();
  }
  /// Begins again with step one, while GradientSync's thread does not run.
  void reset() noexcept {
    is_over_ = 0;
    begun_ = 1;
    asked_ = 0;
    ended_ = 0;
  }
  /// Wakes GradientSync's thread. Any thread may call this.
  void wake() noexcept {
    signal_.fetch_add(1, std::memory_order_release);
    signal_.notify_one();
  }

  /// @return the flag that interrupts the thread in wait, or null.
  [[nodiscard]] const std::atomic<InterruptFlag>& interrupt() const noexcept { return interrupt_; }
  [[nodiscard]] bool is_begun(std::uint32_t step) const noexcept { return begun_ >= step; }
  /// @return whether the program waits for the step.
  [[nodiscard]] bool is_awaited(std::uint32_t step) const noexcept { return asked_ >= step; }
  [[nodiscard]] bool is_over() const noexcept {
    return is_over_.load(std::memory_order_acquire) != 0;
  }
  /// @return is_active of wait(). Needs that the step is awaited.
  [[nodiscard]] bool is_active() const noexcept { return is_active_; }
  /// Sleeps until a condition holds. For GradientSync's thread. @return false at the end.
  template <class Condition>
  [[nodiscard]] bool await(Condition condition) noexcept {
    for (;;) {
      const std::uint32_t seen = signal_.load(std::memory_order_acquire);
      if (is_over()) return false;
      if (condition()) return true;
      signal_.wait(seen, std::memory_order_acquire);
    }
  }

 private:
  std::atomic<std::uint32_t> signal_{0};  // changes with each wake
  std::atomic<std::uint32_t> begun_{1};   // steps for which gradients may be ready
  std::atomic<std::uint32_t> asked_{0};   // steps for which wait was called
  std::atomic<std::uint32_t> ended_{0};   // steps that have their result
  std::atomic<std::uint32_t> is_over_{0};
  std::atomic<InterruptFlag> interrupt_{nullptr};
  bool is_active_ = true;
};

}  // namespace tutti::v0::detail

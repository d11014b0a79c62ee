#include "perf/gradients/work.hpp"

#include <algorithm>
#include <cmath>
#include <thread>

namespace tutti::perf {

namespace {

constexpr std::size_t kWorkElements = 4096;
constexpr std::int64_t kCalibrationPasses = 1000;  // take a fraction of a millisecond
constexpr std::chrono::milliseconds kCalibration{60};

double seconds_between(Work::Clock::time_point from, Work::Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

Work::Work(Computing kind) : kind_{kind}, array_(kWorkElements, 0.5F) {}

// Values stay between 0.5 and 1, where the speed of all processors is constant.
void Work::pass(std::int64_t times) noexcept {
  float* const elements = array_.data();
  for (std::int64_t i = 0; i < times; ++i)
    for (std::size_t k = 0; k < kWorkElements; ++k) elements[k] = elements[k] * 0.999F + 0.001F;
}

// The least of many times is that of an undisturbed machine.
std::int64_t Work::calibrate() {
  double least_s = 1;
  for (const auto end = Clock::now() + kCalibration; Clock::now() < end;) {
    const auto from = Clock::now();
    pass(kCalibrationPasses);
    least_s = std::min(least_s, seconds_between(from, Clock::now()));
  }
  return std::max<std::int64_t>(std::llround(kCalibrationPasses / least_s), 1);
}

Work::Clock::time_point Work::begin() noexcept {
  done_ = 0;
  begun_ = Clock::now();
  return begun_;
}

void Work::until(double point_s) {
  if (kind_ == Computing::sleep) {
    const std::chrono::duration<double> point{point_s};
    std::this_thread::sleep_until(begun_ + std::chrono::duration_cast<Clock::duration>(point));
    return;
  }
  const auto wanted = static_cast<std::int64_t>(point_s * rate_);
  if (wanted <= done_) return;
  pass(wanted - done_);
  done_ = wanted;
}

}  // namespace tutti::perf

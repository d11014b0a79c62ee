#include "network_speed.hpp"

namespace tutti::v0 {
namespace {

constexpr double kClassLimit = 3.16;  // the geometric mean of two decades

}  // namespace

NetworkSpeed speed_of(std::size_t bytes, Duration time) noexcept {
  if (time <= Duration::zero()) return NetworkSpeed::gigabits_10;
  const double gigabits = 8.0 * static_cast<double>(bytes) / static_cast<double>(time.count());
  if (gigabits < kClassLimit / 10) return NetworkSpeed::megabits_100;
  return gigabits < kClassLimit ? NetworkSpeed::gigabit_1 : NetworkSpeed::gigabits_10;
}

// A long probe takes longer than a short one only because of its bytes, since both wait for the
// latency of the network. If the latency is most of the time, or cores are busy, a small difference
// is not significant, and does not show that the network is fast.
NetworkSpeed speed_between(Duration short_probe, Duration long_probe) noexcept {
  const Duration difference = long_probe - short_probe;
  const NetworkSpeed seen = speed_of(kLongProbeBytes - kShortProbeBytes, difference);
  const bool is_lost = seen == NetworkSpeed::gigabits_10 && short_probe > difference;
  return is_lost ? NetworkSpeed::gigabit_1 : seen;
}

}  // namespace tutti::v0

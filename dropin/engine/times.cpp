#include "dropin/engine/times.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

namespace tutti::dropin {
namespace {

constexpr double kPerOctave = 4;

double in_seconds(std::chrono::nanoseconds time) {
  return static_cast<double>(time.count()) * 1e-9;
}

}  // namespace

void Durations::add(std::chrono::nanoseconds time) noexcept {
  const auto nanoseconds = static_cast<double>(std::max<std::int64_t>(1, time.count()));
  const auto bucket = static_cast<std::size_t>(kPerOctave * std::log2(nanoseconds));
  ++counts_[std::min(bucket, kBuckets - 1)];
  ++calls_;
  seconds_ += nanoseconds * 1e-9;
}

void Durations::add(const Durations& others) noexcept {
  std::ranges::transform(counts_, others.counts_, counts_.begin(), std::plus{});
  calls_ += others.calls_;
  seconds_ += others.seconds_;
  compared_.calls += others.compared_.calls;
  compared_.wait_seconds += others.compared_.wait_seconds;
  compared_.move_seconds += others.compared_.move_seconds;
}

void Durations::compare(std::chrono::nanoseconds wait, std::chrono::nanoseconds move) noexcept {
  ++compared_.calls;
  compared_.wait_seconds += in_seconds(wait);
  compared_.move_seconds += in_seconds(move);
}

double Durations::quantile_us(double share) const noexcept {
  if (calls_ == 0) return 0;
  const auto wanted = share * static_cast<double>(calls_);
  double seen = 0;
  std::size_t bucket = 0;
  for (; bucket + 1 < kBuckets; ++bucket) {
    seen += static_cast<double>(counts_[bucket]);
    if (seen >= wanted) break;
  }
  return std::exp2((static_cast<double>(bucket) + 0.5) / kPerOctave) * 1e-3;
}

double seconds_of(const TimesByRunner& times) noexcept {
  double seconds = 0;
  for (const Durations& of_runner : times) seconds += of_runner.seconds();
  return seconds;
}

Durations& Times::add(const SimilarCalls& calls, const Site* site, Runner runner,
                      std::chrono::nanoseconds time) {
  Key key{calls.collective, calls.bytes, site};
  if (key.bytes) key.bytes = std::bit_floor(*key.bytes);
  const std::scoped_lock lock{mutex_};
  Durations& durations = rows_[key][static_cast<std::size_t>(runner)];
  durations.add(time);
  return durations;
}

void Times::compare(Durations& of, std::chrono::nanoseconds wait, std::chrono::nanoseconds move) {
  const std::scoped_lock lock{mutex_};
  of.compare(wait, move);
}

void Times::add_late(int rank, double wait_seconds) {
  const std::scoped_lock lock{mutex_};
  LateCalls& late = late_[rank];
  ++late.calls;
  late.wait_seconds += wait_seconds;
}

std::vector<KindOfCalls> Times::kinds() const {
  const std::scoped_lock lock{mutex_};
  std::vector<KindOfCalls> kinds;
  for (const auto& [key, times] : rows_) {  // the sites of a kind are neighbours
    if (kinds.empty() || kinds.back().collective != key.collective ||
        kinds.back().bytes != key.bytes)
      kinds.push_back({.collective = key.collective, .bytes = key.bytes});
    for (std::size_t i = 0; i < kRunners; ++i) kinds.back().times[i].add(times[i]);
    kinds.back().sites.emplace_back(key.site, times);
  }
  for (KindOfCalls& kind : kinds)
    std::ranges::stable_sort(kind.sites, std::ranges::greater{},
                             [](const auto& site) { return seconds_of(site.second); });
  return kinds;
}

std::map<int, LateCalls> Times::late() const {
  const std::scoped_lock lock{mutex_};
  return late_;
}

}  // namespace tutti::dropin

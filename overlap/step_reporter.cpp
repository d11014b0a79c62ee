#include "step_reporter.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "bytes.hpp"

namespace tutti::v0::detail {

void StepReporter::end_bucket(std::size_t bucket) noexcept {
  BucketTimes& times = times_[bucket];
  times.ended = Clock::now();
  next_.communicating += times.ended - std::max(times.begun, last_ended_);
  last_ended_ = times.ended;
}

void StepReporter::begin_report() {
  report_ = next_;
  bucket_reports_.resize(times_.size());
  is_recording_ = false;
  if (setup_.options.record == 0) return;
  StepTimes step;
  step.ready.resize(setup_.parameters.size());
  step.buckets.resize(times_.size());
  recorded_.push_back(std::move(step));
  if (recorded_.size() > setup_.options.record) recorded_.pop_front();
  is_recording_ = true;
}

void StepReporter::record(Readiness& readiness) noexcept {
  if (!is_recording_) return;
  StepTimes& step = recorded_.back();
  step.step = report_.step;
  step.began = began_;
  step.waited = waited_;
  step.ended = Clock::now();
  readiness.move_times(step.ready);
  std::ranges::copy(times_, step.buckets.begin());
}

void StepReporter::end_report(StepOutcome& ending, GradientBuckets& buckets,
                              std::span<const std::size_t> sequence) {
  report_.active = static_cast<int>(ending.active());
  report_.norm = std::sqrt(ending.norm_squared()) * ending.mean_factor(setup_.options.average);
  if (setup_.options.hash)  // the mean is over active ranks
    report_.hash = static_cast<std::uint32_t>(
        mixed_bits(static_cast<std::uint64_t>(ending.hash() + ending.active())));
  const std::span<double> arrivals = ending.arrivals();
  const auto [least, most] = std::ranges::minmax_element(arrivals);
  const double own = arrivals[static_cast<std::size_t>(setup_.all_ranks().rank())];
  const auto duration_of = [](double seconds) {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>{seconds});
  };
  const Duration wait = Clock::now() - waited_;
  report_.last = static_cast<Rank>(most - arrivals.begin());
  report_.skew = duration_of(*most - *least);
  report_.waiting = std::min(duration_of(*most - own), wait);
  report_.computing = waited_ - began_;
  report_.exposed = wait - report_.waiting;
  report_.communicating -= communicating_within(sequence, waited_, waited_ + report_.waiting);
  for (std::size_t i = 0; i < times_.size(); ++i)
    bucket_reports_[i] = {.begun = times_[i].begun - began_,
                          .ended = times_[i].ended - began_,
                          .bytes = buckets.memory_of(i).size()};
  const double busy = std::chrono::duration<double>(report_.communicating).count();
  const double exposed = std::chrono::duration<double>(report_.exposed).count();
  report_.hidden = busy > 0 ? std::clamp(1 - exposed / busy, 0.0, 1.0) : 1;
}

/// @return the time between two times in which at least one bucket was being reduced.
Duration StepReporter::communicating_within(std::span<const std::size_t> sequence,
                                            Clock::time_point begin, Clock::time_point end) const {
  Duration all{0};
  for (const std::size_t index : sequence) {
    const BucketTimes& times = times_[index];
    const Clock::time_point from = std::max(times.begun, begin);
    const Clock::time_point to = std::min(times.ended, end);
    all += std::max(to, from) - from;
    begin = std::max(begin, to);
  }
  return all;
}

}  // namespace tutti::v0::detail

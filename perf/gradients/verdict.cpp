#include "perf/gradients/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tutti::perf {

namespace {

/// Quartiles of differences between samples of the same rounds.
Quartiles difference_of(const std::vector<double>& samples, const std::vector<double>& base) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < samples.size(); ++i) differences.push_back(samples[i] - base[i]);
  return quartiles_of(differences);
}

SettingResult result_of(const GradientSetting& setting, const SettingTimes& times,
                        double computing_s) {
  SettingResult result{.setting = setting,
                       .serial = quartiles_of(times.serial_s),
                       .overlapped = quartiles_of(times.overlapped_s),
                       .exposed = difference_of(times.overlapped_s, times.computing_s),
                       .buckets = times.buckets.size(),
                       .sent_bytes = times.sent_bytes,
                       .plain_bytes = times.plain_bytes};
  result.medians = {.computing = computing_s,
                    .serial = computing_s + difference_of(times.serial_s, times.computing_s).median,
                    .overlapped = computing_s + result.exposed.median,
                    .ideal = ideal_step(computing_s, times.buckets)};
  return result;
}

const SettingResult* best_with(const GradientVerdict& verdict, std::size_t bucket_bytes) {
  const auto found = std::ranges::find(verdict.results, bucket_bytes, [](const SettingResult& r) {
    return r.setting.options.bucket_bytes;
  });
  return found == verdict.results.end() ? nullptr : &*found;
}

std::string distance_of(const StepTimes& times) {
  const double over = times.overlapped - times.ideal;
  return fmt::format("{} ms {} the ideal step of {} ms", format_ms(std::abs(over)),
                     over < 0 ? "below" : "over", format_ms(times.ideal));
}

}  // namespace

bool SettingResult::is_far_from_ideal() const noexcept {
  constexpr double kFarShare = 0.1;
  const double over = std::abs(medians.overlapped - medians.ideal);
  return over > kFarShare * medians.ideal && over > exposed.high - exposed.low;
}

GradientVerdict judge(const GradientTimes& times, const std::vector<GradientSetting>& settings) {
  GradientVerdict verdict{.computing = quartiles_of(times.computing_s), .steps = times.rounds()};
  std::vector<std::size_t> order(settings.size());
  for (std::size_t i = 0; i < settings.size(); ++i) order[i] = i;
  std::ranges::stable_sort(
      order, {}, [&](std::size_t i) { return median_of(times.settings[i].overlapped_s); });
  for (const std::size_t i : order) {
    SettingResult result = result_of(settings[i], times.settings[i], verdict.computing.median);
    result.against_best =
        compare(times.settings[i].overlapped_s, times.settings[order.front()].overlapped_s);
    const bool is_slower =
        verdict.steps >= kFewestForTest
            ? result.against_best.slower()
            : !verdict.results.empty() &&
                  result.overlapped.low > verdict.results.front().overlapped.high;
    result.is_tie = i != order.front() && !is_slower;
    verdict.results.push_back(std::move(result));
  }
  return verdict;
}

std::string sentence_of(const GradientVerdict& verdict) {
  const SettingResult& best = verdict.results.front();
  const double rest = exposed(best.medians);
  std::string text = best.setting.label + ": ";
  if (rest > 0) text += fmt::format("{} ms of each step are exposed", format_ms(rest));
  else text += "nothing of a step is exposed";
  text += ", " + distance_of(best.medians);
  const char* separator = "; ";
  const auto add = [&](std::size_t bucket_bytes, const char* name) {
    const SettingResult* const other = best_with(verdict, bucket_bytes);
    if (other == nullptr || other == &best) return;
    text += fmt::format("{}{} {} ms", std::exchange(separator, ", "), name,
                        format_ms(std::max(exposed(other->medians), 0.0)));
  };
  add(0, "per tensor");
  add(GradientOptions::kFlat, "flat");
  const auto ties = std::ranges::count(verdict.results, true, &SettingResult::is_tie);
  if (ties > 0) text += fmt::format("; {} other{} as good", ties, ties == 1 ? " is" : "s are");
  if (verdict.is_noisy())
    text += fmt::format("; steps vary by {} ms, so this may be chance", format_ms(verdict.noise()));
  return text;
}

std::string format_ms(double seconds) {
  const double ms = seconds * 1e3;
  if (std::abs(ms) < 0.995) return fmt::format("{:.2f}", ms);
  return fmt::format("{:.1f}", ms);
}

}  // namespace tutti::perf

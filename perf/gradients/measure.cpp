#include "perf/gradients/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "perf/failure.hpp"
#include "perf/interrupt.hpp"
#include "perf/measured_world.hpp"
#include "perf/statistics.hpp"

namespace tutti::perf {

namespace {

std::size_t elements_in(const Model& model, std::span<const std::size_t> tensors) {
  std::size_t count = 0;
  for (const std::size_t i : tensors) count += model.tensors[i].count;
  return count;
}

}  // namespace

GradientRounds::GradientRounds(Communicator& world, const Model& model,
                               const GradientsOptions& options)
    : world_{world}, model_{model}, options_{options}, replay_{world, model, options},
      alone_{world}, ready_s_(model.tensors.size()) {
  times_.settings.resize(options.settings.size());
  const double computing_s = step(StepKind::computing, 0);
  double round_s = 0;
  for (std::size_t i = 0; i < options.settings.size() && !times_.is_interrupted; ++i)
    round_s += computing_s + 2 * prepare(i);
  estimate_s_ = round_s * static_cast<double>(options.steps + options.warmup);
}

// The first step observes orders and touches memory. After it, plans no longer change.
double GradientRounds::prepare(std::size_t setting) {
  try {
    double time_s = step(StepKind::overlapped, setting);
    if (!times_.is_interrupted) time_s = step(StepKind::serial, setting);
    measure_alone(setting);
    return time_s;
  } catch (const Error& error) {  // all ranks have the same error for an impossible setting
    if (error.cause() != ErrorCode::invalid_argument) throw;
    throw Failure{ExitCode::usage,
                  fmt::format("{}: {}", options_.settings[setting].label, error.what())};
  }
}

double GradientRounds::step(StepKind kind, std::size_t setting) {
  const double own_s = replay_.step(kind, setting);
  const StepReport report =
      kind == StepKind::computing ? StepReport{} : replay_.sync(setting).last_step();
  std::array<double, 5> greatest{own_s, std::chrono::duration<double>(report.communicating).count(),
                                 static_cast<double>(report.sent_bytes),
                                 static_cast<double>(report.plain_bytes),
                                 interrupt_signal() != 0 ? 1.0 : 0.0};
  max_over_ranks(world_, greatest);
  communicating_s_ = greatest[1];
  if (kind != StepKind::computing) {
    times_.settings[setting].sent_bytes = static_cast<std::uint64_t>(greatest[2]);
    times_.settings[setting].plain_bytes = static_cast<std::uint64_t>(greatest[3]);
  }
  times_.is_interrupted = times_.is_interrupted || greatest[4] != 0;
  return greatest[0];
}

void GradientRounds::measure_alone(std::size_t setting) {
  const GradientOptions& options = options_.settings[setting].options;
  for (const std::vector<std::size_t>& tensors : replay_.sync(setting).buckets()) {
    BucketCost cost;
    if (options.compression.empty() && !times_.is_interrupted)
      cost.alone = alone_.seconds({.count = elements_in(model_, tensors),
                                   .type = model_.tensors[tensors.front()].type,
                                   .is_visible = options.storage != GradientStorage::flat,
                                   .algorithm = options.algorithm});
    times_.settings[setting].buckets.push_back(cost);
  }
}

void GradientRounds::run(const std::function<void(std::size_t)>& report) {
  const std::size_t rounds = options_.warmup + options_.steps;
  for (std::size_t i = 0; i < rounds && !times_.is_interrupted; ++i) {
    round(i, i >= options_.warmup);
    report(i + 1);
  }
  if (times_.rounds() > 0) find_costs();
}

// The order rotates: each setting is the first one of some rounds, and so is each kind of step.
void GradientRounds::round(std::size_t number, bool counts) {
  const std::size_t settings = options_.settings.size();
  const std::size_t complete = times_.rounds();
  for (std::size_t i = 0; i < settings && !times_.is_interrupted; ++i) {
    const double computing_s = step_computing(counts);
    const std::size_t setting = (i + number) % settings;
    if (counts) times_.settings[setting].computing_s.push_back(computing_s);
    step_setting(setting, (i + number / settings) % 2 == 0, counts);
  }
  if (!counts || !times_.is_interrupted) return;
  // Samples are compared round by round, so an incomplete round does not count.
  times_.computing_s.resize(complete * settings);
  for (std::vector<double>& ready : ready_s_) ready.resize(complete * settings);
  for (SettingTimes& setting : times_.settings)
    for (auto* samples :
         {&setting.computing_s, &setting.serial_s, &setting.communicating_s, &setting.overlapped_s})
      samples->resize(complete);
}

// One step per setting, for comparison with that setting.
double GradientRounds::step_computing(bool counts) {
  const double time_s = step(StepKind::computing, 0);
  if (!counts) return time_s;
  times_.computing_s.push_back(time_s);
  for (std::size_t i = 0; i < ready_s_.size(); ++i) ready_s_[i].push_back(replay_.ready_s()[i]);
  return time_s;
}

void GradientRounds::step_setting(std::size_t setting, bool is_serial_first, bool counts) {
  SettingTimes& times = times_.settings[setting];
  for (const bool is_serial : {is_serial_first, !is_serial_first}) {
    const double time_s = step(is_serial ? StepKind::serial : StepKind::overlapped, setting);
    if (!counts) continue;
    (is_serial ? times.serial_s : times.overlapped_s).push_back(time_s);
    if (is_serial) times.communicating_s.push_back(communicating_s_);
  }
}

// Finds when buckets are ready, and measures those that compression changes.
void GradientRounds::find_costs() {
  std::vector<double> ready_s;
  for (const std::vector<double>& samples : ready_s_) ready_s.push_back(median_of(samples));
  max_over_ranks(world_, ready_s);
  for (std::size_t i = 0; i < times_.settings.size(); ++i) {
    SettingTimes& times = times_.settings[i];
    const auto buckets = replay_.sync(i).buckets();
    const double communicating_s = median_of(times.communicating_s);
    for (std::size_t k = 0; k < buckets.size(); ++k) {
      BucketCost& cost = times.buckets[k];
      double bytes = 0;
      for (const std::size_t tensor : buckets[k]) {
        cost.ready = std::max(cost.ready, ready_s[tensor]);
        bytes += static_cast<double>(model_.tensors[tensor].count *
                                     size_of(model_.tensors[tensor].type));
      }
      if (!options_.settings[i].options.compression.empty())
        cost.alone = communicating_s * bytes / static_cast<double>(model_.bytes());
    }
    if (options_.settings[i].options.order == GradientOrder::negotiated)
      std::ranges::sort(times.buckets, {}, &BucketCost::ready);
  }
}

}  // namespace tutti::perf

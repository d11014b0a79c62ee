#include "perf/tuning/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include <tutti/spi/communicator.hpp>

#include "collectives/binding/select_for.hpp"
#include "perf/command_line.hpp"
#include "perf/failure.hpp"
#include "perf/interrupt.hpp"
#include "perf/statistics.hpp"
#include "perf/sweep/buffers.hpp"
#include "perf/sweep/context.hpp"
#include "perf/sweep/measure.hpp"
#include "perf/tuning/candidates.hpp"
#include "perf/tuning/store.hpp"
#include "selector/fit.hpp"

namespace tutti::perf {

namespace {

constexpr std::array<std::size_t, 5> kCalibrationBytes{64, 1024, 16 << 10, 256 << 10, 2 << 20};
constexpr std::size_t kCalibrationRounds = 7;

// Ranks of one host, or one rank of each host.
struct Level {
  std::vector<Rank> ranks;
  int hosts = 1;
};

std::vector<Level> levels_of(const Context& context) {
  std::vector<Level> levels;
  if (context.hosts.front().ranks.size() > 1) levels.push_back({context.hosts.front().ranks, 1});
  if (context.hosts.size() == 1) return levels;
  Level between{{}, static_cast<int>(context.hosts.size())};
  for (const Host& host : context.hosts) between.ranks.push_back(host.ranks.front());
  levels.push_back(std::move(between));
  return levels;
}

// Measures one level with one kind of buffers.
class Calibration {
 public:
  Calibration(MeasuredWorld& world, const TuneOptions& options, std::string buffers,
              bool is_oversubscribed)
      : world_{world}, options_{options.sweep},
        transport_{measured_transport(world.communicator())}, is_oversubscribed_{
                                                                  is_oversubscribed} {
    options_.buffers = std::move(buffers);
    options_.rounds = kCalibrationRounds;
    options_.warm_up_rounds = 2;
    options_.check = false;
  }

  // Returns nothing if it was interrupted.
  std::optional<detail::TunedCosts> run(int hosts) {
    for (int i = 0; i < kCollectives; ++i)
      for (const std::size_t bytes : kCalibrationBytes)
        if (const auto collective = static_cast<Collective>(i); collective != Collective::barrier)
          if (!time(collective, bytes)) return {};
    const detail::Fit fit =
        world_.communicator().rank() == 0 ? detail::fit_costs(races_, start_) : detail::Fit{};
    std::string transport = transport_;
    transport.erase(0, transport.find('+') + 1);  // in shm+tcp, the part that connects hosts
    return detail::TunedCosts{.ranks = world_.communicator().size(),
                              .hosts = hosts,
                              .transport = std::move(transport),
                              .visible = options_.buffers == "visible",
                              .costs = fit.costs,
                              .cells = cells_,
                              .loss = fit.loss,
                              .median_error = fit.median_error};
  }
  // The loss of choices by the assumed costs.
  [[nodiscard]] double assumed_loss() const { return detail::loss_of(races_, start_); }

 private:
  bool time(Collective collective, std::size_t bytes) {
    const Workload workload = with_bytes({.collective = collective,
                                          .type = options_.type,
                                          .op = options_.op,
                                          .size = world_.communicator().size()},
                                         bytes);
    const bool visible = options_.buffers == "visible";
    const Buffers buffers{workload, world_.communicator().rank()};
    const detail::Selection selection =
        select_for(world_.communicator(), buffers.calls().front(), {.visible = visible});
    start_ = selection.charged;
    std::vector<Candidate> candidates;
    std::vector<const detail::Candidate*> judged;
    for (const detail::Candidate& candidate : selection.candidates)
      if (candidate.refusal.empty()) {
        candidates.push_back(
            {.label = candidate.choice.text(),
             .algorithm = candidate.choice.name(),
             .choice = candidate.choice.text(),
             .segment = candidate.segment_bytes == 0 ? Options::kWhole : candidate.segment_bytes});
        judged.push_back(&candidate);
      }
    const Setting setting{world_, options_, is_oversubscribed_, [] {}};
    const SizeResult result = measure_size(setting, workload, candidates);
    if (result.interrupted) return false;
    if (world_.communicator().rank() == 0) keep(result, judged);
    return true;
  }

  void keep(const SizeResult& result, const std::vector<const detail::Candidate*>& judged) {
    detail::TimedRace race;
    for (std::size_t i = 0; i < result.measured.size(); ++i) {
      const Measured& measured = result.measured[i];
      if (measured.times_us.empty()) continue;
      race.push_back({.profile = &profile(judged[i]->choice, result.workload),
                      .bytes = total_bytes(result.workload),
                      .segment_bytes = judged[i]->segment_bytes,
                      .time_us = median_of(measured.times_us)});
    }
    cells_ += race.size();
    if (!race.empty()) races_.push_back(std::move(race));
  }

  const Profile& profile(const Choice& choice, const Workload& workload) {
    const std::pair key{workload.collective, choice.text()};
    const auto found = profiles_.find(key);
    if (found != profiles_.end()) return found->second;
    return profiles_.emplace(key, profile_of(choice, workload.size, 0)).first->second;
  }

  MeasuredWorld& world_;
  SweepOptions options_;
  std::string transport_;  // of its messages
  bool is_oversubscribed_;
  LinkCosts start_{};
  std::map<std::pair<Collective, std::string>, Profile> profiles_{};
  std::vector<detail::TimedRace> races_{};
  std::size_t cells_ = 0;
};

void print_costs(const detail::TunedCosts& costs, double assumed_loss) {
  const auto us = [](Femtoseconds time) { return static_cast<double>(time) / 1e9; };
  const auto ns = [](Femtoseconds time) { return static_cast<double>(time) / 1e6; };
  print_out("{} ranks on {} host{}, {}, {} buffers: {} times measured\n", costs.ranks, costs.hosts,
            costs.hosts == 1 ? "" : "s", costs.transport, costs.visible ? "visible" : "private",
            costs.cells);
  print_out(
      "  {:.3f} us per message, {:.3f} us per round, {:.4f} ns per byte, {:.4f} ns per byte "
      "reduced\n",
      us(costs.costs.alpha), us(costs.costs.round), ns(costs.costs.beta), ns(costs.costs.gamma));
  print_out(
      "  its choices take {:.3f}x the least time (assumed costs: {:.3f}x); half of its "
      "predictions are within {:.0f}%\n",
      costs.loss, assumed_loss, costs.median_error * 100);
}

}  // namespace

int calibrate(MeasuredWorld& world, const TuneOptions& options) {
  if (world.communicator().size() == 1)
    throw Failure{ExitCode::usage,
                  "one rank sends nothing: start more, by a launcher or --ranks 4"};
  const Context context = collect_context(world, {});
  detail::Tuning tuning = load_tuning(world, options.path);
  const bool is_first = world.communicator().rank() == 0;
  if (is_first) save_tuning(tuning, options.path);  // an error must come before the measurement
  bool interrupted = false;
  for (const Level& level : levels_of(context)) {
    const std::unique_ptr<MeasuredWorld> part = world.part(level.ranks);
    for (const std::string& buffers : options.buffers) {
      if (buffers == "visible" && level.hosts > 1) continue;
      if (part && !interrupted) {
        Calibration calibration{*part, options, buffers, context.is_oversubscribed()};
        const auto costs = calibration.run(level.hosts);
        interrupted = !costs;
        if (is_first && costs) {
          print_costs(*costs, calibration.assumed_loss());
          detail::keep_costs(tuning, *costs);
          save_tuning(tuning, options.path);
        }
      }
    }
    std::array<double, 1> any{interrupted ? 1.0 : 0.0};
    max_over_ranks(world.communicator(), any);
    interrupted = any[0] != 0;
  }
  if (is_first)
    print_out("{} {}\n", interrupted ? "interrupted; the results so far are in" : "wrote",
              options.path);
  return interrupted ? kSignalExit + std::max(interrupt_signal(), 2) : 0;
}

}  // namespace tutti::perf

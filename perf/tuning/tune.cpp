#include "perf/tuning/tune.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <tutti/error.hpp>
#include <tutti/spi/communicator.hpp>

#include "perf/command_line.hpp"
#include "perf/failure.hpp"
#include "perf/interrupt.hpp"
#include "perf/pages/draw.hpp"
#include "perf/statistics.hpp"
#include "perf/sweep/context.hpp"
#include "perf/tuning/candidates.hpp"
#include "perf/tuning/store.hpp"
#include "perf/units.hpp"

namespace tutti::perf {

namespace {

// Every candidate first runs a few times. Candidates slower than the best by kHopeless are dropped.
constexpr std::size_t kScreeningRounds = 5;
constexpr double kHopeless = 1.5;

Workload first_workload(const SweepOptions& options, int size) {
  return {.type = options.type, .op = options.op, .root = options.root, .size = size};
}

// All sizes of one collective; the barrier has one.
std::vector<Workload> workloads_of(Workload workload, const SweepOptions& options) {
  std::vector<Workload> workloads;
  for (const std::size_t bytes : options.sizes()) {
    const Workload sized = with_bytes(workload, bytes);
    if (workloads.empty() || workloads.back().count != sized.count) workloads.push_back(sized);
  }
  if (workload.collective == Collective::barrier) workloads.resize(1);
  return workloads;
}

// Rounds to nanoseconds: further digits are noise.
double to_nanoseconds(double microseconds) {
  return std::round(microseconds * 1000) / 1000;
}

double median_or_nothing(const Measured& measured) {
  return measured.times_us.empty() ? 0 : median_of(measured.times_us);
}

}  // namespace

Tuner::Tuner(MeasuredWorld& world, const TuneOptions& options)
    : world_{world}, options_{options}, context_{collect_context(world, options.arguments)} {
  if (world_.communicator().size() == 1)
    throw Failure{ExitCode::usage,
                  "one rank has nothing to choose: start more, by a launcher or --ranks 4"};
  hosts_ = static_cast<int>(context_.hosts.size());
  is_oversubscribed_ = context_.is_oversubscribed();
  transport_ = measured_transport(world_.communicator());
  tuning_ = load_tuning(world_, options_.path);
}

detail::TunedPlace Tuner::place_of(const TuneJob& job) const {
  return {.collective = job.workload.collective,
          .ranks = job.workload.size,
          .hosts = hosts_,
          .transport = transport_,
          .visible = job.buffers == "visible"};
}

bool Tuner::is_known(const TuneJob& job) const {
  const auto table = std::ranges::find(tuning_.tables, place_of(job), &detail::TunedTable::place);
  return table != tuning_.tables.end() &&
         std::ranges::any_of(table->cells, [&](const detail::TunedCell& cell) {
           return cell.bytes == total_bytes(job.workload) && cell.align == align_of(job) &&
                  cell.pattern == name_of(options_.sweep.pattern);
         });
}

std::string Tuner::align_of(const TuneJob& job) const {
  SweepOptions options = options_.sweep;
  options.buffers = job.buffers;
  return options.alignment_text();
}

detail::TunedTable& Tuner::table_for(const TuneJob& job) {
  const auto table = std::ranges::find(tuning_.tables, place_of(job), &detail::TunedTable::place);
  if (table != tuning_.tables.end()) return *table;
  tuning_.tables.push_back({.place = place_of(job)});
  return tuning_.tables.back();
}

// Only rank 0 knows the cells of the file, so it decides.
std::vector<TuneJob> Tuner::plan() {
  std::vector<TuneJob> jobs;
  for (const std::string& buffers : options_.buffers)
    for (const Collective collective : options_.sweep.collectives) {
      // The barrier has no buffers.
      if (collective == Collective::barrier && buffers != options_.buffers.front()) continue;
      Workload workload = first_workload(options_.sweep, world_.communicator().size());
      workload.collective = collective;
      for (const Workload& sized : workloads_of(workload, options_.sweep))
        jobs.push_back({.workload = sized, .buffers = buffers});
    }
  std::vector<std::int64_t> known;
  for (const TuneJob& job : jobs) known.push_back(!options_.again && is_known(job) ? 1 : 0);
  from_rank_zero(world_.communicator(), known);
  std::vector<TuneJob> missing;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (known[i] == 0) missing.push_back(std::move(jobs[i]));
  for (TuneJob& job : missing)
    job.candidates = doubtful_candidates(world_, job.workload, job.buffers == "visible");
  return missing;
}

void Tuner::announce(const std::vector<TuneJob>& jobs) const {
  std::size_t cells = 0;
  for (const TuneJob& job : jobs) cells += job.candidates.size();
  // Warming up can take half of the budget.
  const double most_s = static_cast<double>(cells) * options_.sweep.budget_s * 1.5;
  print_out("tutti tune: {} ranks on {} host{}, over {}, into {}\n", world_.communicator().size(),
            hosts_, hosts_ == 1 ? "" : "s", transport_, options_.path);
  print_out("private arrays: {}; calls: {}\n", options_.sweep.align.text(),
            name_of(options_.sweep.pattern));
  if (jobs.empty()) {
    print_out("nothing to measure: the file has all cells; --again measures them again\n");
    return;
  }
  print_out(
      "{} sizes to measure, {} choices in doubt: at most {}; an interrupted run can be continued\n",
      jobs.size(), cells, format_duration(most_s));
}

// The candidates that can still be the fastest after a few rounds.
std::vector<Candidate> Tuner::screen(const TuneJob& job) {
  SweepOptions quick = options_.sweep;
  quick.buffers = job.buffers;
  quick.rounds = kScreeningRounds;
  quick.warm_up_rounds = 1;
  quick.check = false;
  const Setting setting{world_, quick, is_oversubscribed_, [] {}};
  const SizeResult result = measure_size(setting, job.workload, job.candidates);
  interrupted_ = result.interrupted;
  std::vector<double> medians;
  for (const Measured& measured : result.measured) medians.push_back(median_or_nothing(measured));
  max_over_ranks(world_.communicator(), medians);  // only rank 0 has them
  double least =
      0;  // of the algorithms: one of them remains even if a plain call was faster by chance
  for (std::size_t i = 0; i < medians.size(); ++i)
    if (medians[i] > 0 && job.candidates[i].kind != CandidateType::automatic)
      least = least == 0 ? medians[i] : std::min(least, medians[i]);
  std::vector<Candidate> hopeful;
  for (std::size_t i = 0; i < medians.size(); ++i)
    if (medians[i] > 0 &&
        (medians[i] <= kHopeless * least || job.candidates[i].kind == CandidateType::automatic))
      hopeful.push_back(job.candidates[i]);
  return hopeful;
}

void Tuner::keep(const TuneJob& job, const SizeResult& result) {
  detail::TunedTable& table = table_for(job);
  const std::size_t bytes = total_bytes(job.workload);
  std::erase_if(table.cells, [&](const detail::TunedCell& cell) { return cell.bytes == bytes; });
  for (const Measured& measured : result.measured) {
    if (measured.times_us.empty() || measured.candidate.kind != CandidateType::forced) continue;
    const Summary summary = summarize(measured.times_us);
    table.cells.push_back({.bytes = bytes,
                           .algorithm = measured.candidate.choice,
                           .segment_bytes = measured.segment_bytes,
                           .median_us = to_nanoseconds(summary.median),
                           .low_us = to_nanoseconds(summary.interval.low),
                           .high_us = to_nanoseconds(summary.interval.high),
                           .align = align_of(job),
                           .pattern = std::string{name_of(options_.sweep.pattern)}});
  }
  std::ranges::stable_sort(table.cells, {}, &detail::TunedCell::bytes);
  table.rules = detail::rules_of(table.cells);
  save_tuning(tuning_, options_.path);
}

void Tuner::report(const TuneJob& job, const SizeResult& result) {
  const Measured* best = nullptr;
  double automatic = 0;
  for (const Measured& measured : result.measured) {
    wrong_ += measured.wrong;
    if (measured.times_us.empty()) continue;
    const double median = median_of(measured.times_us);
    if (measured.candidate.kind == CandidateType::automatic) {
      automatic = median;
      automatic_.push_back(
          {place_of(job), total_bytes(job.workload), summarize(measured.times_us)});
    } else if (best == nullptr || median < median_of(best->times_us)) best = &measured;
  }
  if (best == nullptr) return;
  const double least = median_of(best->times_us);
  const double loss = automatic > 0 ? std::max(automatic / least, 1.0) : 1.0;
  losses_.push_back(loss);
  print_out("{:14} {:7} {:>6}  {:>8} us  {}{}\n", name_of(job.workload), job.buffers,
            format_bytes(total_bytes(job.workload)), format_us(least), best->candidate.label,
            loss > 1.05 ? fmt::format("  (the model's choice: {:.2f}x)", loss) : "");
}

void Tuner::close() const {
  if (!losses_.empty())
    print_out(
        "without the file the model's choice takes {:.3f}x the best time in the geometric "
        "mean, {:.2f}x at the worst\n",
        geometric_mean(losses_), *std::ranges::max_element(losses_));
  if (wrong_ > 0) print_out("{} wrong elements: do not use this file\n", wrong_);
  if (!losses_.empty() || interrupted_)
    print_out("{} {}\n", interrupted_ ? "interrupted; the results so far are in" : "wrote",
              options_.path);
}

// The page shows all cells of the file for these ranks, including those of earlier runs.
int Tuner::write_page() {
  if (options_.page_command.empty()) return 0;
  const TunePage page{.context = context_,
                      .options = options_,
                      .tuning = tuning_,
                      .automatic = automatic_,
                      .transport = transport_,
                      .hosts = hosts_};
  const ExitCode code = draw(options_.page_command, lines_of(page, world_));
  if (code == ExitCode::good) print_out("wrote {}\n", options_.html);
  return static_cast<int>(code);
}

int Tuner::run() {
  const std::vector<TuneJob> jobs = plan();
  if (is_first()) {
    announce(jobs);
    save_tuning(tuning_, options_.path);  // an error must come before the measurement
  }
  SweepOptions precise = options_.sweep;
  for (const TuneJob& job : jobs) {
    const std::vector<Candidate> hopeful = screen(job);
    if (interrupted_) break;
    precise.buffers = job.buffers;
    const Setting setting{world_, precise, is_oversubscribed_, [] {}};
    const SizeResult result = measure_size(setting, job.workload, hopeful);
    interrupted_ = result.interrupted;
    if (interrupted_) break;
    if (!is_first()) continue;
    report(job, result);
    keep(job, result);
  }
  std::array<std::int64_t, 2> ends{0, static_cast<std::int64_t>(wrong_)};
  if (is_first()) {
    close();
    ends[0] = write_page();
  }
  from_rank_zero(world_.communicator(), ends);
  if (ends[1] > 0) return static_cast<int>(ExitCode::wrong_data);
  return interrupted_ ? kSignalExit + std::max(interrupt_signal(), 2) : static_cast<int>(ends[0]);
}

}  // namespace tutti::perf

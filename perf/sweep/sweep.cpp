#include "perf/sweep/sweep.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <tutti/spi/communicator.hpp>

#include "base/json_text.hpp"
#include "perf/environment.hpp"
#include "perf/failure.hpp"
#include "perf/failure_report.hpp"
#include "perf/interrupt.hpp"
#include "perf/pages/draw.hpp"
#include "perf/spawn.hpp"
#include "perf/sweep/baseline.hpp"
#include "perf/sweep/choice.hpp"
#include "perf/sweep/context.hpp"
#include "perf/sweep/measure.hpp"
#include "perf/sweep/table.hpp"
#include "perf/units.hpp"

namespace tutti::perf {

namespace {

// All sizes of one collective, or of messages.
struct SweepSection {
  std::string_view name;
  std::vector<Candidate> candidates;
  std::vector<Workload> workloads;
};

// Output of rank 0. On other ranks this object is idle.
struct Reports {
  Table table{stdout, false};
  LineFile csv{};
  LineFile json{};
  std::vector<std::string> json_lines{};  // input of the plot
  std::vector<std::string> commands{};    // draw the plot
  std::unique_ptr<Baseline> baseline{};
  std::vector<std::string> slower{};

  void record(const nlohmann::ordered_json& record) {
    json_lines.push_back(detail::text_of_json(record));
    json.write(json_lines.back());
  }
};

class Sweep {
 public:
  Sweep(MeasuredWorld& world, const std::string& who, const SweepOptions& options)
      : world_{world}, who_{who}, options_{options} {}

  // Runs on all ranks and returns the same exit code on all of them.
  int run() {
    check_options();
    const std::vector<SweepSection> sections = plan();
    const Context context = collect_context(world_, options_.arguments);
    is_oversubscribed_ = context.is_oversubscribed();
    if (const int code = open_reports(); code != 0) return code;
    if (is_reporter()) {
      reports_.record(json_of(context, options_));
      reports_.table.header(context, options_);
      if (!options_.plot.empty() && !std::ranges::all_of(sections, has_sizes))
        reports_.table.warn("the barrier has no sizes: the plot leaves it out");
    }
    std::size_t cells = 0;
    for (const SweepSection& section : sections)
      cells += section.candidates.size() * section.workloads.size();
    ProgressLine progress{options_.quiet ? nullptr : stderr, cells, options_.budget_s};
    hosts_ = static_cast<int>(context.hosts.size());
    for (const SweepSection& section : sections)
      if (!interrupted_) run_section(section, progress);
    return on_rank_zero(world_, who_, [&] { return close_reports(); });
  }

 private:
  [[nodiscard]] bool is_reporter() { return world_.communicator().rank() == 0; }

  // An error of flags on this world occurs on all ranks.
  void check_options() {
    const int size = world_.communicator().size();
    if (options_.ranks && *options_.ranks != size)
      throw Failure{ExitCode::usage,
                    fmt::format("--ranks {}, but {} were started: under a launcher, or over "
                                "transport mpi or shm+mpi, the launcher starts them (mpirun -n {} "
                                "tutti sweep)",
                                *options_.ranks, size, *options_.ranks)};
    if (options_.root >= size)
      throw Failure{ExitCode::usage, fmt::format("--root {} is not a rank: choose 0 .. {}",
                                                 options_.root, size - 1)};
    check_names(options_, size, world_.has_library());
  }

  std::vector<SweepSection> plan() {
    Workload workload{.type = options_.type,
                      .op = options_.op,
                      .root = options_.root,
                      .size = world_.communicator().size(),
                      .in_place = options_.in_place};
    std::vector<SweepSection> sections;
    std::string refused;
    const auto add = [&](std::optional<Collective> collective) {
      if (const std::string why = refusal_of(workload); !why.empty())
        throw Failure{ExitCode::usage, fmt::format("{}: {}", name_of(workload), why)};
      if (workload.in_place && !has_in_place(workload)) return;
      SweepSection section = section_of(workload, collective);
      if (options_.determinism) drop_weaker_candidates(section);
      const auto serves = [&](const Candidate& candidate) {
        const std::string why = refusal_of(world_, workload, candidate);
        if (!why.empty()) refused = why;
        return why.empty();
      };
      if (std::ranges::any_of(section.candidates, serves)) sections.push_back(std::move(section));
    };
    for (const Collective collective : options_.collectives) {
      workload.collective = collective;
      add(collective);
    }
    workload.uneven = true;
    for (const Collective collective : options_.uneven) {
      workload.collective = collective;
      add(collective);
    }
    workload.uneven = false;
    for (const PointToPoint message : options_.messages) {
      workload.point_to_point = message;
      add({});
    }
    if (sections.empty())
      throw Failure{
          ExitCode::usage,
          "nothing to measure: " + (refused.empty() ? "none of the collectives has one of the "
                                                      "algorithms, or none runs --in-place"
                                                    : refused)};
    if (!options_.plot.empty() && std::ranges::none_of(sections, has_sizes))
      throw Failure{ExitCode::usage,
                    "--plot draws over sizes, and the barrier has none: leave --plot out, or add "
                    "another collective"};
    return sections;
  }

  // Removes candidates below the required determinism. A named one is an error.
  void drop_weaker_candidates(SweepSection& section) {
    std::erase_if(section.candidates, [&](const Candidate& candidate) {
      const std::string why =
          determinism_gap(world_, section.workloads.front(), candidate, *options_.determinism);
      if (!why.empty() && !options_.algorithms.empty()) throw Failure{ExitCode::usage, why};
      return !why.empty();
    });
  }

  // All workloads of a section are of one collective, and the barrier has no sizes.
  static bool has_sizes(const SweepSection& section) {
    return total_bytes(section.workloads.front()) > 0;
  }

  SweepSection section_of(const Workload& workload, std::optional<Collective> collective) {
    SweepSection section{name_of(workload),
                         candidates_for(collective, options_, workload.size, world_.has_library()),
                         {}};
    keep_fitting(workload, options_, section.candidates);
    require_proofs(workload, options_, section.candidates);
    for (const std::size_t bytes : options_.sizes()) {
      const Workload sized = with_bytes(workload, bytes);
      // Small sizes may round to the same number of elements.
      if (section.workloads.empty() || section.workloads.back().count != sized.count)
        add_forms(sized, section.workloads);
    }
    return section;
  }

  // On GPUs each size is also measured in place, as by nccl-tests, whose columns have both.
  void add_forms(Workload workload, std::vector<Workload>& workloads) const {
    workloads.push_back(workload);
    const bool takes_both = options_.on_gpus || options_.format == "nccl-tests";
    if (!takes_both || options_.in_place) return;
    workload.in_place = true;
    if (has_in_place(workload) && total_bytes(workload) > 0) workloads.push_back(workload);
  }

  int open_reports() {
    return on_rank_zero(world_, who_, [&] {
      reports_.table = Table{options_.has_table() ? stdout : nullptr, options_.color,
                             make_columns(options_.format)};
      if (!options_.plot.empty()) reports_.commands.push_back(plot_command(options_.plot));
      if (!options_.html.empty())
        reports_.commands.push_back(page_command(options_.html, "sweep.py"));
      if (!options_.baseline.empty())
        reports_.baseline = std::make_unique<Baseline>(options_.baseline, options_.touch);
      reports_.csv = LineFile{options_.csv};
      reports_.json = LineFile{options_.json};
      reports_.csv.write(csv_header());
      return 0;
    });
  }

  void run_section(const SweepSection& section, ProgressLine& progress) {
    if (is_reporter()) reports_.table.open(section.workloads.front(), options_.on_gpus);
    const Setting setting{world_, options_, is_oversubscribed_, [&] {
                            if (is_reporter()) progress.tick();
                          }};
    Halves halves;  // of the current size
    for (std::size_t next = 0; next < section.workloads.size() && !interrupted_; ++next) {
      const Workload& workload = section.workloads[next];
      progress.at(fmt::format("{} {}", section.name, format_bytes(total_bytes(workload))));
      SizeResult result = measure_size(setting, workload, section.candidates);
      progress.done(section.candidates.size());
      interrupted_ = result.interrupted;
      if (!is_reporter()) continue;
      const Verdict verdict = report(result);
      (workload.in_place ? halves.in_place : halves.out_of_place) = {std::move(result), verdict};
      const bool has_more = next + 1 < section.workloads.size() &&
                            section.workloads[next + 1].count == workload.count && !interrupted_;
      if (!has_more) reports_.table.rows(std::exchange(halves, {}), options_.on_gpus);
    }
    if (is_reporter()) reports_.table.end_rows();
  }

  // Writes the results of a size to the files.
  Verdict report(const SizeResult& result) {
    const Verdict verdict = judge(result);
    tally_.add(result, verdict);
    const bool has_auto = std::ranges::any_of(result.measured, [](const Measured& measured) {
      return measured.candidate.kind == CandidateType::automatic && !measured.times_us.empty();
    });
    const bool is_told = result.workload.in_place && !options_.in_place;  // reported out of place
    if (has_auto && is_collective(result.workload) && !is_told)
      reports_.record(choice_of(world_, result.workload, options_.buffers == "visible"));
    for (std::size_t i = 0; i < result.measured.size(); ++i) {
      if (verdict.summaries[i].samples == 0) continue;
      const Cell cell{.workload = result.workload,
                      .measured = result.measured[i],
                      .summary = verdict.summaries[i],
                      .against_best = verdict.against_best[i],
                      .standing = verdict.standings[i],
                      .transport = transport_name(),
                      .buffers = buffers_name(),
                      .hosts = hosts_,
                      .graph = options_.graph,
                      .align = options_.alignment_text(result.measured[i].candidate.align),
                      .pattern = options_.pattern};
      reports_.csv.write(csv_row(cell));
      reports_.record(json_of(cell));
      if (!reports_.baseline) continue;
      if (const auto line = reports_.baseline->slower(cell, options_.fail_over))
        reports_.slower.push_back(*line);
    }
    return verdict;
  }

  [[nodiscard]] std::string buffers_name() const {
    if (!options_.on_gpus) return options_.buffers;
    return options_.buffers == "visible" ? "cuda:visible" : "cuda";
  }
  [[nodiscard]] std::string transport_name() {
    Communicator& communicator = world_.communicator();
    if (world_.gpu() != nullptr) return streams_of(communicator)->name();
    return transport_of(communicator).capabilities().name;
  }

  [[nodiscard]] nlohmann::ordered_json summary() const {
    nlohmann::ordered_json record{{"record", "summary"},
                                  {"cells", tally_.cells},
                                  {"wrong", options_.check ? nlohmann::ordered_json(tally_.wrong)
                                                           : nlohmann::ordered_json(nullptr)},
                                  {"unequal", tally_.unequal},
                                  {"sizes", tally_.sizes},
                                  {"ties", tally_.ties},
                                  {"auto_best", tally_.auto_best},
                                  {"auto_worst_loss", tally_.worst_auto_loss},
                                  {"slower_than_baseline", reports_.slower.size()},
                                  {"interrupted", interrupted_}};
    const auto mean = [](const std::vector<double>& ratios) {
      return ratios.empty() ? nlohmann::ordered_json(nullptr)
                            : nlohmann::ordered_json(geometric_mean(ratios));
    };
    record["ours_vs_native"] = mean(tally_.ours_vs_native);
    record["auto_vs_native"] = mean(tally_.auto_vs_native);
    return record;
  }

  int close_reports() {
    reports_.record(summary());
    reports_.table.close(tally_, options_.check);
    for (const std::string& line : reports_.slower) reports_.table.warn(line);
    if (reports_.baseline)
      reports_.table.note(fmt::format(
          "compared {} configurations with the baseline, {} are slower; {} are not in it",
          reports_.baseline->matched(), reports_.slower.size(), reports_.baseline->unmatched()));
    if (interrupted_) reports_.table.warn("interrupted: the sweep is not complete");
    int code = 0;
    if (tally_.cells > 0)
      for (const std::string& command : reports_.commands) code = std::max(code, drawn_by(command));
    for (const std::string& path : {options_.csv, options_.json, options_.plot, options_.html})
      if (!path.empty() && path != "-" && code == 0) reports_.table.note("wrote " + path);
    if (tally_.wrong > 0 || tally_.unequal > 0) return static_cast<int>(ExitCode::wrong_data);
    if (interrupted_) return kSignalExit + std::max(interrupt_signal(), 2);
    if (!reports_.slower.empty()) return static_cast<int>(ExitCode::slower);
    return code;
  }

  int drawn_by(const std::string& command) try {
    return static_cast<int>(draw(command, reports_.json_lines));
  } catch (const Failure& failure) {
    return report_on_all(who_, failure);
  }

  MeasuredWorld& world_;
  const std::string& who_;
  const SweepOptions& options_;
  Reports reports_{};
  Tally tally_{};
  int hosts_ = 1;
  bool interrupted_ = false;
  bool is_oversubscribed_ = false;
};

}  // namespace

int run_sweep(MeasuredWorld& world, const std::string& who, const SweepOptions& options) {
  return Sweep{world, who, options}.run();
}

}  // namespace tutti::perf

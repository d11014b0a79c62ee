// `tutti gradients`: which options of GradientSync suit a model on the ranks at hand.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/json_text.hpp"
#include "base/text_file.hpp"
#include "command/commands.hpp"
#include "command/on_world.hpp"
#include "perf/command_line.hpp"
#include "perf/environment.hpp"
#include "perf/failure.hpp"
#include "perf/failure_report.hpp"
#include "perf/gradients/fit.hpp"
#include "perf/gradients/measure.hpp"
#include "perf/gradients/predict.hpp"
#include "perf/gradients/report.hpp"
#include "perf/interrupt.hpp"
#include "perf/line_file.hpp"
#include "perf/pages/draw.hpp"
#include "perf/units.hpp"

namespace tutti::command {

using perf::ExitCode;
using perf::GradientsOptions;
using perf::GradientVerdict;
using perf::MeasuredWorld;
using perf::Model;
using perf::write_out;

namespace {

const std::string kGradientsName = "tutti gradients";
constexpr double kProgressEvery_s = 5;

// Rank 0 reads the file and sends its text to all ranks, so that they agree on its errors.
std::string text_of_file(Communicator& world, const std::string& path) {
  std::string text, why;  // of rank 0
  std::array<std::int64_t, 1> size{-1};
  if (world.rank() == 0) {
    try {
      text = detail::read_text_file(path);
      size[0] = static_cast<std::int64_t>(text.size());
    } catch (const Error& error) {
      why = error.what();
    }
  }
  perf::from_rank_zero(world, size);
  if (size[0] < 0) {
    if (path.find_first_of("./") == path.npos)
      perf::reject_word("model", path, perf::built_in_models());
    throw perf::Failure{
        ExitCode::usage,
        fmt::format("{}; expected a file of GradientSync::write_trace, or one of {}", why,
                    fmt::join(perf::built_in_models(), ", "))};
  }
  text.resize(static_cast<std::size_t>(size[0]));
  if (!text.empty()) world.broadcast(std::span{text}, 0);
  return text;
}

Model model_of(Communicator& world, const GradientsOptions& options) {
  if (options.is_built_in)
    return perf::with_times(perf::built_in_model(options.model), *options.compute_s);
  Model model = perf::read_model(text_of_file(world, options.model), options.model);
  return options.compute_s ? perf::scaled_to(std::move(model), *options.compute_s) : model;
}

// Output of rank 0. On other ranks this object is idle.
class GradientsReports {
 public:
  explicit GradientsReports(const GradientsOptions& options) : options_{options} {}

  void open() {
    if (!options_.plot.empty()) commands_.push_back(perf::plot_command(options_.plot));
    if (!options_.html.empty())
      commands_.push_back(perf::page_command(options_.html, "gradients.py"));
    perf::check_writable(options_.best);
    json_ = perf::LineFile{options_.json};
  }
  void record(const nlohmann::ordered_json& record) {
    lines_.push_back(detail::text_of_json(record));
    json_.write(lines_.back());
  }
  // Writes to standard output, unless the records go there.
  void say(const std::string& text) const {
    if (options_.json != "-") write_out(text, stdout);
  }
  void result(const GradientVerdict& verdict, std::optional<double> wanted_s) {
    for (std::size_t i = 0; i < verdict.results.size(); ++i)
      record(perf::gradients_record(verdict, i));
    say(perf::gradients_table(verdict, wanted_s));
  }
  void save_best(const GradientVerdict& verdict, const std::string& comment) const {
    if (options_.best.empty()) return;
    save_gradient_options(options_.best, verdict.results.front().setting.options);
    std::ofstream file{options_.best, std::ios::app};
    file << "// " << comment << "\n";
  }
  [[nodiscard]] ExitCode draw_all() const {
    ExitCode code = ExitCode::good;
    for (const std::string& command : commands_) code = std::max(code, perf::draw(command, lines_));
    return code;
  }
  void close() const {
    for (const std::string& path : {options_.json, options_.plot, options_.html, options_.best})
      if (!path.empty()) say("# wrote " + path + "\n");
  }

 private:
  const GradientsOptions& options_;
  perf::LineFile json_{};
  std::vector<std::string> lines_{};     // input of the pictures
  std::vector<std::string> commands_{};  // draw the pictures
};

class GradientsCommand {
 public:
  GradientsCommand(MeasuredWorld& world, GradientsOptions options)
      : world_{world}, options_{std::move(options)}, reports_{options_} {}

  // Runs on all ranks and returns the same exit code on all of them.
  int run() {
    Communicator& ranks = world_.communicator();
    const Model model = model_of(ranks, options_);
    const perf::Context context = perf::collect_context(world_, options_.arguments);
    perf::check_memory(world_, context, perf::bytes_needed(model, options_.settings),
                       fmt::format("{} settings of {}", options_.settings.size(), model.name));
    const auto open = [&] { return reports_.open(), 0; };
    if (const int code = on_rank_zero(world_, kGradientsName, open); code != 0) return code;
    if (is_reporter()) {
      reports_.record(perf::gradients_record(context, model, options_));
      say(perf::gradients_header(context, model, options_));
    }
    say(perf::predict_buckets(ranks, model, options_));
    perf::GradientRounds rounds{ranks, model, options_};
    if (!rounds.times().is_interrupted) tell_estimate(rounds.estimate_s());
    const auto start = std::chrono::steady_clock::now();
    double told_s = 0;
    rounds.run([&](std::size_t round) {
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
      if (elapsed.count() - told_s < kProgressEvery_s) return;
      told_s = elapsed.count();
      tell_progress(round, elapsed.count());
    });
    return on_rank_zero(world_, kGradientsName,
                        [&] { return report(rounds.times(), context, model); });
  }

 private:
  [[nodiscard]] bool is_reporter() { return world_.communicator().rank() == 0; }
  [[nodiscard]] std::size_t rounds() const { return options_.steps + options_.warmup; }

  void say(const std::string& text) {
    if (is_reporter()) reports_.say(text);
  }

  void tell_estimate(double seconds) {
    const std::size_t settings = options_.settings.size();
    say(fmt::format("# {} setting{} in {} rounds take about {}\n", settings,
                    settings == 1 ? "" : "s", rounds(), perf::format_duration(seconds)));
  }

  void tell_progress(std::size_t round, double elapsed_s) {
    if (!is_reporter() || round == rounds()) return;
    const double left_s =
        elapsed_s / static_cast<double>(round) * static_cast<double>(rounds() - round);
    fmt::print(stderr, "{}: {} of {} rounds done, about {} left\n", kGradientsName, round, rounds(),
               perf::format_duration(left_s));
    std::fflush(stderr);
  }

  // The time that a step should compute, as measured on an undisturbed machine. A sleep cannot miss
  // its time.
  [[nodiscard]] std::optional<double> wanted_s(const Model& model) const {
    if (options_.computing == perf::Computing::sleep) return {};
    return model.compute_s;
  }

  // @return the exit status.
  int report(const perf::GradientTimes& times, const perf::Context& context, const Model& model) {
    int code = 0;
    GradientVerdict verdict;
    if (times.rounds() > 0) {
      verdict = perf::judge(times, options_.settings);
      reports_.result(verdict, wanted_s(model));
      reports_.save_best(verdict,
                         fmt::format("Of {}, {} ranks, {}: {}", options_.model, context.ranks,
                                     context.started, perf::sentence_of(verdict)));
    }
    reports_.record(perf::gradients_summary(verdict, times.is_interrupted));
    if (verdict.steps > 0) {
      code = static_cast<int>(reports_.draw_all());
      if (code == 0) reports_.close();
    }
    if (!times.is_interrupted) return code;
    say(fmt::format("# interrupted: {} of {} steps were measured\n", verdict.steps,
                    options_.steps));
    return perf::kSignalExit + std::max(perf::interrupt_signal(), 2);
  }

  MeasuredWorld& world_;
  GradientsOptions options_;  // includes the bucket sizes that were predicted
  GradientsReports reports_;
};

int gradients(const GradientsOptions& options) {
  perf::SweepOptions joining;
  joining.transport = options.transport;
  joining.timeout_s = options.timeout_s;
  return on_world(kGradientsName, joining, [&](MeasuredWorld& world) {
    return GradientsCommand{world, options}.run();
  });
}

}  // namespace

void add_gradients(CLI::App& app, std::function<int()>& run) {
  const auto options = std::make_shared<GradientsOptions>();
  CLI::App* command =
      app.add_subcommand("gradients", "find the best options of GradientSync for a model");
  perf::declare_gradients_flags(*command, *options);
  command->callback([options, command, &run] {
    perf::complete(*command, *options);
    run = [options] { return gradients(*options); };
  });
}

}  // namespace tutti::command

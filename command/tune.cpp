// `tutti tune` and `tutti calibrate`: measure the inputs of algorithm selection, and write a file
// that init reads.
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "command/commands.hpp"
#include "command/on_world.hpp"
#include "perf/command_line.hpp"
#include "perf/failure.hpp"
#include "perf/failure_report.hpp"
#include "perf/pages/draw.hpp"
#include "perf/sweep/baseline.hpp"
#include "perf/tuning/calibrate.hpp"
#include "perf/tuning/tune.hpp"
#include "runtime/world/tuning_file.hpp"

namespace tutti::command {

using perf::ExitCode;
using perf::Failure;
using perf::MeasuredWorld;
using perf::TuneOptions;

namespace {

constexpr const char* kBuffers[]{"private", "visible"};

// If ranks see each other's memory, both kinds of buffers need a table.
std::vector<std::string> usual_buffers(const std::string& transport) {
  if (perf::transport_named(transport).shares_memory) return {kBuffers[0], kBuffers[1]};
  return {kBuffers[0]};
}

void read_buffers(TuneOptions& options, const std::string& text) {
  options.buffers = perf::split(text, ',');
  for (const std::string& kind : options.buffers)
    perf::index_among("kind of buffers", kind, {kBuffers[0], kBuffers[1]});
}

// The flags that a file of --replay has: what a program called, or a sweep measured.
constexpr std::array kReplayed{"--collective", "--begin", "--end", "--factor", "--align"};

bool is_replayed(std::string_view argument) {
  return std::ranges::find(kReplayed, argument.substr(0, argument.find('='))) != kReplayed.end();
}

// @return the arguments of the command with those of its file of --replay.
std::vector<std::string> replayed(std::vector<std::string> arguments, const std::string& path,
                                  const CLI::App& app) {
  for (const char* const flag : kReplayed)
    if (app.count(flag) > 0)
      throw Failure{ExitCode::usage,
                    fmt::format("--replay has the collectives and sizes: leave {} out", flag)};
  std::erase_if(arguments, is_replayed);
  std::ranges::copy_if(perf::recorded_run(path).arguments, std::back_inserter(arguments),
                       is_replayed);
  return arguments;
}

// Checks flags that depend on each other, and sets the default path of the file.
void complete(TuneOptions& options, const CLI::App& app) {
  options.arguments = perf::repeat_arguments(app);
  if (!options.sweep.replay.empty()) {
    options.arguments = replayed(options.arguments, options.sweep.replay, app);
    options.sweep = perf::sweep_options(options.arguments);
  }
  if (!options.buffers.empty())
    options.arguments.push_back(fmt::format("--buffers={}", fmt::join(options.buffers, ",")));
  options.arguments.emplace_back("--again");
  if (options.buffers.empty()) options.buffers = usual_buffers(options.sweep.transport);
  for (const std::string& kind : options.buffers) {
    options.sweep.buffers = kind;
    perf::check_together(options.sweep);  // rejects kinds of buffers that the transport lacks
  }
  if (!options.sweep.uneven.empty() || !options.sweep.messages.empty())
    throw Failure{ExitCode::usage,
                  "--collective: tables cover collectives with equal blocks, without v-forms and "
                  "messages"};
  if (!options.sweep.more_alignments.empty())
    throw Failure{ExitCode::usage, "--align: a table has one alignment, and several are given"};
  if (options.path.empty())
    options.path = runtime::usual_tuning_path(runtime::process_environment());
  if (options.path.empty())
    throw Failure{ExitCode::environment,
                  "no folder for the file: set XDG_CONFIG_HOME or HOME, or name a file by -o"};
}

// Rank 0 writes the page. It checks that it can before the measurement, which takes minutes.
int tune(MeasuredWorld& world, TuneOptions options) {
  const int code = on_rank_zero(world, "tutti tune", [&] {
    if (!options.html.empty()) options.page_command = perf::page_command(options.html, "tune.py");
    return 0;
  });
  return code != 0 ? code : perf::Tuner{world, options}.run();
}

// Adds one of the two commands of this file, with the flags of both.
CLI::App* add_measuring(CLI::App& app, const char* name, const char* help,
                        const std::shared_ptr<TuneOptions>& options, std::function<int()>& run,
                        int (*work)(MeasuredWorld&, TuneOptions)) {
  CLI::App* command = app.add_subcommand(name, help);
  perf::declare_flags(*command, options->sweep,
                      {"--transport", "--load", "--ranks", "--timeout", "--seed"});
  command->add_option_function<std::string>(
      "--buffers", [options](const std::string& text) { read_buffers(*options, text); },
      "private,visible; default: those that exist");
  command->add_option("-o,--output", options->path, "the file; default: the one that init reads");
  command->callback([options, command, &run, work, who = fmt::format("tutti {}", name)] {
    complete(*options, *command);
    run = [options, work, who] {
      // An earlier table must not replace the choices of the cost model.
      setenv("TUTTI_TUNING", "none", 1);
      return on_world(who, options->sweep,
                      [&](MeasuredWorld& world) { return work(world, *options); });
    };
  });
  return command;
}

}  // namespace

void add_tune(CLI::App& app, std::function<int()>& run) {
  const auto options = std::make_shared<TuneOptions>();
  CLI::App* command =
      add_measuring(app, "tune", "measure the fastest algorithm at each size", options, run, tune);
  perf::declare_flags(*command, options->sweep,
                      {"--collective", "--begin", "--end", "--factor", "--budget", "--align",
                       "--pattern", "--replay"});
  perf::set_usual(*command, options->sweep, "--factor", "4");
  command->add_flag("--again", options->again, "measure also the cells that the file has");
  command->add_option("--html", options->html, "write a page with pictures and tables");
}

void add_calibrate(CLI::App& app, std::function<int()>& run) {
  const auto options = std::make_shared<TuneOptions>();
  options->sweep = perf::sweep_options({});
  add_measuring(
      app, "calibrate", "measure the costs of messages and bytes", options, run,
      [](MeasuredWorld& world, TuneOptions asked) { return perf::calibrate(world, asked); });
}

}  // namespace tutti::command

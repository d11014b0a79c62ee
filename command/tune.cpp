// `tutti tune` and `tutti calibrate`: measure what choices rest on, into a file that init finds.
#include <cstdlib>

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "command/commands.hpp"
#include "command/fail.hpp"
#include "command/on_world.hpp"
#include "perf/command_line.hpp"
#include "perf/failure.hpp"
#include "perf/pages/draw.hpp"
#include "perf/tuning/calibrate.hpp"
#include "perf/tuning/tune.hpp"
#include "runtime/tuning_file.hpp"

namespace tutti::perf {

namespace {

// As written; the sweep's flags are declared here by themselves, since a table has no use for most.
struct TuneFlags {
  SweepFlags sweep;
  std::string buffers;
  std::string output;
  std::string html;
  bool again = false;
};

// A flag that steers the measurement: declared and repeated from here.
struct TuneFlag {
  const char* names;
  std::string SweepFlags::*member;
  const char* help;
};

constexpr std::array kWorldFlags{
    TuneFlag{"--transport", &SweepFlags::transport, kTransportNames.data()},
    TuneFlag{"--load", &SweepFlags::load, "your own algorithms: module.so,schedule.json,..."},
    TuneFlag{"--ranks", &SweepFlags::ranks, "number of ranks to start, or to require"},
    TuneFlag{"--timeout", &SweepFlags::timeout, "deadline of one operation"},
    TuneFlag{"--seed", &SweepFlags::seed, "seed of the shuffled rounds"},
};
constexpr std::array kTableFlags{
    TuneFlag{"-C,--collective", &SweepFlags::collective, "names with commas, or all"},
    TuneFlag{"-b,--begin", &SweepFlags::begin, "least bytes: 8, 64K, 4M, 1G"},
    TuneFlag{"-e,--end", &SweepFlags::end, "greatest bytes"},
    TuneFlag{"-f,--factor", &SweepFlags::factor, "factor between sizes"},
    TuneFlag{"--budget", &SweepFlags::budget, "time per size and choice"},
    TuneFlag{"--align", &SweepFlags::align,
             "where private arrays begin: malloc, page, 64, or IN:OUT"},
    TuneFlag{"--pattern", &SweepFlags::pattern, "back_to_back, or isolated calls"},
};

void add_flags(CLI::App& command, std::span<const TuneFlag> flags, SweepFlags& values) {
  for (const TuneFlag& flag : flags)
    command.add_option(flag.names, values.*flag.member, flag.help)->capture_default_str();
}

// A command line that measures the same again, without where results go.
std::vector<std::string> repeat_arguments(const TuneFlags& flags) {
  std::vector<std::string> arguments;
  const auto repeat = [&](std::span<const TuneFlag> list) {
    for (const TuneFlag& flag : list) {
      const std::string names = flag.names;
      if (const std::string& value = flags.sweep.*flag.member; !value.empty())
        arguments.push_back(names.substr(names.find("--")) + "=" + value);
    }
  };
  repeat(kTableFlags);
  repeat(kWorldFlags);
  if (!flags.buffers.empty()) arguments.push_back("--buffers=" + flags.buffers);
  arguments.emplace_back("--again");
  return arguments;
}

// Where peers see each other's memory, both kinds are worth a table.
std::vector<std::string> kinds_of(const TuneFlags& flags) {
  if (flags.buffers.empty())
    return transport_named(flags.sweep.transport).shares_memory
               ? std::vector<std::string>{"private", "visible"}
               : std::vector<std::string>{"private"};
  std::vector<std::string> kinds = split(flags.buffers, ',');
  for (const std::string& kind : kinds)
    if (kind != "private" && kind != "visible")
      reject_word("kind of buffers", kind, {"private", "visible"});
  return kinds;
}

TuneOptions understand_tune(const TuneFlags& flags) {
  TuneOptions options{
      .again = flags.again, .html = flags.html, .arguments = repeat_arguments(flags)};
  for (const std::string& kind : kinds_of(flags)) {
    SweepFlags sweep = flags.sweep;
    sweep.buffers = kind;
    options.sweep = understand(sweep);  // which refuses kinds that the transport has not
    options.buffers.push_back(kind);
  }
  if (!options.sweep.uneven.empty() || !options.sweep.messages.empty())
    throw Failure{ExitCode::usage,
                  "--collective: tables cover collectives with equal blocks, without v-forms and "
                  "messages"};
  if (!options.sweep.more_alignments.empty())
    throw Failure{ExitCode::usage, "--align: a table has one alignment, and several are given"};
  options.path = flags.output.empty() ? runtime::usual_tuning_path(runtime::process_environment())
                                      : flags.output;
  if (options.path.empty())
    throw Failure{ExitCode::environment,
                  "no folder for the file: set XDG_CONFIG_HOME or HOME, or name a file by -o"};
  return options;
}

// Rank 0 writes the page; whether it can is everybody's business, before minutes of measuring.
int tune(World& world, TuneOptions options) {
  std::int64_t code = 0;
  if (!options.html.empty() && world.communicator().rank() == 0) {
    try {
      options.page_command = page_command(options.html, "tune.py");
    } catch (const Failure& failure) {
      code = fail_alike("tutti tune", failure);
    }
  }
  from_rank_zero(world.communicator(), std::span{&code, 1});
  return code != 0 ? static_cast<int>(code) : Tuner{world, options}.run();
}

// One of the two commands of this file, which share flags.
int measure_into_file(const std::string& who, const TuneFlags& flags,
                      const std::function<int(World&, const TuneOptions&)>& work) {
  TuneOptions options;
  try {
    options = understand_tune(flags);
  } catch (const Failure& failure) {
    return fail_alike(who, failure);
  }
  // What an earlier table says must not stand in for what the model chooses.
  setenv("TUTTI_TUNING", "none", 1);
  return on_world(who, options.sweep, [&](World& world) { return work(world, options); });
}

}  // namespace

namespace {

CLI::App* add_measuring(CLI::App& app, const char* name, const char* help, TuneFlags& flags) {
  CLI::App* command = app.add_subcommand(name, help);
  add_flags(*command, kWorldFlags, flags.sweep);
  command->add_option("--buffers", flags.buffers, "private,visible; default: those that exist");
  command->add_option("-o,--output", flags.output, "the file; default: the one that init reads");
  return command;
}

}  // namespace

void add_tune(CLI::App& app, std::function<int()>& run) {
  const auto flags = std::make_shared<TuneFlags>();
  CLI::App* command =
      add_measuring(app, "tune", "measure the fastest algorithm at each size", *flags);
  flags->sweep.factor = "4";
  add_flags(*command, kTableFlags, flags->sweep);
  command->add_flag("--again", flags->again, "measure also the cells that the file has");
  command->add_option("--html", flags->html, "write a page with pictures and tables");
  command->callback(
      [flags, &run] { run = [flags] { return measure_into_file("tutti tune", *flags, tune); }; });
}

void add_calibrate(CLI::App& app, std::function<int()>& run) {
  const auto flags = std::make_shared<TuneFlags>();
  CLI::App* command =
      add_measuring(app, "calibrate", "measure the costs of messages and bytes", *flags);
  command->callback([flags, &run] {
    run = [flags] { return measure_into_file("tutti calibrate", *flags, calibrate); };
  });
}

}  // namespace tutti::perf

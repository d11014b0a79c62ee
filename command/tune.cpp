// `tutti tune` and `tutti calibrate`: measure what choices rest on, into a file that init finds.
#include <cstdlib>

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>

#include "command/commands.hpp"
#include "command/fail.hpp"
#include "command/on_world.hpp"
#include "perf/calibrate.hpp"
#include "perf/command_line.hpp"
#include "perf/sweep_failure.hpp"
#include "perf/tune.hpp"
#include "runtime/tuning_file.hpp"

namespace tutti::perf {

namespace {

// As written; the sweep's flags are declared here by themselves, since a table has no use for most.
struct TuneFlags {
  SweepFlags sweep;
  std::string buffers;
  std::string output;
  bool again = false;
};

// Where peers see each other's memory, both kinds are worth a table.
std::vector<std::string> kinds_of(const TuneFlags& flags) {
  const std::string& transport = flags.sweep.transport;
  const bool is_local = transport == "shm" || transport == "auto";
  if (flags.buffers.empty())
    return is_local ? std::vector<std::string>{"private", "visible"}
                    : std::vector<std::string>{"private"};
  std::vector<std::string> kinds = split(flags.buffers, ',');
  for (const std::string& kind : kinds)
    if (kind != "private" && kind != "visible")
      refuse_word("kind of buffers", kind, {"private", "visible"});
  return kinds;
}

TuneOptions understand_tune(const TuneFlags& flags) {
  TuneOptions options{.again = flags.again};
  for (const std::string& kind : kinds_of(flags)) {
    SweepFlags sweep = flags.sweep;
    sweep.buffers = kind;
    options.sweep = understand(sweep);  // which refuses kinds that the transport has not
    options.buffers.push_back(kind);
  }
  if (!options.sweep.uneven.empty() || !options.sweep.messages.empty())
    throw Failure{ExitCode::usage,
                  "--collective: tables are of collectives with equal blocks, without v-forms and "
                  "messages"};
  options.path = flags.output.empty() ? runtime::usual_tuning_path(runtime::process_environment())
                                      : flags.output;
  if (options.path.empty())
    throw Failure{ExitCode::environment,
                  "neither XDG_CONFIG_HOME nor HOME says where the file belongs: name one by -o"};
  return options;
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
  const auto add = [command](const char* names, std::string& value, const char* words) {
    command->add_option(names, value, words)->capture_default_str();
  };
  SweepFlags& sweep = flags.sweep;
  add("--transport", sweep.transport, "auto, shm, tcp, mpi, shm+mpi");
  add("--buffers", flags.buffers, "private,visible; default: those that the transport has");
  add("--load", sweep.load, "algorithms of one's own: module.so,schedule.json,...");
  add("--ranks", sweep.ranks, "start so many, or insist on it");
  add("--timeout", sweep.timeout, "deadline of one operation");
  add("--seed", sweep.seed, "of the shuffled rounds");
  add("-o,--output", flags.output, "the file; default: the one that init looks for");
  return command;
}

}  // namespace

void add_tune(CLI::App& app, std::function<int()>& run) {
  const auto flags = std::make_shared<TuneFlags>();
  CLI::App* command = add_measuring(
      app, "tune", "measure which algorithm is fastest where", *flags);
  SweepFlags& sweep = flags->sweep;
  sweep.factor = "4";
  const auto add = [command](const char* names, std::string& value, const char* help) {
    command->add_option(names, value, help)->capture_default_str();
  };
  add("-C,--collective", sweep.collective, "a,b,... or all");
  add("-b,--begin", sweep.begin, "least bytes: 8, 64K, 4M, 1G");
  add("-e,--end", sweep.end, "greatest bytes");
  add("-f,--factor", sweep.factor, "from one size to the next");
  add("--budget", sweep.budget, "time per size and choice");
  command->add_flag("--again", flags->again, "measure also what the file has already");
  command->callback([flags, &run] {
    run = [flags] {
      return measure_into_file("tutti tune", *flags, [](World& world, const TuneOptions& options) {
        return Tuner{world, options}.run();
      });
    };
  });
}

void add_calibrate(CLI::App& app, std::function<int()>& run) {
  const auto flags = std::make_shared<TuneFlags>();
  CLI::App* command = add_measuring(
      app, "calibrate", "measure in seconds what messages cost", *flags);
  command->callback([flags, &run] {
    run = [flags] { return measure_into_file("tutti calibrate", *flags, calibrate); };
  });
}

}  // namespace tutti::perf

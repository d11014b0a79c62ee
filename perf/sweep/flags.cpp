// The tables of the sweep's flags, which declare, read and repeat them.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include <tutti/transports.hpp>

#include "perf/command_line.hpp"
#include "perf/failure.hpp"
#include "perf/load.hpp"
#include "perf/sweep/familiar.hpp"
#include "perf/sweep/options.hpp"
#include "perf/sweep/workload.hpp"

namespace tutti::perf {

namespace {

using O = SweepOptions;
using Text = const std::string&;

constexpr std::uint64_t kMostRounds = 1'000'000;
constexpr std::uint64_t kMostNumber = std::numeric_limits<std::int32_t>::max();
constexpr std::uint64_t kMostSeed = std::numeric_limits<std::int64_t>::max();
constexpr double kLeastTime_s = 1e-6;
constexpr double kMostTime_s = 1e6;

// The name of a v-form, in any spelling of its collective.
std::string usual_uneven(const std::string& word) {
  return word.ends_with('v') ? usual_collective(word.substr(0, word.size() - 1)) + 'v' : word;
}

// Reads collectives, v-forms, `send` and `sendrecv`. `all` means all collectives.
void read_collectives(O& o, Text text) {
  o.messages.clear();
  o.uneven.clear();
  o.collectives.clear();
  std::string collectives;
  for (const std::string& word : split(text, ',')) {
    if (word == "send") o.messages.push_back(PointToPoint::send);
    else if (word == "sendrecv") o.messages.push_back(PointToPoint::sendrecv);
    else if (const auto uneven = uneven_named(usual_uneven(word))) o.uneven.push_back(*uneven);
    else collectives += (collectives.empty() ? "" : ",") + word;
  }
  if (!collectives.empty() || (o.messages.empty() && o.uneven.empty()))
    o.collectives = collectives_named(collectives);
}

void read_alignments(O& o, Text text) {
  std::vector<Alignment> all;
  for (const std::string& word : split(text, ',')) {
    const auto next = parse_alignment(word);
    if (!next)
      throw Failure{
          ExitCode::usage,
          fmt::format("--align '{}' is not an alignment: write malloc, page, a power of two "
                      "from 1 to 2048, or two of these as 16:page for inputs and outputs",
                      word)};
    if (std::ranges::find(all, next->text(), &Alignment::text) != all.end())
      throw Failure{ExitCode::usage, fmt::format("--align names '{}' twice: name each alignment "
                                                 "once",
                                                 next->text())};
    all.push_back(*next);
  }
  o.align = all.front();
  o.more_alignments.assign(all.begin() + 1, all.end());
}

void read_memory(O& o, Text text) {
  constexpr std::array kGpuTransports{"", "nccl", "host"};
  const std::size_t which = index_among("memory", text, {"host", "cuda", "cuda:host"});
  o.on_gpus = which != 0;
  o.gpu_transport = kGpuTransports.at(which);
}

void read_injections(O& o, Text text) {
  o.inject.clear();
  for (const std::string& item : split(text, ',')) {
    const std::size_t equals = item.rfind('=');
    if (equals == std::string::npos)
      throw Failure{ExitCode::usage,
                    fmt::format("--inject '{}' is not a label and a share: write ring#2=5%", item)};
    o.inject[item.substr(0, equals)] = share_in("--inject", item.substr(equals + 1));
  }
}

// Whether a flag changes the measurement, or only the output.
enum class FlagEffect { steers, reports };

// Headings of --help, in the order of their first flag.
constexpr const char* kCalls = "Calls";
constexpr const char* kSamples = "Samples";
constexpr const char* kPlaces = "Ranks and memory";
constexpr const char* kOutput = "Output";
constexpr const char* kRuns = "Comparison of runs";

struct Flag {
  const char* group;
  const char* names;
  const char* usual;  // default; empty: none
  FlagEffect effect;
  const char* help;
  void (*read)(O& options, Text text);  // a switch is read as "true" or "false"
  bool has_value = true;
};

constexpr std::array kFlags{
    Flag{kCalls, "-C,--collective", "all", FlagEffect::steers,
         "a,b,... or all; all_gatherv, ...; send, sendrecv", read_collectives},
    Flag{kCalls, "-a,--algorithm", "", FlagEffect::steers, "only these, e.g. ring,auto,native",
         [](O& o, Text text) { o.algorithms = split(with_graphs_of_files(text), ','); }},
    Flag{kCalls, "-b,--begin", "8", FlagEffect::steers, "least bytes: 8, 64K, 4M, 1G",
         [](O& o, Text text) { o.begin_bytes = bytes_in("--begin", text); }},
    Flag{kCalls, "-e,--end", "16M", FlagEffect::steers, "greatest bytes",
         [](O& o, Text text) { o.end_bytes = bytes_in("--end", text); }},
    Flag{kCalls, "-f,--factor", "8", FlagEffect::steers, "factor between sizes",
         [](O& o, Text text) { o.factor = count_in("--factor", text, 2, kMostNumber); }},
    Flag{kSamples, "-n,--rounds", "", FlagEffect::steers,
         "samples per cell; default: until precise",
         [](O& o, Text text) { o.rounds = count_in("--rounds", text, 1, kMostRounds); }},
    Flag{kSamples, "-w,--warm-up", "", FlagEffect::steers, "warm-up rounds; default: until settled",
         [](O& o, Text text) { o.warm_up_rounds = count_in("--warm-up", text, 0, kMostRounds); }},
    Flag{kSamples, "-c,--check", "1", FlagEffect::steers, "check results: 1 or 0",
         [](O& o, Text text) { o.check = text.empty() || count_in("--check", text, 0, 1) == 1; }},
    Flag{kCalls, "-d,--dtype", "f32", FlagEffect::steers, "f32, bf16, i8, ... (float too)",
         [](O& o, Text text) {
           o.type = named<Datatype>("datatype", ours_of(text), kDatatypes - 1);
         }},
    Flag{kCalls, "-o,--op", "sum", FlagEffect::steers, "sum, max, bit_or, average, ...",
         [](O& o, Text text) {
           o.op = named<OperatorKind>("operator", ours_of(text), kOperatorKinds - 1);
         }},
    Flag{kCalls, "-r,--root", "0", FlagEffect::steers, "root of rooted collectives",
         [](O& o, Text text) {
           o.root = static_cast<Rank>(count_in("--root", text, 0, kMostNumber));
         }},
    Flag{kPlaces, "--transport", "auto", FlagEffect::steers, kTransportNames.data(),
         [](O& o, Text text) { o.transport = transport_named(text).name; }},
    Flag{kPlaces, "--buffers", "private", FlagEffect::steers, "private, or visible to peers",
         [](O& o, Text text) {
           index_among("kind of buffers", text, {"private", "visible"});
           o.buffers = text;
         }},
    Flag{kPlaces, "--align", "malloc", FlagEffect::steers,
         "where arrays begin: malloc, page, 64, IN:OUT", read_alignments},
    Flag{kSamples, "--pattern", "back_to_back", FlagEffect::steers,
         "back_to_back, or isolated calls",
         [](O& o, Text text) { o.pattern = named<CallPattern>("pattern", text, kCallPatterns); }},
    Flag{kPlaces, "--memory", "host", FlagEffect::steers,
         "host, cuda (a GPU per rank), or cuda:host", read_memory},
    Flag{kCalls, "--segment", "", FlagEffect::steers, "bytes in a pipeline stage",
         [](O& o, Text text) { o.segment = bytes_in("--segment", text); }},
    Flag{kCalls, "--determinism", "", FlagEffect::steers,
         "level of our algorithms: run_to_run, ...",
         [](O& o, Text text) { o.determinism = named<Determinism>("level", text, kDeterminisms); }},
    Flag{kCalls, "--load", "", FlagEffect::steers, kLoadHelp,
         [](O& o, Text text) { o.catalog = load_catalog(text); }},
    Flag{kPlaces, "--ranks", "", FlagEffect::steers, "number of ranks to start, or to require",
         [](O& o, Text text) {
           o.ranks = static_cast<int>(count_in("--ranks", text, 1, kMostNumber));
         }},
    Flag{kSamples, "--budget", "200ms", FlagEffect::steers, "time per size and algorithm",
         [](O& o, Text text) {
           o.budget_s = seconds_in("--budget", text, kLeastTime_s, kMostTime_s);
         }},
    Flag{kSamples, "--timeout", "60s", FlagEffect::steers, "deadline of one operation",
         [](O& o, Text text) {
           o.timeout_s = seconds_in("--timeout", text, kLeastTime_s, kMostTime_s);
         }},
    Flag{kSamples, "--seed", "1", FlagEffect::steers, "seed of the shuffled rounds",
         [](O& o, Text text) { o.seed = count_in("--seed", text, 0, kMostSeed); }},
    Flag{kSamples, "--inject", "", FlagEffect::steers, "slow one down: ring#2=5% (a test)",
         read_injections},
    Flag{kOutput, "--csv", "", FlagEffect::reports, "CSV file; - is standard output",
         [](O& o, Text text) { o.csv = text; }},
    Flag{kOutput, "--json", "", FlagEffect::reports, "file of JSON lines; - is standard output",
         [](O& o, Text text) { o.json = text; }},
    Flag{kOutput, "--plot", "", FlagEffect::reports, "draw an .svg or .png",
         [](O& o, Text text) { o.plot = text; }},
    Flag{kOutput, "--html", "", FlagEffect::reports, "write a page with pictures and tables",
         [](O& o, Text text) { o.html = text; }},
    Flag{kRuns, "--replay", "", FlagEffect::reports, "repeat the run of a JSON file",
         [](O& o, Text text) { o.replay = text; }},
    Flag{kRuns, "--baseline", "", FlagEffect::reports, "compare with a JSON file",
         [](O& o, Text text) { o.baseline = text; }},
    Flag{kRuns, "--fail-over", "10%", FlagEffect::reports, "slowdown that exits with 3",
         [](O& o, Text text) { o.fail_over = share_in("--fail-over", text); }},
    Flag{kOutput, "--color", "never", FlagEffect::reports, "never or always",
         [](O& o, Text text) {
           o.color = index_among("--color", text, {"never", "always"}) == 1;
         }},
    Flag{kOutput, "--format", "table", FlagEffect::reports, "table, osu or nccl-tests (of auto)",
         [](O& o, Text text) {
           index_among("format", text, {"table", "osu", "nccl-tests"});
           o.format = text;
         }},
    Flag{kOutput, "--quiet", "false", FlagEffect::reports, "no table, only warnings and files",
         [](O& o, Text text) { o.quiet = text == "true"; }, false},
    Flag{kCalls, "--in-place", "false", FlagEffect::steers, "input and output share memory",
         [](O& o, Text text) { o.in_place = text == "true"; }, false},
    Flag{kSamples, "--graph", "false", FlagEffect::steers, "on GPUs: replay each call from a graph",
         [](O& o, Text text) { o.graph = text == "true"; }, false},
    Flag{kSamples, "--touch,!--no-touch", "true", FlagEffect::steers,
         "rewrite inputs between samples (default)",
         [](O& o, Text text) { o.touch = text == "true"; }, false},
};

// The last name: long, and of a switch the one that changes its usual value.
std::string long_name(const Flag& flag) {
  const std::string_view names = flag.names;
  return std::string{names.substr(names.rfind("--"))};
}

void add(CLI::App& app, const Flag& flag, O& options) {
  const auto read = [&flag, &options](Text text) { flag.read(options, text); };
  CLI::Option* const option =
      flag.has_value
          ? app.add_option_function<std::string>(flag.names, read, flag.help)
                ->default_str(flag.usual)
          : app.add_flag_function(
                   flag.names, [read](std::int64_t sum) { read(sum > 0 ? "true" : "false"); },
                   flag.help)
                ->take_last();
  option->group(flag.group);
  if (*flag.usual != '\0') read(flag.usual);
}

}  // namespace

void declare_flags(CLI::App& app, SweepOptions& options,
                   const std::vector<std::string_view>& names) {
  for (const Flag& flag : kFlags)
    if (names.empty() || std::ranges::find(names, long_name(flag)) != names.end())
      add(app, flag, options);
  if (names.empty()) app.get_option("--check")->expected(0, 1);  // by itself it means yes
}

void set_usual(CLI::App& app, SweepOptions& options, std::string_view name, const char* text) {
  app.get_option(std::string{name})->default_str(text);
  const auto flag = std::ranges::find(kFlags, name, long_name);
  if (*text != '\0') flag->read(options, text);
}

std::vector<std::string> repeat_arguments(const CLI::App& app) {
  std::vector<std::string> arguments;
  for (const Flag& flag : kFlags) {
    const std::string name = long_name(flag);
    const CLI::Option* const option = app.get_option_no_throw(name);
    if (flag.effect != FlagEffect::steers || option == nullptr) continue;
    const std::string text =
        option->count() > 0 ? option->results().back() : option->get_default_str();
    if (text.empty()) continue;
    if (flag.has_value) arguments.push_back(name + "=" + text);
    else if (option->as<bool>() != (flag.usual == std::string_view{"true"}))
      arguments.push_back(name);
  }
  return arguments;
}

void reject_beside_replay(const CLI::App& app) {
  for (const Flag& flag : kFlags)
    if (const std::string name = long_name(flag);
        flag.effect == FlagEffect::steers && app.count(name) > 0)
      throw Failure{ExitCode::usage, "--replay repeats what its file says: leave " + name + " out"};
}

SweepOptions sweep_options(const std::vector<std::string>& arguments) {
  SweepOptions options;
  CLI::App app;
  declare_flags(app, options);
  try {
    app.parse(std::vector<std::string>{arguments.rbegin(), arguments.rend()});
  } catch (const CLI::ParseError& error) {
    throw Failure{ExitCode::usage, std::string{"recorded arguments: "} + error.what()};
  }
  options.arguments = repeat_arguments(app);
  check_together(options);
  return options;
}

SweepOptions repeated(std::vector<std::string> arguments, const SweepOptions& outputs) {
  // Older files have no alignment: their arrays started at pages.
  const auto says = [&](std::string_view start) {
    return std::ranges::any_of(arguments,
                               [&](const std::string& word) { return word.starts_with(start); });
  };
  if (!says("--align") && !says("--memory=cuda")) arguments.emplace_back("--align=page");
  SweepOptions options = sweep_options(arguments);
  for (const auto output : {&O::csv, &O::json, &O::plot, &O::html, &O::replay, &O::baseline})
    options.*output = outputs.*output;
  options.fail_over = outputs.fail_over;
  options.color = outputs.color;
  options.format = outputs.format;
  options.quiet = outputs.quiet;
  return options;
}

}  // namespace tutti::perf

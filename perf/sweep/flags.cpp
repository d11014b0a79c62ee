// The one table of the sweep's flags: declared, repeated and read back from here.
#include <CLI/CLI.hpp>
#include <array>
#include <string>

#include <tutti/transports.hpp>

#include "perf/failure.hpp"
#include "perf/load.hpp"
#include "perf/sweep/options.hpp"

namespace tutti::perf {

namespace {

// Whether a flag steers the measurement or says where results go.
enum class Purpose { steers, reports };

struct Flag {
  const char* names;
  std::string SweepFlags::*member;
  Purpose purpose;
  const char* help;
};

constexpr std::array kFlags{
    Flag{"-C,--collective", &SweepFlags::collective, Purpose::steers,
         "a,b,... or all; all_gatherv, ...; send, sendrecv"},
    Flag{"-a,--algorithm", &SweepFlags::algorithm, Purpose::steers,
         "only these, e.g. ring,auto,native"},
    Flag{"-b,--begin", &SweepFlags::begin, Purpose::steers, "least bytes: 8, 64K, 4M, 1G"},
    Flag{"-e,--end", &SweepFlags::end, Purpose::steers, "greatest bytes"},
    Flag{"-f,--factor", &SweepFlags::factor, Purpose::steers, "factor between sizes"},
    Flag{"-n,--rounds", &SweepFlags::rounds, Purpose::steers,
         "samples per cell; default: until"
         " precise"},
    Flag{"-w,--warm-up", &SweepFlags::warm_up, Purpose::steers,
         "warm-up rounds; default: until"
         " settled"},
    Flag{"-c,--check", &SweepFlags::check, Purpose::steers, "check results: 1 or 0"},
    Flag{"-d,--dtype", &SweepFlags::type, Purpose::steers, "f32, bf16, i8, ... (float too)"},
    Flag{"-o,--op", &SweepFlags::op, Purpose::steers, "sum, max, bit_or, average, ..."},
    Flag{"-r,--root", &SweepFlags::root, Purpose::steers, "root of rooted collectives"},
    Flag{"--transport", &SweepFlags::transport, Purpose::steers, kTransportNames.data()},
    Flag{"--buffers", &SweepFlags::buffers, Purpose::steers, "private, or visible to peers"},
    Flag{"--align", &SweepFlags::align, Purpose::steers,
         "where arrays begin: malloc, page, 64, IN:OUT"},
    Flag{"--pattern", &SweepFlags::pattern, Purpose::steers, "back_to_back, or isolated calls"},
    Flag{"--memory", &SweepFlags::memory, Purpose::steers,
         "host, cuda (a GPU per rank), or cuda:host"},
    Flag{"--segment", &SweepFlags::segment, Purpose::steers, "bytes in a pipeline stage"},
    Flag{"--determinism", &SweepFlags::determinism, Purpose::steers,
         "level of our algorithms: run_to_run, ..."},
    Flag{"--load", &SweepFlags::load, Purpose::steers, kLoadHelp},
    Flag{"--ranks", &SweepFlags::ranks, Purpose::steers, "number of ranks: start, or require it"},
    Flag{"--budget", &SweepFlags::budget, Purpose::steers, "time per size and algorithm"},
    Flag{"--timeout", &SweepFlags::timeout, Purpose::steers, "deadline of one operation"},
    Flag{"--seed", &SweepFlags::seed, Purpose::steers, "seed of the shuffled rounds"},
    Flag{"--inject", &SweepFlags::inject, Purpose::steers, "slow one down: ring#2=5% (a test)"},
    Flag{"--csv", &SweepFlags::csv, Purpose::reports, "write a CSV file"},
    Flag{"--json", &SweepFlags::json, Purpose::reports, "write a file of JSON lines"},
    Flag{"--plot", &SweepFlags::plot, Purpose::reports, "draw an .svg or .png"},
    Flag{"--html", &SweepFlags::html, Purpose::reports, "write a page with pictures and tables"},
    Flag{"--replay", &SweepFlags::replay, Purpose::reports, "repeat the run of a JSON file"},
    Flag{"--baseline", &SweepFlags::baseline, Purpose::reports, "compare with a JSON file"},
    Flag{"--fail-over", &SweepFlags::fail_over, Purpose::reports, "slowdown that exits with 3"},
    Flag{"--color", &SweepFlags::color, Purpose::reports, "never or always"},
};

// The long spelling of a flag: what stands after the comma, if there is one.
std::string long_name(const Flag& flag) {
  const std::string names = flag.names;
  return names.substr(names.find("--"));
}

}  // namespace

void declare_flags(CLI::App& app, SweepFlags& flags) {
  for (const Flag& flag : kFlags)
    app.add_option(flag.names, flags.*flag.member, flag.help)->capture_default_str();
  app.get_option("--check")->expected(0, 1);  // by itself it means yes
  app.add_flag("--in-place", flags.in_place, "input and output share memory");
  app.add_flag("--graph", flags.graph, "on GPUs: replay each call from a graph");
  app.add_flag("--touch,!--no-touch", flags.touch, "rewrite inputs between samples (default)");
}

void reject_beside_replay(const CLI::App& app) {
  const auto reject_if_given = [&app](const std::string& name) {
    if (app.count(name) > 0)
      throw Failure{ExitCode::usage, "--replay repeats what its file says: leave " + name + " out"};
  };
  for (const Flag& flag : kFlags)
    if (flag.purpose == Purpose::steers) reject_if_given(long_name(flag));
  for (const char* const name : {"--in-place", "--graph", "--no-touch"}) reject_if_given(name);
}

std::vector<std::string> repeat_arguments(const SweepFlags& flags) {
  std::vector<std::string> arguments;
  for (const Flag& flag : kFlags) {
    const std::string& value = flags.*flag.member;
    if (flag.purpose == Purpose::steers && !value.empty())
      arguments.push_back(long_name(flag) + "=" + value);
  }
  if (flags.in_place) arguments.emplace_back("--in-place");
  if (flags.graph) arguments.emplace_back("--graph");
  if (!flags.touch) arguments.emplace_back("--no-touch");
  return arguments;
}

SweepFlags flags_of(const std::vector<std::string>& arguments, const SweepFlags& outputs) {
  SweepFlags flags = outputs;
  SweepFlags read;
  CLI::App app;
  declare_flags(app, read);
  try {
    app.parse(std::vector<std::string>{arguments.rbegin(), arguments.rend()});
  } catch (const CLI::ParseError& error) {
    throw Failure{ExitCode::usage, std::string{"recorded arguments: "} + error.what()};
  }
  // Older files do not say it: their arrays began at pages.
  if (app.count("--align") == 0 && read.memory == "host") read.align = "page";
  for (const Flag& flag : kFlags)
    if (flag.purpose == Purpose::steers) flags.*flag.member = read.*flag.member;
  flags.in_place = read.in_place;
  flags.graph = read.graph;
  flags.touch = read.touch;
  return flags;
}

}  // namespace tutti::perf

#include "perf/sweep/context.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "perf/build.hpp"
#include "perf/environment.hpp"
#include "perf/sweep/options.hpp"
#include "perf/sweep/rounds.hpp"

namespace tutti::perf {

namespace {

std::string processor_model() {
  std::ifstream file{"/proc/cpuinfo"};
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name") && line.find(": ") != std::string::npos)
      return line.substr(line.find(": ") + 2);
  return {};
}

std::vector<Host> placement(MeasuredWorld& world) {
  const auto names = gather_texts(world.communicator(), host_name());
  const auto cores =
      gather_texts(world.communicator(), fmt::format("{}", sysconf(_SC_NPROCESSORS_ONLN)));
  std::vector<Host> hosts;
  for (std::size_t r = 0; r < names.size(); ++r) {
    const auto same = [&](const Host& host) { return host.name == names[r]; };
    auto found = std::find_if(hosts.begin(), hosts.end(), same);
    if (found == hosts.end())
      found = hosts.insert(hosts.end(), {.name = names[r], .cores = std::stoi(cores[r])});
    found->ranks.push_back(static_cast<Rank>(r));
  }
  return hosts;
}

nlohmann::ordered_json level_of(const SweepOptions& options) {
  if (!options.determinism) return nullptr;
  return name_of(*options.determinism);
}

}  // namespace

bool Context::is_oversubscribed() const {
  return std::any_of(hosts.begin(), hosts.end(), [](const Host& host) {
    return host.ranks.size() > static_cast<std::size_t>(std::max(host.cores, 0));
  });
}

Context collect_context(MeasuredWorld& world, std::vector<std::string> arguments) {
  std::vector<std::string> gpus;
  if (world.gpu() != nullptr) gpus = gather_texts(world.communicator(), world.gpu()->gpu());
  return {.version = build_version(),
          .library = world.library(),
          .compiler = build_compiler(),
          .processor = processor_model(),
          .started = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))),
          .ranks = world.communicator().size(),
          .hosts = placement(world),
          .environment = recorded_environment(),
          .arguments = std::move(arguments),
          .gpus = std::move(gpus),
          .nccl = world.gpu() == nullptr ? "" : world.gpu()->nccl()};
}

nlohmann::ordered_json json_of(const Context& context) {
  nlohmann::ordered_json record{{"tutti", context.version},
                                {"mpi", context.library},
                                {"compiler", context.compiler},
                                {"started", context.started},
                                {"ranks", context.ranks},
                                {"oversubscribed", context.is_oversubscribed()},
                                {"processor", context.processor},
                                {"clock", context.gpus.empty() ? "steady_clock of each rank"
                                                               : "events on a stream of each rank"},
                                {"start_line", "dissemination barrier"},
                                {"arguments", context.arguments},
                                {"environment", context.environment}};
  record["hosts"] = nlohmann::ordered_json::array();
  for (const Host& host : context.hosts)
    record["hosts"].push_back({{"host", host.name}, {"cores", host.cores}, {"ranks", host.ranks}});
  if (context.gpus.empty()) return record;
  record["gpus"] = context.gpus;
  record["nccl"] = context.nccl;
  return record;
}

nlohmann::ordered_json json_of(const Context& context, const SweepOptions& options) {
  nlohmann::ordered_json record{{"record", "context"}, {"schema", "tutti sweep/1"}};
  record.update(json_of(context));
  record["seed"] = options.seed;
  record["touch"] = options.touch;
  record["budget_s"] = options.budget_s;
  record["determinism"] = level_of(options);
  std::string align = options.alignment_text();
  for (const Alignment& other : options.more_alignments)
    align += "," + options.alignment_text(other);
  record["align"] = align.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(align);
  record["pattern"] = name_of(options.pattern);
  if (options.is_isolated()) {
    record["pause_us"] = kPause_us;
    record["start_line"] = "the barrier of tutti";
  }
  return record;
}

}  // namespace tutti::perf

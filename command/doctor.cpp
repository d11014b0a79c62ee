// tutti doctor: whether jobs can run on this machine, and the cure for each fault.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include <tutti/error.hpp>

#include "command/commands.hpp"
#include "command/doctor_check.hpp"
#include "command/doctor_report.hpp"
#include "command/doctor_world.hpp"
#include "command/on_world.hpp"
#include "perf/command_line.hpp"
#include "perf/environment.hpp"
#include "perf/exit_code.hpp"
#include "perf/failure.hpp"
#include "perf/measured_world.hpp"
#include "perf/sweep/options.hpp"

namespace tutti::command {

namespace doctor {
namespace {

struct DoctorOptions {
  perf::SweepOptions world{};
  bool json = false;
};

RankReport own_report(const Subject& subject) {
  RankReport report{.rank = perf::launched_rank().value_or(0), .host = perf::host_name()};
  for (auto* const checks_of : {checks_of_host, checks_of_network, checks_of_software})
    for (Check& check : checks_of(subject)) report.checks.push_back(std::move(check));
  return report;
}

// Ranks whose own variables are wrong would not join, and their report would be lost.
void unset_faulty_variables(const RankReport& report) {
  for (const Check& check : report.checks) {
    if (check.verdict != Verdict::fault) continue;
    if (check.name == "address") unsetenv("TUTTI_ADDRESS");
    if (check.name == "secret") unsetenv("TUTTI_SECRET_FILE");
    if (check.name == "tuning") setenv("TUTTI_TUNING", "none", 1);
  }
}

int print(const Report& report, bool json) {
  perf::write_text(json ? json_of(report) : text_of(report), "");
  return static_cast<int>(has_fault(report) ? perf::ExitCode::wrong_data : perf::ExitCode::good);
}

// Rank 0 prints the report of all. The status of the other ranks is good, since a launcher could
// end rank 0 before it has printed.
int report_of_world(RankReport own, const DoctorOptions& options) {
  const auto timeout =
      std::chrono::duration_cast<Duration>(std::chrono::duration<double>(options.world.timeout_s));
  const std::unique_ptr<perf::MeasuredWorld> world =
      perf::join_world(options.world.transport, {.timeout = timeout});
  Communicator& communicator = world->communicator();
  for (Check& check : checks_of_world(communicator)) own.checks.push_back(std::move(check));
  own.rank = communicator.rank();
  const std::vector<RankReport> all = gather_reports(communicator, own);
  return own.rank == 0 ? print(merged(all), options.json) : 0;
}

// Without a world, rank 0 prints its own report, and the other ranks print faults of their own.
int report_alone(RankReport own, const DoctorOptions& options, const Check& why) {
  if (own.rank == 0) {
    own.checks.push_back(why);
    return print(merged({own}), options.json);
  }
  std::erase_if(own.checks, [](const Check& check) { return check.verdict != Verdict::fault; });
  if (!own.checks.empty())
    fmt::print(stderr, "rank {} on its own:\n{}", own.rank, text_of(merged({own})));
  std::this_thread::sleep_for(std::chrono::seconds{2});  // until rank 0 has printed
  return 0;
}

int doctor(const DoctorOptions& options) {
  const int asked = options.world.ranks.value_or(0);
  if (starts_ranks(options.world) && check_descriptors(asked).verdict != Verdict::fault)
    return start_ranks("tutti doctor", asked);
  const Subject subject = subject_of(asked);
  const RankReport own = own_report(subject);
  unset_faulty_variables(own);
  try {
    return report_of_world(own, options);
  } catch (const perf::Failure& failure) {  // all ranks have it
    return report_alone(own, options, check_of_error("world", Verdict::fault, failure.what()));
  } catch (const Error& error) {
    const std::string text = error.what();
    Check why = check_of_error("world", Verdict::fault, text.substr(0, text.find('\n')));
    if (why.cure.empty()) why.cure = "mend the other faults first; on each host: tutti doctor";
    static_cast<void>(report_alone(own, options, why));
    const int code = static_cast<int>(perf::ExitCode::wrong_data);
    perf::end_job(code);
    return code;
  }
}

}  // namespace
}  // namespace doctor

void add_doctor(CLI::App& app, std::function<int()>& run) {
  const auto options = std::make_shared<doctor::DoctorOptions>();
  options->world = perf::sweep_options({});
  CLI::App* command =
      app.add_subcommand("doctor", "faults of this machine or these ranks, and cures");
  perf::declare_flags(*command, options->world, {"--transport", "--ranks", "--timeout"});
  command->add_flag("--json", options->json, "one object");
  command->callback([options, &run] { run = [options] { return doctor::doctor(*options); }; });
}

}  // namespace tutti::command

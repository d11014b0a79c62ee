// Parses the command line and runs the chosen subcommand.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "command/commands.hpp"
#include "command/help.hpp"
#include "perf/build.hpp"
#include "perf/command_line.hpp"
#include "perf/environment.hpp"
#include "perf/failure.hpp"

namespace tutti::command {

using perf::ExitCode;
using perf::Failure;

namespace {

/// The chosen subcommand, or the command itself.
const CLI::App& chosen(const CLI::App& app) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  return parsed.empty() ? app : *parsed.front();
}

/// Throws a Failure that describes the error in the command line.
[[noreturn]] void reject(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = chosen(app);
  const std::string help = "; see " + std::string{"tutti"} +
                           (&command == &app ? "" : " " + command.get_name()) + " --help";
  const std::vector<std::string> unknown = app.remaining(true);
  if (!unknown.empty()) {
    const std::string word = unknown.front().substr(0, unknown.front().find('='));
    if (word.starts_with("-"))
      perf::reject_unknown_flag(&command == &app ? "tutti" : "tutti " + command.get_name(), word,
                                all_flag_names(command));
    if (&command == &app) perf::reject_word("command", word, command_names(app));
    throw Failure{ExitCode::usage, "unexpected argument '" + word + "'" + help};
  }
  if (&command == &app && app.get_subcommands().empty())
    throw Failure{ExitCode::usage, fmt::format("a command is missing; choose from {}{}",
                                               fmt::join(command_names(app), ", "), help)};
  throw Failure{ExitCode::usage, error.what() + help};
}

/// Only one rank prints help and version.
int print_and_end(const CLI::App& app, const CLI::ParseError& error) {
  if (perf::launched_rank().value_or(0) != 0) return static_cast<int>(ExitCode::good);
  std::ostringstream text;
  const int code = app.exit(error, text);
  perf::write_out(text.str(), stdout);
  return code;
}

}  // namespace

int run_command(int argc, char** argv) {
  CLI::App app{"tutti: prove, predict, measure and run collective communication", "tutti"};
  app.set_version_flag("--version", "tutti " + perf::build_version());
  app.require_subcommand(1);
  std::function<int()> run;
  add_list(app, run);
  add_show(app, run);
  add_verify(app, run);
  add_info(app, run);
  add_doctor(app, run);
  add_sweep(app, run);
  add_gradients(app, run);
  add_calibrate(app, run);
  add_tune(app, run);
  add_export(app, run);
  add_lint(app, run);
  add_topology(app, run);
  add_simulate(app, run);
  add_explain(app, run);
  add_run(app, run);
  add_exec(app, run);
  add_help(app, run);
  add_version(app, run);
  add_footers(app);
  try {
    std::vector<std::string> words = without_separator(app, {argv + 1, argv + argc});
    std::reverse(words.begin(), words.end());  // the parser takes them in this order
    app.parse(words);
  } catch (const CLI::Success& success) {
    return print_and_end(app, success);
  } catch (const CLI::ParseError& error) {
    reject(app, error);
  }
  const int code = run();
  // The other exit codes follow a printed error. With these, a failed write to standard output has
  // not been reported yet.
  const bool is_told = code != static_cast<int>(ExitCode::good) &&
                       code != static_cast<int>(ExitCode::wrong_data) &&
                       code != static_cast<int>(ExitCode::slower);
  if (!is_told && (std::fflush(stdout) != 0 || std::ferror(stdout) != 0))
    throw Failure{ExitCode::environment, "cannot write to standard output"};
  return code;
}

}  // namespace tutti::command

/// @file
/// The subcommands of `tutti`. Each function add_* adds one to the command line; if the user
/// chooses it, its function is stored in `run`. The parser checks the flags, so that all ranks of a
/// launch agree on their errors.
#pragma once

#include <functional>
#include <string>
#include <vector>

// CLI/CLI.hpp takes seconds to compile, so only the sources that use it include it.
namespace CLI {
class App;
}

namespace tutti::command {

/// Most ranks that the command starts or shows.
inline constexpr int kMostRanks = 4096;

void add_list(CLI::App& app, std::function<int()>& run);
void add_show(CLI::App& app, std::function<int()>& run);
void add_verify(CLI::App& app, std::function<int()>& run);
void add_info(CLI::App& app, std::function<int()>& run);
void add_doctor(CLI::App& app, std::function<int()>& run);
void add_exec(CLI::App& app, std::function<int()>& run);
void add_run(CLI::App& app, std::function<int()>& run);
void add_sweep(CLI::App& app, std::function<int()>& run);
void add_calibrate(CLI::App& app, std::function<int()>& run);
void add_tune(CLI::App& app, std::function<int()>& run);
void add_lint(CLI::App& app, std::function<int()>& run);
void add_export(CLI::App& app, std::function<int()>& run);
void add_topology(CLI::App& app, std::function<int()>& run);
void add_simulate(CLI::App& app, std::function<int()>& run);
void add_explain(CLI::App& app, std::function<int()>& run);
void add_gradients(CLI::App& app, std::function<int()>& run);
void add_help(CLI::App& app, std::function<int()>& run);
void add_version(CLI::App& app, std::function<int()>& run);

/// Parses the command line and runs the chosen subcommand. Throws Failure{usage} on a wrong word.
/// @return the exit code.
[[nodiscard]] int run_command(int argc, char** argv);

/// Removes a `--` between the flags of `tutti run` or `tutti exec` and its program: the parser would take the words
/// after it for words of `tutti` itself. @param app the command, with `tutti run`.
[[nodiscard]] std::vector<std::string> without_separator(const CLI::App& app,
                                                         std::vector<std::string> words);

}  // namespace tutti::command

/// @file
/// The subcommands of `tutti`. Each is added to the command line and, when chosen, sets what runs.
/// Flags are judged while the command line is parsed, so that all ranks of a launch agree on them.
#pragma once

#include <functional>
#include <string>
#include <vector>

// CLI/CLI.hpp takes seconds to compile, so only the sources that use it include it.
namespace CLI {
class App;
}

namespace tutti::command {

/// More ranks are neither started nor shown.
inline constexpr int kMostRanks = 4096;

/// Adds `tutti list`. @param app the command. @param run set when this subcommand was chosen.
void add_list(CLI::App& app, std::function<int()>& run);

/// Adds `tutti show`. @param app the command. @param run set when this subcommand was chosen.
void add_show(CLI::App& app, std::function<int()>& run);

/// Adds `tutti verify`. @param app the command. @param run set when this subcommand was chosen.
void add_verify(CLI::App& app, std::function<int()>& run);

/// Adds `tutti info`. @param app the command. @param run set when this subcommand was chosen.
void add_info(CLI::App& app, std::function<int()>& run);

/// Adds `tutti run`. @param app the command. @param run set when this subcommand was chosen.
void add_run(CLI::App& app, std::function<int()>& run);

/// The parser would take what stands after `--` for words of `tutti` itself.
/// @param app the command, with `tutti run`. @param words of the command line. @return them without
/// a `--` between the flags of `tutti run` and its program.
[[nodiscard]] std::vector<std::string> without_separator(const CLI::App& app,
                                                         std::vector<std::string> words);

/// Adds `tutti sweep`. @param app the command. @param run set when this subcommand was chosen.
void add_sweep(CLI::App& app, std::function<int()>& run);

/// Adds `tutti calibrate`. @param app the command. @param run set when this subcommand was chosen.
void add_calibrate(CLI::App& app, std::function<int()>& run);

/// Adds `tutti tune`. @param app the command. @param run set when this subcommand was chosen.
void add_tune(CLI::App& app, std::function<int()>& run);

/// Adds `tutti lint`. @param app the command. @param run set when this subcommand was chosen.
void add_lint(CLI::App& app, std::function<int()>& run);

/// Adds `tutti export`. @param app the command. @param run set when this subcommand was chosen.
void add_export(CLI::App& app, std::function<int()>& run);

/// Adds `tutti topology`. @param app the command. @param run set when this subcommand was chosen.
void add_topology(CLI::App& app, std::function<int()>& run);

/// Adds `tutti simulate`. @param app the command. @param run set when this subcommand was chosen.
void add_simulate(CLI::App& app, std::function<int()>& run);

/// Adds `tutti explain`. @param app the command. @param run set when this subcommand was chosen.
void add_explain(CLI::App& app, std::function<int()>& run);

/// Adds `tutti gradients`. @param app the command. @param run set when this subcommand was chosen.
void add_gradients(CLI::App& app, std::function<int()>& run);

}  // namespace tutti::command

/// @file
/// Texts of the command about itself: examples, pages of the manual, and completions of shells.
/// All of them are made from the flags that the parser knows.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

// CLI/CLI.hpp takes seconds to compile, so only the sources that use it include it.
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tutti::command {

/// The texts that --help adds to the flags of a subcommand.
struct HelpTexts {
  std::string_view command;                    ///< Its name; empty: `tutti` itself.
  std::string_view description;                ///< Lines of at most 80 columns; or empty.
  std::span<const std::string_view> examples;  ///< Command lines.
};

/// @return the texts of a subcommand. @param command empty: those of `tutti` itself.
[[nodiscard]] const HelpTexts& help_texts(std::string_view command);

/// @return the line about exit codes. @param command as of help_texts.
[[nodiscard]] std::string_view exit_codes(std::string_view command);

/// Adds the texts to --help of the command and of all subcommands.
void add_footers(CLI::App& app);

/// @return all subcommands.
[[nodiscard]] std::vector<const CLI::App*> commands_of(const CLI::App& app);

/// @return their names.
[[nodiscard]] std::vector<std::string> command_names(const CLI::App& app);

/// @return the names of all flags of --help. @param command any.
[[nodiscard]] std::vector<std::string> all_flag_names(const CLI::App& command);

/// @return the flags of --help. @param command any.
[[nodiscard]] std::vector<const CLI::Option*> flags_in_help(const CLI::App& command);

/// @return the names of a flag, such as -C and --collective.
[[nodiscard]] std::vector<std::string> flag_names(const CLI::Option& flag);

/// @return whether a value follows the flag.
[[nodiscard]] bool takes_value(const CLI::Option& flag);

/// @return the values of a flag of collectives; empty for another one.
[[nodiscard]] std::vector<std::string> values_of(const CLI::Option& flag);

/// @return the page in roff. @param command a subcommand, or `app`.
[[nodiscard]] std::string manual_page(const CLI::App& app, const CLI::App& command);

/// @return the page tutti-mpi(7) about MPI programs with tutti's collectives.
[[nodiscard]] std::string mpi_manual_page();

/// @return a text as roff prints it. A hyphen becomes a minus, which people copy to a command line.
[[nodiscard]] std::string roff(std::string_view text);
/// @return the text in roff, in bold.
[[nodiscard]] std::string bold(std::string_view text);

/// @return the script. @param shell one of kShells.
[[nodiscard]] std::string completion(const CLI::App& app, std::string_view shell);

/// A shell, and the place of its completions below share/.
struct Shell {
  std::string_view name;
  std::string_view file;
};
inline constexpr Shell kShells[] = {{"bash", "bash-completion/completions/tutti"},
                                    {"zsh", "zsh/site-functions/_tutti"},
                                    {"fish", "fish/vendor_completions.d/tutti.fish"}};

}  // namespace tutti::command

// Completions of shells, from the flags of the parser.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "command/help.hpp"

namespace tutti::command {

namespace {

constexpr std::string_view kBashEnd = R"(  esac
  if [[ -n $values ]]; then
    COMPREPLY=($(compgen -W "$values" -- "$word"))
  elif [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$word"))
  elif [[ $command == '' || $command == help ]]; then
    COMPREPLY=($(compgen -W "$commands" -- "$word"))
  fi
}
complete -o default -F _tutti tutti tutti-mpich
)";

// Without a value, words of the current command or flag are completed; else files.
std::string for_bash(const CLI::App& app) {
  std::string text = fmt::format(
      "# Completions of tutti for bash, written by tutti help --completion bash.\n"
      "_tutti() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} command= flags= values= i\n"
      "  local commands='{}'\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    if [[ ${{COMP_WORDS[i]}} != -* ]]; then command=${{COMP_WORDS[i]}}; break; fi\n"
      "  done\n"
      "  COMPREPLY=()\n"
      "  case $command in\n"
      "    '') flags='{}' ;;\n",
      fmt::join(command_names(app), " "), fmt::join(all_flag_names(app), " "));
  std::string values;
  for (const CLI::App* command : commands_of(app)) {
    text += fmt::format("    {}) flags='{}' ;;\n", command->get_name(),
                        fmt::join(all_flag_names(*command), " "));
    for (const CLI::Option* flag : flags_in_help(*command))
      if (const auto words = values_of(*flag); !words.empty())
        values = fmt::format("    {}) values='{}' ;;\n", fmt::join(flag_names(*flag), "|"),
                             fmt::join(words, " "));
  }
  return text + "  esac\n  case ${COMP_WORDS[COMP_CWORD-1]} in\n" + values + std::string{kBashEnd};
}

// In single quotes, for which `quote` stands within them, and with a backslash before each of
// `special`.
std::string quoted(std::string_view text, std::string_view special, std::string_view quote) {
  std::string result;
  for (const char c : text) {
    if (c == '\'') result += quote;
    else result += special.find(c) == special.npos ? std::string{c} : std::string{'\\', c};
  }
  return result;
}

std::string in_zsh(std::string_view text) {
  return quoted(text, "\\[]:", R"('\'')");
}

std::string for_zsh(const CLI::App& app) {
  std::string text =
      "#compdef tutti tutti-mpich\n"
      "# Completions of tutti for zsh, written by tutti help --completion zsh.\n"
      "local -a commands=(\n";
  for (const CLI::App* command : commands_of(app))
    text += fmt::format("  '{}:{}'\n", command->get_name(), in_zsh(command->get_description()));
  text +=
      ")\n"
      "if (( CURRENT == 2 )); then\n"
      "  _describe command commands\n"
      "  return\n"
      "fi\n"
      "local command=${words[2]}\n"
      "shift words\n"
      "(( --CURRENT ))\n"
      "case $command in\n"
      "  help) _describe command commands ;;\n";
  for (const CLI::App* command : commands_of(app)) {
    if (command->get_name() == "help") continue;
    text += fmt::format("  {}) _arguments '*: :_files'", command->get_name());
    for (const CLI::Option* flag : flags_in_help(*command)) {
      const auto words = values_of(*flag);
      const std::string value =
          words.empty() ? "_files" : fmt::format("({})", fmt::join(words, " "));
      for (const std::string& name : flag_names(*flag))
        text += fmt::format(" \\\n    '{}[{}]{}'", name, in_zsh(flag->get_description()),
                            takes_value(*flag) ? ":value:" + value : "");
    }
    text += " ;;\n";
  }
  return text + "esac\n";
}

std::string in_fish(std::string_view text) {
  return quoted(text, "\\", R"(\')");
}

std::string for_fish(const CLI::App& app) {
  std::string text = "# Completions of tutti for fish, written by tutti help --completion fish.\n";
  for (const CLI::App* command : commands_of(app))
    text += fmt::format("complete -c tutti -f -n __fish_use_subcommand -a {} -d '{}'\n",
                        command->get_name(), in_fish(command->get_description()));
  for (const CLI::App* command : commands_of(app))
    for (const CLI::Option* flag : flags_in_help(*command)) {
      text +=
          fmt::format("complete -c tutti -n '__fish_seen_subcommand_from {}'", command->get_name());
      for (const std::string& name : flag->get_snames()) text += " -s " + name;
      for (const std::string& name : flag->get_lnames()) text += " -l " + name;
      const auto words = values_of(*flag);
      if (takes_value(*flag)) text += " -r";
      if (!words.empty()) text += fmt::format(" -f -a '{}'", fmt::join(words, " "));
      text += fmt::format(" -d '{}'\n", in_fish(flag->get_description()));
    }
  return text + fmt::format("complete -c tutti -f -n '__fish_seen_subcommand_from help' -a '{}'\n",
                            fmt::join(command_names(app), " "));
}

}  // namespace

std::string completion(const CLI::App& app, std::string_view shell) {
  if (shell == "bash") return for_bash(app);
  return shell == "zsh" ? for_zsh(app) : for_fish(app);
}

}  // namespace tutti::command

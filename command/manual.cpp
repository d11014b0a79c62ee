// Pages of the manual, in roff, from the flags of the parser.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "command/help.hpp"
#include "perf/build.hpp"

namespace tutti::command {

namespace {

std::string full_name(const CLI::App& app, const CLI::App& command) {
  return &command == &app ? "tutti" : "tutti " + command.get_name();
}

std::string entry(const CLI::Option& flag) {
  std::vector<std::string> names;
  for (const std::string& name : flag_names(flag)) names.push_back(bold(name));
  const std::string usual = takes_value(flag) ? flag.get_default_str() : "";
  return fmt::format(".TP\n{}{}\n{}{}\n", fmt::join(names, ", "),
                     takes_value(flag) ? " \\fIvalue\\fR" : "", roff(flag.get_description()),
                     usual.empty() ? "" : roff(fmt::format(" [{}]", usual)));
}

std::string options_of(const CLI::App& command) {
  std::string text;
  std::vector<std::string> groups;
  for (const CLI::Option* flag : flags_in_help(command))
    if (std::ranges::find(groups, flag->get_group()) == groups.end())
      groups.push_back(flag->get_group());
  for (const std::string& group : groups) {
    text += group == "Options" ? ".SH OPTIONS\n" : fmt::format(".SS {}\n", roff(group));
    for (const CLI::Option* flag : flags_in_help(command))
      if (flag->get_group() == group) text += entry(*flag);
  }
  return text;
}

std::vector<const CLI::Option*> positionals_of(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

std::string synopsis_of(const CLI::App& app, const CLI::App& command) {
  std::string text = bold(full_name(app, command)) + " [options]";
  for (const CLI::Option* one : positionals_of(command)) {
    const std::string name = "\\fI" + roff(one->get_name(true, false)) + "\\fR";
    text += one->get_required() ? " " + name : " [" + name + "]";
  }
  if (&command == &app) text += " \\fIcommand\\fR ...";
  if (command.get_name() == "run" || command.get_name() == "exec")
    text += " \\fIprogram\\fR [argument ...]";
  return text;
}

std::string lists_of(const CLI::App& app, const CLI::App& command) {
  std::string text;
  for (const CLI::Option* one : positionals_of(command)) {
    if (text.empty()) text += ".SH ARGUMENTS\n";
    text += fmt::format(".TP\n{}\n{}\n", bold(one->get_name(true, false)),
                        roff(one->get_description()));
  }
  text += options_of(command);
  if (&command != &app) return text;
  text += ".SH COMMANDS\n";
  for (const CLI::App* one : commands_of(app))
    text += fmt::format(".TP\n{}\n{}; see {}(1)\n", bold(one->get_name()),
                        roff(one->get_description()), bold("tutti-" + one->get_name()));
  return text;
}

}  // namespace

std::string roff(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const bool begins_line = escaped.empty() || escaped.back() == '\n';
    if (begins_line && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '\\') escaped += "\\e";
    else if (c == '-') escaped += "\\-";
    else escaped += c;
  }
  return escaped;
}

std::string bold(std::string_view text) {
  return "\\fB" + roff(text) + "\\fR";
}

std::string manual_page(const CLI::App& app, const CLI::App& command) {
  const bool is_whole = &command == &app;
  const HelpTexts& texts = help_texts(is_whole ? "" : command.get_name());
  const std::string name = is_whole ? "tutti" : "tutti-" + command.get_name();
  std::string about = command.get_description();
  if (is_whole) about = about.substr(about.find(": ") + 2);
  std::string upper = name;
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  std::string text = fmt::format(
      ".TH {} 1 \"\" \"tutti {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}\n",
      roff(upper), roff(perf::build_version()), roff(name), roff(about), synopsis_of(app, command));
  if (!texts.description.empty())
    text += fmt::format(".SH DESCRIPTION\n{}\n", roff(texts.description));
  text += lists_of(app, command);
  text += ".SH EXIT STATUS\n" +
          roff(exit_codes(texts.command).substr(std::string_view{"Exit codes: "}.size())) +
          "\n.SH EXAMPLES\n.nf\n";
  for (const std::string_view example : texts.examples) text += roff(example) + "\n";
  text += ".fi\n";
  if (!is_whole) text += ".SH SEE ALSO\n" + bold("tutti") + "(1)";
  if (command.get_name() == "exec") text += ", " + bold("tutti-mpi") + "(7)";
  if (!is_whole) text += "\n";
  return text;
}

}  // namespace tutti::command

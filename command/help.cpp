// tutti help and tutti version, and the examples of --help.
#include "command/help.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>

#include <tutti/types.hpp>

#include "command/commands.hpp"
#include "perf/build.hpp"
#include "perf/command_line.hpp"
#include "perf/failure.hpp"

namespace tutti::command {

namespace {

using Lines = std::string_view;

constexpr Lines kOfTutti[] = {"tutti sweep --ranks 4", "tutti help sweep"};
constexpr Lines kOfList[] = {"tutti list -C all_reduce --json"};
constexpr Lines kOfShow[] = {"tutti show all_reduce ring --ranks 4"};
constexpr Lines kOfVerify[] = {"tutti verify --ranks 1:16 --collective all_reduce"};
constexpr Lines kOfInfo[] = {"tutti info", "mpirun -n 2 tutti info --launch"};
constexpr Lines kOfDoctor[] = {"tutti doctor", "mpirun -n 4 tutti doctor"};
constexpr Lines kOfSweep[] = {"tutti sweep --ranks 4 -C allreduce,bcast -e 1M",
                              "mpirun -n 4 tutti sweep -C all_reduce --html sweep.html",
                              "mpirun -n 4 tutti sweep -C bcast -a auto --format osu"};
constexpr Lines kOfGradients[] = {
    "tutti run -n 4 tutti gradients --model resnet50 --compute 120ms"};
constexpr Lines kOfCalibrate[] = {"tutti calibrate --ranks 4"};
constexpr Lines kOfTune[] = {"tutti tune --ranks 4 -C all_reduce --html tune.html"};
constexpr Lines kOfExport[] = {"tutti export --to openmpi -o rules.conf"};
constexpr Lines kOfLint[] = {"mpirun -n 4 tutti lint -C all_reduce -e 64K"};
constexpr Lines kOfTopology[] = {"tutti topology torus:8x8 --format json"};
constexpr Lines kOfSimulate[] = {"tutti simulate torus:4x4 -C all_gather -b 64K"};
constexpr Lines kOfExplain[] = {"tutti explain torus:4x4 -C all_reduce -b 8,64K,4M"};
constexpr Lines kOfRun[] = {"tutti run -n 4 ./program argument",
                            "tutti run -n 8 --hosts one,two ./program"};
constexpr Lines kOfExec[] = {"mpirun -n 4 tutti exec ./program argument",
                             "mpirun -n 4 tutti exec --report --serve allreduce,bcast ./program"};
constexpr Lines kOfHelp[] = {"tutti help sweep", "tutti help --man sweep | man -l -",
                             "tutti help --completion bash > ~/.tutti-completion"};
constexpr Lines kOfVersion[] = {"tutti version"};

constexpr HelpTexts kHelpTexts[] = {
    {"", "", kOfTutti},
    {"list", "", kOfList},
    {"show", "", kOfShow},
    {"verify", "", kOfVerify},
    {"info", "", kOfInfo},
    {"doctor", "", kOfDoctor},
    {"sweep", "", kOfSweep},
    {"gradients",
     "Replays the gradients of a model on these ranks with each combination of the\n"
     "lists, in turn, and prints the best options.",
     kOfGradients},
    {"calibrate", "", kOfCalibrate},
    {"tune", "", kOfTune},
    {"export", "", kOfExport},
    {"lint", "", kOfLint},
    {"topology", "", kOfTopology},
    {"simulate", "", kOfSimulate},
    {"explain", "", kOfExplain},
    {"run", "The program and its arguments follow the flags.", kOfRun},
    {"exec",
     "Runs an unchanged MPI program, whose collectives tutti serves. The program and\n"
     "its arguments follow the flags.",
     kOfExec},
    {"help", "", kOfHelp},
    {"version", "", kOfVersion}};

struct HelpOptions {
  std::string command{};
  std::string shell{};
  std::string folder{};
  bool man = false;
};

const CLI::App& command_named(const CLI::App& app, const std::string& name) {
  if (name.empty()) return app;
  return *commands_of(app)[perf::index_among("command", name, command_names(app))];
}

// Writes all pages and scripts as they lie below share/.
void write_share(const CLI::App& app, const std::filesystem::path& folder) {
  const auto write = [&](const std::filesystem::path& file, const std::string& text) {
    std::error_code error;
    std::filesystem::create_directories((folder / file).parent_path(), error);
    perf::write_text(text, (folder / file).string());
  };
  write("man/man1/tutti.1", manual_page(app, app));
  for (const CLI::App* command : commands_of(app))
    write(fmt::format("man/man1/tutti-{}.1", command->get_name()), manual_page(app, *command));
  write("man/man7/tutti-mpi.7", mpi_manual_page());
  for (const Shell& shell : kShells) write(shell.file, completion(app, shell.name));
}

int print_help(const CLI::App& app, const HelpOptions& options) {
  const CLI::App& command = command_named(app, options.command);
  if (!options.folder.empty()) write_share(app, options.folder);
  else if (!options.shell.empty()) perf::print_out("{}", completion(app, options.shell));
  else if (options.man) perf::print_out("{}", manual_page(app, command));
  else
    perf::print_out("{}", app.get_formatter()->make_help(
                              &command, &command == &app ? "tutti" : "tutti " + options.command,
                              CLI::AppFormatMode::Normal));
  return static_cast<int>(perf::ExitCode::good);
}

std::string footer_of(std::string_view command) {
  const HelpTexts& texts = help_texts(command);
  std::string text{texts.description};
  text += text.empty() ? "Examples:" : "\n\nExamples:";
  for (const std::string_view example : texts.examples) text += fmt::format("\n  {}", example);
  return text + "\n\n" + std::string{exit_codes(command)};
}

}  // namespace

const HelpTexts& help_texts(std::string_view command) {
  return *std::ranges::find(kHelpTexts, command, &HelpTexts::command);
}

std::string_view exit_codes(std::string_view command) {
  if (command.empty())
    return "Exit codes: 0 good, 1 wrong data, a failed proof or a fault, 2 usage,\n"
           "3 slower than the baseline, or than lint allows, 4 environment, 5 deadline,\n"
           "128 + n: signal n ended a measurement.";
  return "Exit codes: 0 good, 1 wrong data, 2 usage, 3 slower, 4 environment, 5 deadline.";
}

void add_footers(CLI::App& app) {
  app.footer(footer_of(""));
  for (CLI::App* command : app.get_subcommands({})) command->footer(footer_of(command->get_name()));
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(app)) names.push_back(command->get_name());
  return names;
}

std::vector<const CLI::Option*> flags_in_help(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) {
    return option->nonpositional() && !option->get_group().empty();
  });
}

std::vector<std::string> flag_names(const CLI::Option& flag) {
  std::vector<std::string> names;
  for (const std::string& name : flag.get_snames()) names.push_back("-" + name);
  for (const std::string& name : flag.get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<std::string> all_flag_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* flag : flags_in_help(command))
    for (const std::string& name : flag_names(*flag)) names.push_back(name);
  return names;
}

bool takes_value(const CLI::Option& flag) {
  return flag.get_type_size() != 0 && flag.get_expected_max() != 0;
}

std::vector<std::string> values_of(const CLI::Option& flag) {
  if (!flag.check_lname("collective")) return {};
  std::vector<std::string> names{"all"};
  for (const CollectiveTraits& traits : kCollectiveTraits) names.emplace_back(traits.name);
  return names;
}

void add_help(CLI::App& app, std::function<int()>& run) {
  const auto options = std::make_shared<HelpOptions>();
  CLI::App* command = app.add_subcommand("help", "print the help of a command");
  command->add_option("command", options->command, "such as sweep; default: tutti itself");
  command->add_flag("--man", options->man, "print it as a page of the manual");
  command->add_option("--completion", options->shell, "print the completions of a shell")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->add_option("--share", options->folder, "write all of these below a folder");
  command->callback([options, &app, &run] {
    static_cast<void>(command_named(app, options->command));
    run = perf::on_first_rank([options, &app] { return print_help(app, *options); });
  });
}

void add_version(CLI::App& app, std::function<int()>& run) {
  app.add_subcommand("version", "print the version")->callback([&run] {
    run = perf::on_first_rank([] {
      perf::print_out("tutti {}\n", perf::build_version());
      return static_cast<int>(perf::ExitCode::good);
    });
  });
}

}  // namespace tutti::command

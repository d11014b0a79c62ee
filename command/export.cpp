// `tutti export`: a tuning file as the configuration of another library.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include <tutti/error.hpp>

#include "command/commands.hpp"
#include "perf/command_line.hpp"
#include "perf/failure.hpp"
#include "perf/tuning/export_tuning.hpp"
#include "runtime/tuning_file.hpp"

namespace tutti::perf {

namespace {

struct ExportFlags {
  std::string file;
  std::string format;
  ExportScope scope;
  std::string collectives = "all";
  std::string buffers = "private";
  std::string output;
};

detail::Tuning tuning_to_export(const std::string& file) {
  const std::string path =
      file.empty() ? runtime::usual_tuning_path(runtime::process_environment()) : file;
  try {
    return detail::read_tuning(path);
  } catch (const Error& error) {
    throw Failure{ExitCode::usage, std::string{error.what()} + "; expected a file of tutti tune"};
  }
}

int export_tuning(ExportFlags flags) {
  const std::vector<std::string> formats = export_formats();
  if (std::ranges::find(formats, flags.format) == formats.end())
    reject_word("format", flags.format, formats);
  if (flags.buffers != "private" && flags.buffers != "visible")
    reject_word("kind of buffers", flags.buffers, {"private", "visible"});
  const detail::Tuning tuning = tuning_to_export(flags.file);
  flags.scope.visible = flags.buffers == "visible";
  flags.scope.collectives = collectives_named(flags.collectives);
  const Exported exported = export_for(tuning, library_of(flags.format), flags.scope);
  for (const std::string& sentence : exported.left_out)
    fmt::print(stderr, "tutti export: left out {}\n", sentence);
  if (exported.tables.empty())
    throw Failure{
        ExitCode::usage,
        fmt::format("{} has nothing to export{}", tuning.origin,
                    flags.scope.transport.empty() ? "" : " over " + flags.scope.transport)};
  write_text(text_in_format(flags.format, exported, tuning.origin), flags.output);
  return static_cast<int>(ExitCode::good);
}

}  // namespace

void add_export(CLI::App& app, std::function<int()>& run) {
  const auto flags = std::make_shared<ExportFlags>();
  CLI::App* command = app.add_subcommand("export", "convert a tuning file for another library");
  command->add_option("file", flags->file, "tuning file; default: the one that init reads");
  command->add_option("--to", flags->format, "openmpi, openmpi6, mpich, mpich5, intel, ucc, nccl")
      ->required();
  command->add_option("--transport", flags->scope.transport, "only tables of this transport");
  command->add_option("-C,--collective", flags->collectives, "names with commas, or all")
      ->capture_default_str();
  command->add_option("--ranks", flags->scope.ranks, "only tables of this number of ranks");
  command->add_option("--buffers", flags->buffers, "private or visible")->capture_default_str();
  command->add_option("-o,--output", flags->output, "file; default: standard output");
  command->callback(
      [flags, &run] { run = on_first_rank([flags] { return export_tuning(*flags); }); });
}

}  // namespace tutti::perf

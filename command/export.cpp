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
#include "runtime/world/tuning_file.hpp"

namespace tutti::command {

using perf::ExitCode;

namespace {

struct ExportOptions {
  std::string file;
  std::string format;
  perf::ExportScope scope;
  std::string output;
};

detail::Tuning tuning_to_export(const std::string& file) {
  const std::string path =
      file.empty() ? runtime::usual_tuning_path(runtime::process_environment()) : file;
  try {
    return detail::read_tuning(path);
  } catch (const Error& error) {
    throw perf::Failure{ExitCode::usage,
                        std::string{error.what()} + "; expected a file of tutti tune"};
  }
}

int export_tuning(const ExportOptions& options) {
  const perf::Library library = perf::library_named(options.format);
  const detail::Tuning tuning = tuning_to_export(options.file);
  const perf::Exported exported = perf::export_for(tuning, library, options.scope);
  for (const std::string& sentence : exported.left_out)
    fmt::print(stderr, "tutti export: left out {}\n", sentence);
  if (exported.tables.empty())
    throw perf::Failure{
        ExitCode::usage,
        fmt::format("{} has nothing to export{}", tuning.origin,
                    options.scope.transport.empty() ? "" : " over " + options.scope.transport)};
  perf::write_text(perf::text_for(library, exported, tuning.origin), options.output);
  return static_cast<int>(ExitCode::good);
}

}  // namespace

void add_export(CLI::App& app, std::function<int()>& run) {
  const auto options = std::make_shared<ExportOptions>();
  perf::ExportScope& scope = options->scope;
  scope.collectives = perf::collectives_named("all");
  CLI::App* command = app.add_subcommand("export", "convert a tuning file for another library");
  command->add_option("file", options->file, "tuning file; default: the one that init reads");
  command->add_option("--to", options->format, "openmpi, openmpi6, mpich, mpich5, intel, ucc, nccl")
      ->required();
  command->add_option("--transport", scope.transport, "only tables of this transport");
  command
      ->add_option_function<std::string>(
          "-C,--collective",
          [&scope](const std::string& text) { scope.collectives = perf::collectives_named(text); },
          "names with commas, or all")
      ->default_str("all");
  command->add_option("--ranks", scope.ranks, "only tables of this number of ranks");
  command
      ->add_option_function<std::string>(
          "--buffers",
          [&scope](const std::string& text) {
            scope.visible = perf::index_among("kind of buffers", text, {"private", "visible"}) == 1;
          },
          "private or visible")
      ->default_str("private");
  command->add_option("-o,--output", options->output, "file; default: standard output");
  command->callback([options, &run] {
    run = perf::on_first_rank([options] { return export_tuning(*options); });
  });
}

}  // namespace tutti::command

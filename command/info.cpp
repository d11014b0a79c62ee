// tutti info: the features of this build on this machine, and the reasons for those that are
// missing.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include <tutti/error.hpp>
#include <tutti/operators.hpp>
#include <tutti/spi/algorithm.hpp>
#include <tutti/types.hpp>

#include "backends/cuda/survey.hpp"
#include "backends/host/instruction_set.hpp"
#include "base/json_text.hpp"
#include "command/commands.hpp"
#include "command/features.hpp"
#include "perf/build.hpp"
#include "perf/command_line.hpp"
#include "perf/environment.hpp"
#include "perf/exit_code.hpp"
#include "perf/mpi/library.hpp"
#include "runtime/launch/launch.hpp"
#include "runtime/security/cryptography.hpp"
#include "runtime/security/tls.hpp"

namespace tutti::command {

using perf::ExitCode;

namespace {

struct Info {
  std::string version{};
  std::string compiler{};
  std::string mpi{};  ///< The MPI that is loaded and its file; empty without one.
  std::vector<std::string> mpi_modules{};  ///< The families of MPIs that can be loaded.
  std::string launcher{};
  int launched_ranks = 0;
  unsigned cores = 0;
  std::vector<std::string> instruction_sets{};  ///< From narrow to wide; the last one is used.
  std::vector<Feature> backends{};
  cuda::Survey cuda{};
  std::string nccl_blocking{};  ///< NCCL_COMM_BLOCKING, or empty.
  std::vector<std::string> datatypes{};
  std::vector<std::string> operators{};
  std::size_t algorithms = 0;
};

template <class Enumerator>
std::vector<std::string> names_of(int count) {
  std::vector<std::string> names;
  for (int index = 0; index < count; ++index)
    names.emplace_back(name_of(static_cast<Enumerator>(index)));
  return names;
}

std::vector<Feature> backends_of(const std::string& mpi, const cuda::Survey& cuda) {
  const bool has_gpus = !cuda.gpus.empty();
  return {{"sim", true, "all ranks in one process, for tests"},
          {"mpi", !mpi.empty(), mpi.empty() ? why_no_mpi() : mpi},
          shared_memory(),
          {"tcp", true,
           runtime::has_cryptography() ? "sockets between hosts; peers authenticate each other"
                                       : "the loopback only: built without OpenSSL (libssl-dev), "
                                         "peers cannot be authenticated"},
          {"hybrid", true,
           fmt::format("shm inside a host, {} between hosts: the default (auto)",
                       mpi.empty() ? "tcp" : "tcp or mpi")},
          {"tls", runtime::has_tls(),
           runtime::has_tls() ? "encrypts tcp with InitOptions::tls"
                              : "built without OpenSSL (libssl-dev)"},
          {"cuda", has_gpus,
           has_gpus ? "collectives on streams of GPUs: tutti::cuda::attach"
                    : "no driver or no GPU: see below"}};
}

Info collect() {
  Info info{.version = perf::build_version(),
            .compiler = perf::build_compiler(),
            .mpi = mpi_in_words(),
            .mpi_modules = perf::installed_mpi_modules(),
            .launcher = perf::launcher_name(),
            .launched_ranks = perf::launched_size().value_or(1),
            .cores = std::thread::hardware_concurrency()};
  for (const host::InstructionSet set : host::supported_instruction_sets())
    info.instruction_sets.emplace_back(host::name_of(set));
  info.cuda = cuda::survey();
  info.nccl_blocking =
      runtime::value_of(runtime::process_environment(), "NCCL_COMM_BLOCKING").value_or("");
  info.backends = backends_of(info.mpi, info.cuda);
  info.datatypes = names_of<Datatype>(kDatatypes);
  info.operators = names_of<OperatorKind>(kOperatorKinds);
  info.algorithms = catalog().size();
  return info;
}

/// A name and a list of words, wrapped into lines.
std::string paragraph(const std::string& name, const std::vector<std::string>& words) {
  constexpr std::size_t kWidth = 78;
  constexpr std::size_t kIndent = 14;
  std::string text;
  std::string line = fmt::format("{:<{}}", name, kIndent - 1);
  for (const std::string& word : words) {
    if (line.size() + 1 + word.size() > kWidth) {
      text += line + "\n";
      line.assign(kIndent - 1, ' ');
    }
    line += " " + word;
  }
  return text + line + "\n";
}

/// One line per GPU: its connection to every other GPU.
std::string links_in_words(const cuda::Survey& cuda) {
  std::string text = fmt::format("  {:<16}", "links");
  for (std::size_t i = 0; i < cuda.links.size(); ++i)
    text += fmt::format("{:<8}", fmt::format("gpu {}", i));
  for (std::size_t i = 0; i < cuda.links.size(); ++i) {
    text.erase(text.find_last_not_of(' ') + 1);
    text += fmt::format("\n    {:<14}", fmt::format("gpu {}", i));
    for (const std::string& link : cuda.links[i]) text += fmt::format("{:<8}", link);
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

/// The GPUs and their libraries, or the reason why there are none.
std::string gpus_in_words(const Info& info) {
  const cuda::Survey& cuda = info.cuda;
  const auto line = [](const char* name, const std::string& version, const std::string& why) {
    return fmt::format("  {:<12}{:<4}{}\n", name, version.empty() ? "no" : "yes",
                       version.empty() ? why : "version " + version);
  };
  std::string text = "gpus\n" + line("driver", cuda.driver, cuda.why_no_driver) +
                     line("nccl", cuda.nccl, cuda.why_no_nccl);
  if (!info.nccl_blocking.empty())
    text +=
        fmt::format("  {:<16}NCCL_COMM_BLOCKING={} overrides cuda::AttachOptions::nonblocking\n",
                    "", info.nccl_blocking);
  for (std::size_t i = 0; i < cuda.gpus.size(); ++i)
    text += fmt::format("  {:<16}{}, compute capability {}, {:.1f} GiB\n", fmt::format("gpu {}", i),
                        cuda.gpus[i].name, cuda.gpus[i].capability,
                        static_cast<double>(cuda.gpus[i].bytes) / (1U << 30));
  return cuda.gpus.size() > 1 ? text + links_in_words(cuda) : text;
}

std::string text_of(const Info& info) {
  std::string text = fmt::format("tutti {}\n", info.version);
  text += fmt::format("{:<14}{}\n", "compiler", info.compiler);
  text += fmt::format("{:<14}{}\n", "mpi", info.mpi.empty() ? "none" : info.mpi);
  text += fmt::format(
      "{:<14}{}\n", "MPI modules",
      info.mpi_modules.empty() ? "none" : fmt::format("{}", fmt::join(info.mpi_modules, " ")));
  text += fmt::format("{:<14}{}\n", "launcher",
                      info.launcher.empty()
                          ? "none"
                          : fmt::format("{}, {} ranks", info.launcher, info.launched_ranks));
  text += fmt::format("{:<14}{}\n", "cores", info.cores);
  text += fmt::format("{:<14}{} is used (this processor has {})\n", "kernels",
                      info.instruction_sets.back(), fmt::join(info.instruction_sets, ", "));
  text += fmt::format("{:<14}{}, see tutti list\n", "algorithms", info.algorithms);
  text += paragraph("datatypes", info.datatypes);
  text += paragraph("operators", info.operators);
  text += "backends\n";
  for (const Feature& backend : info.backends)
    text += fmt::format("  {:<12}{:<4}{}\n", backend.name, backend.available ? "yes" : "no",
                        backend.remark);
  return text + gpus_in_words(info);
}

std::string json_of(const Info& info) {
  nlohmann::ordered_json json{{"version", info.version},
                              {"compiler", info.compiler},
                              {"mpi", info.mpi},
                              {"mpi_modules", info.mpi_modules},
                              {"launcher", info.launcher},
                              {"launched_ranks", info.launched_ranks},
                              {"cores", info.cores},
                              {"instruction_sets", info.instruction_sets},
                              {"datatypes", info.datatypes},
                              {"operators", info.operators},
                              {"algorithms", info.algorithms}};
  for (const Feature& backend : info.backends)
    json["backends"][backend.name] = {{"available", backend.available}, {"remark", backend.remark}};
  json["cuda"] = {{"driver", info.cuda.driver},
                  {"why_no_driver", info.cuda.why_no_driver},
                  {"nccl", info.cuda.nccl},
                  {"why_no_nccl", info.cuda.why_no_nccl},
                  {"nccl_comm_blocking", info.nccl_blocking},
                  {"gpus", nlohmann::ordered_json::array()}};
  for (const cuda::Gpu& gpu : info.cuda.gpus)
    json["cuda"]["gpus"].push_back(
        {{"name", gpu.name}, {"capability", gpu.capability}, {"bytes", gpu.bytes}});
  json["cuda"]["links"] = info.cuda.links;
  return detail::text_of_json(json, 1) + "\n";
}

/// Prints the launcher's variables, and the launch that tutti reads from them.
int print_launch() {
  const runtime::Environment environment = runtime::process_environment();
  const std::vector<runtime::Launch> launches = runtime::detect_launches(environment);
  std::string text =
      launches.empty() ? "no variables of a launcher\n" : runtime::table_of(launches);
  ExitCode code = ExitCode::good;
  try {
    text += launch_in_words(runtime::detect_launch(environment)) + "\n";
  } catch (const Error& error) {
    const std::string message = error.what();
    text += "no world can start: " + message.substr(0, message.find('\n')) + "\n";
    code = ExitCode::environment;
  }
  perf::write_text(text, "");
  return static_cast<int>(code);
}

}  // namespace

void add_info(CLI::App& app, std::function<int()>& run) {
  const auto json = std::make_shared<bool>(false);
  CLI::App* command =
      app.add_subcommand("info", "features of this build here, and what is missing");
  const auto launch = std::make_shared<bool>(false);
  CLI::Option* as_json = command->add_flag("--json", *json, "one object");
  command->add_flag("--launch", *launch, "this process's world, and the variables behind it")
      ->excludes(as_json);
  command->callback([json, launch, &run] {
    run = perf::on_first_rank([json, launch] {
      if (*launch) return print_launch();
      const Info info = collect();
      perf::write_text(*json ? json_of(info) : text_of(info), "");
      return static_cast<int>(ExitCode::good);
    });
  });
}

}  // namespace tutti::command

// tutti exec: runs an MPI program whose collectives tutti serves.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "command/commands.hpp"
#include "perf/build.hpp"
#include "perf/exit_code.hpp"
#include "perf/failure.hpp"
#include "runtime/launch/config.hpp"

namespace tutti::command {
namespace {

using perf::ExitCode;
using perf::Failure;

struct ExecOptions {
  bool reports = false;
  std::string report_file{};
  bool is_strict = false;
  bool shares_heap = false;
  std::string served{};
  std::string native{};
  std::vector<std::string> program{};
};

// The file of a program that PATH may have. Empty if there is none.
std::string file_of(const std::string& program, const runtime::Environment& environment) {
  if (program.find('/') != std::string::npos) return program;
  std::string path{runtime::value_of(environment, "PATH").value_or("")};
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string file = path.substr(begin, end - begin) + "/" + program;
    if (access(file.c_str(), X_OK) == 0) return file;
    begin = end + 1;
  }
  return {};
}

// The dynamic linker ignores LD_PRELOAD in programs with the rights of another user.
void reject_other_rights(const std::string& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) == 0 && (status.st_mode & (S_ISUID | S_ISGID)) != 0)
    throw Failure{ExitCode::usage,
                  file +
                      " runs with the rights of another user or group, so nothing can be preloaded "
                      "into it; run it without `tutti exec`"};
}

// The front comes before other libraries, whose calls it has to see. The heap comes last, since it
// leaves a program's own allocator in place.
std::string preload(const std::string& front, const runtime::Environment& environment,
                    bool shares_heap) {
  std::string list = front;
  if (const auto others = runtime::value_of(environment, "LD_PRELOAD"))
    list += ":" + std::string{*others};
  if (shares_heap) list += ":" + perf::module_folder() + "/libtutti-heap.so";
  return list;
}

int run_program(const ExecOptions& options) {
  const runtime::Environment environment = runtime::process_environment();
  const bool shares_heap = options.shares_heap || runtime::read_config(environment).shared_heap;
  const std::string front = perf::module_folder() + "/libtutti-mpi.so";
  if (access(front.c_str(), R_OK) != 0)
    throw Failure{ExitCode::environment,
                  front + " is missing: build tutti's target tutti_dropin, which exists on x86-64"};
  reject_other_rights(file_of(options.program.front(), environment));
  setenv("LD_PRELOAD", preload(front, environment, shares_heap).c_str(), 1);
  if (shares_heap) setenv("TUTTI_SHARED_HEAP", "1", 1);
  if (options.reports) setenv("TUTTI_REPORT", "1", 1);
  if (!options.report_file.empty()) setenv("TUTTI_REPORT_FILE", options.report_file.c_str(), 1);
  if (options.is_strict) setenv("TUTTI_MPI_STRICT", "1", 1);
  if (!options.served.empty()) setenv("TUTTI_MPI", options.served.c_str(), 1);
  if (!options.native.empty()) setenv("TUTTI_MPI_NATIVE", options.native.c_str(), 1);
  std::vector<char*> words;
  for (const std::string& word : options.program) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words.front(), words.data());
  throw Failure{ExitCode::usage,
                fmt::format("cannot run {}: {}", words.front(), std::strerror(errno))};
}

}  // namespace

void add_exec(CLI::App& app, std::function<int()>& run) {
  const auto options = std::make_shared<ExecOptions>();
  CLI::App* command = app.add_subcommand("exec", "run an MPI program with tutti's collectives");
  command->add_flag("--report", options->reports,
                    "print on rank 0 who ran the calls, and their times");
  command->add_option("--report-file", options->report_file,
                      "write the times, for tutti sweep --replay and tune");
  command->add_flag("--strict", options->is_strict,
                    "end the job if tutti cannot connect the ranks");
  command->add_option("--serve", options->served, "collectives: allreduce,bcast>=64K,... or off");
  command
      ->add_option("--native", options->native, "calls for the MPI if faster: exact, all, or off")
      ->check(CLI::IsMember({"exact", "all", "off"}));
  command->add_flag("--shared-heap", options->shares_heap,
                    "put large arrays in memory that ranks share");
  command->prefix_command();
  command->callback([options, command, &run] {
    options->program = command->remaining();
    if (options->program.empty())
      throw Failure{
          ExitCode::usage,
          "a program is missing, as in: mpirun -n 4 tutti exec ./program; see tutti exec --help"};
    run = [options] { return run_program(*options); };
  });
}

}  // namespace tutti::command

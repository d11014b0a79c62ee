// The page tutti-mpi(7): what a user and an administrator of MPI programs need to know.
#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>

#include "command/help.hpp"
#include "perf/build.hpp"
#include "runtime/launch/config.hpp"

namespace tutti::command {
namespace {

struct Section {
  std::string_view title;
  std::string_view text;
};

struct CommandLine {
  std::string_view launcher;
  std::string_view line;
};

constexpr std::string_view kDescription =
    "The collectives of an MPI program run on tutti, all other calls on the MPI. The program is "
    "neither compiled nor linked again. A library, libtutti-mpi.so, has the collectives of MPI "
    "under "
    "their own names; preloaded into each rank, it comes before the MPI's library. It finds out at "
    "the "
    "first call which MPI the process uses, and loads the engine for it. All ranks of a job must "
    "have "
    "it, or none.\n\n"
    "Calls that tutti does not serve are handed on to the MPI, and TUTTI_REPORT=1 prints how many, "
    "and "
    "why. Errors go to the error handlers of the program, and profiling tools see its calls.";

constexpr std::array kLaunchers{
    CommandLine{"any launcher", "mpirun -n 4 tutti exec ./program"},
    CommandLine{"Open MPI", "mpirun -n 4 -x LD_PRELOAD=$TUTTI_MPI_PRELOAD ./program"},
    CommandLine{"MPICH, Intel MPI", "mpiexec -n 4 -genv LD_PRELOAD $TUTTI_MPI_PRELOAD ./program"},
    CommandLine{"Slurm", "srun -n 4 --export=ALL,LD_PRELOAD=$TUTTI_MPI_PRELOAD ./program"},
};

constexpr std::array kSections{
    Section{"LINKING",
            "A program that is to use tutti always is linked with it, before the MPI: mpicc "
            "program.c -o "
            "program $(pkg-config --libs tutti-mpi). It then needs neither the command nor "
            "LD_PRELOAD. A "
            "program that is linked statically to its MPI must be linked again in this way, to a "
            "shared "
            "MPI."},
    Section{
        "ADMINISTRATION",
        "Module files set TUTTI_MPI_PRELOAD to the library's path, and leave LD_PRELOAD to users: "
        "it "
        "would be loaded into every process of a login. TUTTI_MPI=off in the environment of a job "
        "gives all its calls to the MPI."},
};

std::string launchers() {
  std::string text = ".SH STARTING\nTUTTI_MPI_PRELOAD stands for the path of libtutti\\-mpi.so.\n";
  for (const CommandLine& one : kLaunchers)
    text += fmt::format(".TP\n{}\n{}\n", roff(one.launcher), bold(one.line));
  return text;
}

bool concerns_mpi_programs(std::string_view variable) {
  return variable != "TUTTI_MPI_LIBRARY" &&
         (variable.starts_with("TUTTI_MPI") || variable.starts_with("TUTTI_REPORT"));
}

std::string variables() {
  std::string text = ".SH ENVIRONMENT\n";
  for (const runtime::Variable& one : runtime::variables())
    if (concerns_mpi_programs(one.name))
      text += fmt::format(".TP\n{}\n{}\n", bold(one.name), roff(one.help));
  return text;
}

}  // namespace

std::string mpi_manual_page() {
  std::string text = fmt::format(
      ".TH TUTTI\\-MPI 7 \"\" \"tutti {}\" \"Miscellaneous\"\n.SH NAME\ntutti\\-mpi \\- MPI "
      "programs "
      "with tutti's collectives\n.SH SYNOPSIS\n{} \\fIprogram\\fR [argument ...]\n"
      ".SH DESCRIPTION\n{}\n",
      roff(perf::build_version()), bold("mpirun -n 4 tutti exec"), roff(kDescription));
  text += launchers() + variables();
  for (const Section& one : kSections)
    text += fmt::format(".SH {}\n{}\n", one.title, roff(one.text));
  return text + ".SH SEE ALSO\n" + bold("tutti-exec") + "(1), " + bold("tutti") + "(1)\n";
}

}  // namespace tutti::command

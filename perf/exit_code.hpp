/// @file
/// Exit status of the command.
#pragma once

namespace tutti::perf {

/// Exit status of `tutti`.
enum class ExitCode : int {
  good = 0,        ///< Success.
  wrong_data = 1,  ///< A result was wrong, a proof failed, or `tutti doctor` found a fault.
  usage = 2,       ///< The command line was wrong.
  slower = 3,      ///< Slower than the baseline, or than a guideline allows.
  environment =
      4,         ///< Launcher, MPI or packages are missing or wrong, or output cannot be written.
  deadline = 5,  ///< An operation missed its deadline.
};

}  // namespace tutti::perf

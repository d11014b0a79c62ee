/// @file
/// Starts one process of a job, so that it ends with the one that started it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "runtime/launch/config.hpp"
#include "runtime/sockets/socket.hpp"

namespace tutti::perf {

using runtime::Descriptor;

/// The two ends of a pipe, closed on exec.
struct Pipe {
  Descriptor read{};   ///< Where it comes out.
  Descriptor write{};  ///< Where it goes in.
};

/// @return a pipe. Throws Failure{environment}.
[[nodiscard]] Pipe make_pipe();

/// What to start.
struct Program {
  std::vector<std::string> words{};    ///< The program, looked for in PATH, and its arguments.
  runtime::Environment environment{};  ///< All of its variables.
  int input = -1;                      ///< Its standard input; -1: nothing to read.
  int output = 1;                      ///< Its standard output.
  int errors = 2;                      ///< Its standard error.
};

/// Starts it in a process group of its own; it is killed if this process dies. Signals that the
/// parent of this process ignored stay ignored, except SIGCHLD. @return its number. Throws Failure
/// whose message names program and reason; the exit code is 127 where there is no such program and
/// 126 where it cannot be run, as in shells.
[[nodiscard]] pid_t spawn(const Program& program);

/// @param words any. @return them as one line that a POSIX shell splits into the same words.
[[nodiscard]] std::string quoted(const std::vector<std::string>& words);

}  // namespace tutti::perf

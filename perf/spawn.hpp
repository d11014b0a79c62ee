/// @file
/// Starts a process of a job, which ends with the process that started it.
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
  Descriptor read{};   ///< The end to read from.
  Descriptor write{};  ///< The end to write to.
};

/// Throws Failure{environment}.
[[nodiscard]] Pipe make_pipe();

/// A program to start.
struct Program {
  std::vector<std::string> words{};  ///< The program, which is searched in PATH, and its arguments.
  runtime::Environment environment{};  ///< All of its variables.
  int input = -1;                      ///< Its standard input; -1: empty.
  int output = 1;                      ///< Its standard output.
  int errors = 2;                      ///< Its standard error.
};

/// Starts the program in a process group of its own. The system kills it if this process dies.
/// Signals that the parent of this process ignored stay ignored, except SIGCHLD. @return the number
/// of the process. Throws Failure that names program and reason; its exit code is 127 if the
/// program does not exist and 126 if it cannot be executed, as in shells.
[[nodiscard]] pid_t spawn(const Program& program);

/// @return one line that a POSIX shell splits into these words.
[[nodiscard]] std::string quoted(const std::vector<std::string>& words);

}  // namespace tutti::perf

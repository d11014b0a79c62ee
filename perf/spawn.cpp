#include "perf/spawn.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "perf/sweep_failure.hpp"

namespace tutti::perf {

namespace {

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// What the new process does until it is the program. Only calls that are safe between fork and
// exec.
[[noreturn]] void become(const Program& program, char* const* words, char* const* environment,
                         pid_t parent, int report) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // it died before the kernel was told to watch it
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int input = program.input >= 0 ? program.input : open("/dev/null", O_RDONLY);
  if (dup2(input, 0) >= 0 && dup2(program.output, 1) >= 0 && dup2(program.errors, 2) >= 0)
    execvpe(words[0], words, environment);
  const int error = errno;
  static_cast<void>(!write(report, &error, sizeof error));
  _exit(127);
}

}  // namespace

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw Failure{ExitCode::environment, fmt::format("no pipe: {}", std::strerror(errno))};
  return {Descriptor{ends[0]}, Descriptor{ends[1]}};
}

pid_t spawn(const Program& program) {
  // The program's own PATH is looked through, and all memory is taken before there are two
  // processes.
  std::vector<std::string> words = program.words;
  std::vector<std::string> variables;
  for (const auto& [name, value] : program.environment) variables.push_back(name + "=" + value);
  const std::vector<char*> word_pointers = pointers_to(words);
  const std::vector<char*> variable_pointers = pointers_to(variables);
  Pipe report = make_pipe();
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0)
    become(program, word_pointers.data(), variable_pointers.data(), parent, report.write.get());
  if (child < 0)
    throw Failure{ExitCode::environment, fmt::format("no process: {}", std::strerror(errno))};
  setpgid(child, child);  // also here: whoever is first
  report.write.reset();
  int error = 0;
  ssize_t length = -1;
  do length = read(report.read.get(), &error, sizeof error);
  while (length < 0 && errno == EINTR);
  if (length == sizeof error)
    throw Failure{static_cast<ExitCode>(error == ENOENT ? 127 : 126),
                  fmt::format("cannot run '{}': {}", words.front(), std::strerror(error))};
  return child;
}

std::string quoted(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    line += line.empty() ? "'" : " '";
    for (const char c : word) line += c == '\'' ? std::string{"'\\''"} : std::string{c};
    line += "'";
  }
  return line;
}

}  // namespace tutti::perf

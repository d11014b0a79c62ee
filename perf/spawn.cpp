#include "perf/spawn.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "perf/dispositions.hpp"
#include "perf/failure.hpp"

namespace tutti::perf {

namespace {

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// The step that failed before the program started.
enum class Stage : int { group, watch, signals, null_device, streams, program };

struct Report {
  Stage stage;
  int error;
};

// Runs in the new process until it executes the program. Only calls that are safe between fork and
// exec.
[[noreturn]] void become(const Program& program, char* const* words, char* const* environment,
                         pid_t parent, int report) {
  const auto require = [report](bool succeeded, Stage stage) {
    if (succeeded) return;
    const Report failed{stage, errno};
    static_cast<void>(!write(report, &failed, sizeof failed));
    _exit(127);
  };
  require(setpgid(0, 0) == 0, Stage::group);
  require(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0, Stage::watch);
  if (getppid() != parent) _exit(1);  // it died before prctl
  restore_ignored_signals();
  sigset_t none;
  sigemptyset(&none);
  require(sigprocmask(SIG_SETMASK, &none, nullptr) == 0, Stage::signals);
  const int input = program.input >= 0 ? program.input : open("/dev/null", O_RDONLY);
  require(input >= 0, Stage::null_device);
  require(dup2(input, 0) >= 0 && dup2(program.output, 1) >= 0 && dup2(program.errors, 2) >= 0,
          Stage::streams);
  require(execvpe(words[0], words, environment) == 0, Stage::program);
  _exit(127);
}

Failure failure_of(const Report& report, const std::string& program) {
  const auto text = [&](std::string_view what) {
    return fmt::format("cannot run '{}': {}{}", program, what, std::strerror(report.error));
  };
  switch (report.stage) {
    case Stage::group: return {ExitCode::environment, text("no process group: ")};
    case Stage::watch: return {ExitCode::environment, text("it cannot be ended with its parent: ")};
    case Stage::signals: return {ExitCode::environment, text("its signals stay blocked: ")};
    case Stage::null_device: return {ExitCode::environment, text("no input: /dev/null: ")};
    case Stage::streams: return {ExitCode::environment, text("no input or output: ")};
    case Stage::program: break;
  }
  return {static_cast<ExitCode>(report.error == ENOENT ? 127 : 126), text("")};
}

}  // namespace

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw Failure{ExitCode::environment, fmt::format("no pipe: {}", std::strerror(errno))};
  return {Descriptor{ends[0]}, Descriptor{ends[1]}};
}

pid_t spawn(const Program& program) {
  // Before the fork: search of the program's own PATH, and allocation of all memory.
  std::vector<std::string> words = program.words;
  std::vector<std::string> variables;
  for (const auto& [name, value] : program.environment) variables.push_back(name + "=" + value);
  const std::vector<char*> word_pointers = pointers_to(words);
  const std::vector<char*> variable_pointers = pointers_to(variables);
  Pipe pipe = make_pipe();
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0)
    become(program, word_pointers.data(), variable_pointers.data(), parent, pipe.write.get());
  if (child < 0)
    throw Failure{ExitCode::environment, fmt::format("no process: {}", std::strerror(errno))};
  setpgid(child, child);  // in both processes, since either may run first
  pipe.write.reset();
  Report report{};
  ssize_t length = -1;
  do length = read(pipe.read.get(), &report, sizeof report);
  while (length < 0 && errno == EINTR);
  if (length == sizeof report) throw failure_of(report, words.front());
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

#include "dropin/engine/source_lines.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <string_view>

namespace tutti::dropin {
namespace {

using Clock = std::chrono::steady_clock;

// A process whose output is read.
class Tool {
 public:
  // @param words its name, which is searched for, and its arguments.
  explicit Tool(const std::vector<std::string>& words) {
    std::array<int, 2> pipe{};
    if (pipe2(pipe.data(), O_CLOEXEC) != 0) return;
    output_ = pipe[0];
    posix_spawn_file_actions_t actions{};
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, pipe[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    char* no_variables = nullptr;  // without LD_PRELOAD
    has_started_ = posix_spawnp(&process_, arguments[0], &actions, nullptr, arguments.data(),
                                &no_variables) == 0;
    posix_spawn_file_actions_destroy(&actions);
    close(pipe[1]);
  }
  Tool(const Tool&) = delete;
  Tool& operator=(const Tool&) = delete;
  ~Tool() {
    if (output_ >= 0) close(output_);
    // Where the program ignores SIGCHLD, the number of an ended one may be another process's.
    if (!has_started_ || waitpid(process_, nullptr, WNOHANG) != 0) return;
    kill(process_, SIGKILL);
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  // @return all that it prints before the deadline.
  [[nodiscard]] std::string read_until(Clock::time_point deadline) const {
    std::string text;
    while (has_started_ && waits(deadline)) {
      std::array<char, 4096> part{};
      const ssize_t bytes = read(output_, part.data(), part.size());
      if (bytes < 0 && errno == EINTR) continue;
      if (bytes <= 0) break;
      text.append(part.data(), static_cast<std::size_t>(bytes));
    }
    return text;
  }

 private:
  // Whether there is output, or its end.
  [[nodiscard]] bool waits(Clock::time_point deadline) const {
    pollfd one{output_, POLLIN, 0};
    for (;;) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
      if (left.count() <= 0) return false;
      const int ready = ::poll(&one, 1, static_cast<int>(left.count()));
      if (ready > 0) return true;
      if (ready < 0 && errno != EINTR) return false;
    }
  }

  int output_ = -1;
  pid_t process_ = 0;
  bool has_started_ = false;
};

// @param line such as "main.c:12 (discriminator 3)" or "??:0". @return "main.c:12", or nothing.
std::string file_and_line(std::string_view line) {
  line = line.substr(0, line.find(' '));
  return line.starts_with("??") || line.ends_with("?") || line.ends_with(":0") ? std::string{}
                                                                               : std::string{line};
}

}  // namespace

std::string hexadecimal(std::uintptr_t number) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
  return "0x" + std::string{digits.data(), end};
}

std::vector<std::string> source_lines(const std::string& module,
                                      std::span<const std::uintptr_t> offsets,
                                      std::chrono::steady_clock::time_point deadline) {
  std::vector<std::string> words{"addr2line", "-s", "-e", module};
  for (const std::uintptr_t offset : offsets) words.push_back(hexadecimal(offset));
  const Tool tool{words};
  const std::string text = tool.read_until(deadline);
  std::vector<std::string> lines;
  for (std::string_view rest = text; !rest.empty() && lines.size() < offsets.size();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    lines.push_back(file_and_line(line));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  return lines;
}

}  // namespace tutti::dropin

#include "perf/sweep_plot.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>

#include "perf/spawn.hpp"
#include "perf/sweep_build.hpp"
#include "perf/sweep_failure.hpp"

namespace tutti::perf {

namespace {

// The first Python that has matplotlib. A user's own often lacks it where the system's has it.
std::string find_python() {
  for (const char* python : {"python3", "/usr/bin/python3"})
    if (std::system(fmt::format("{} -c 'import matplotlib' >/dev/null 2>&1", python).c_str()) == 0)
      return python;
  return {};
}

}  // namespace

std::string plot_command(const std::string& path) {
  if (!path.ends_with(".svg") && !path.ends_with(".png"))
    throw Failure{ExitCode::usage, fmt::format("--plot '{}' is not an .svg or .png file", path)};
  const std::string script = plot_script();
  if (script.empty())
    throw Failure{ExitCode::environment,
                  "--plot: plot.py is gone from where tutti was built or "
                  "installed; install tutti again"};
  const std::string python = find_python();
  if (python.empty())
    throw Failure{ExitCode::environment,
                  "--plot needs matplotlib: apt-get install "
                  "python3-matplotlib"};
  return fmt::format("{} {} - {}", python, quoted({script}), quoted({path}));
}

ExitCode draw(const std::string& command, const std::vector<std::string>& lines) {
  std::FILE* pipe = popen(command.c_str(), "w");
  if (pipe == nullptr)
    throw Failure{ExitCode::environment, "cannot start a shell to draw the plot"};
  for (const std::string& line : lines) fmt::print(pipe, "{}\n", line);
  const int status = pclose(pipe);
  if (status == 0) return ExitCode::good;
  constexpr int kCannotWrite = 4;  // plot.py has said why
  if (!WIFEXITED(status) || WEXITSTATUS(status) != kCannotWrite)
    throw Failure{ExitCode::environment, fmt::format("the plot was not drawn: {} failed", command)};
  return ExitCode::environment;
}

}  // namespace tutti::perf

#include "perf/pages/draw.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>

#include "perf/build.hpp"
#include "perf/command_line.hpp"
#include "perf/failure.hpp"
#include "perf/spawn.hpp"

namespace tutti::perf {

std::string find_python(const std::string& module) {
  const std::string test = module.empty() ? "pass" : "import " + module;
  for (const std::string& python :
       {build_python(), std::string{"python3"}, std::string{"/usr/bin/python3"}})
    if (!python.empty() &&
        std::system(fmt::format("{} -c '{}' >/dev/null 2>&1", python, test).c_str()) == 0)
      return python;
  return {};
}

namespace {

// The script and its interpreter.
std::string command_of(const char* flag, const char* script_name, const std::string& module,
                       const std::string& path) {
  check_writable(path);
  const std::string script = shared_file(script_name);
  const std::string python = find_python(module);
  if (python.empty())
    throw Failure{ExitCode::environment,
                  module.empty()
                      ? fmt::format("{} needs Python: apt install python3", flag)
                      : fmt::format("{0} needs {1}: apt install python3-{1}, or pip install {1} in an "
                                    "environment that is active (python3 -m venv)",
                                    flag, module)};
  // Without -B, Python would write compiled modules into the installation folder.
  return fmt::format("{} -B {} - {}", python, quoted({script}), quoted({path}));
}

std::string picture_command(const char* flag, const char* script, const std::string& path) {
  if (!path.ends_with(".svg") && !path.ends_with(".png"))
    throw Failure{ExitCode::usage, fmt::format("{} '{}' is not an .svg or .png file", flag, path)};
  return command_of(flag, script, "matplotlib", path);
}

}  // namespace

std::string plot_command(const std::string& path) {
  return picture_command("--plot", "plot.py", path);
}

std::string heat_command(const std::string& path) {
  return picture_command("--heat", "heat.py", path);
}

std::string page_command(const std::string& path, const char* script) {
  if (!path.ends_with(".html"))
    throw Failure{ExitCode::usage, fmt::format("--html '{}' is not an .html file", path)};
  return command_of("--html", script, "", path);
}

ExitCode draw(const std::string& command, const std::vector<std::string>& lines) {
  std::FILE* pipe = popen(command.c_str(), "w");
  if (pipe == nullptr) throw Failure{ExitCode::environment, "cannot start a shell that draws"};
  for (const std::string& line : lines) fmt::print(pipe, "{}\n", line);
  const int status = pclose(pipe);
  if (status == 0) return ExitCode::good;
  constexpr int kCannotWrite = 4;  // the script has printed the cause
  if (!WIFEXITED(status) || WEXITSTATUS(status) != kCannotWrite)
    throw Failure{ExitCode::environment, fmt::format("nothing was drawn: {} failed", command)};
  return ExitCode::environment;
}

}  // namespace tutti::perf

#include "perf/line_file.hpp"

#include <fmt/format.h>

#include "perf/command_line.hpp"
#include "perf/failure.hpp"

namespace tutti::perf {

LineFile::LineFile(const std::string& path) : path_{path} {
  if (path.empty() || path == "-") return;
  check_writable(path);
  file_.open(path);
  if (!file_) throw Failure{ExitCode::environment, fmt::format("cannot write '{}'", path)};
}

void LineFile::write(const std::string& line) {
  if (path_ == "-") return write_out(line + '\n', stdout);
  if (!file_.is_open()) return;
  file_ << line << '\n' << std::flush;
  if (!file_)
    throw Failure{ExitCode::environment,
                  fmt::format("cannot write '{}': is the disk full?", path_)};
}

}  // namespace tutti::perf

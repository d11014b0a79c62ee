#include "tests/command/runner.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace tutti::v0 {

namespace {

std::string contents_of(const std::string& path) {
  std::ifstream file{path};
  return {std::istreambuf_iterator<char>{file}, {}};
}

/// A file of this process's own that is gone afterwards.
class TemporaryFile {
 public:
  TemporaryFile() {
    const int file = mkstemp(path_.data());
    if (file < 0) throw std::runtime_error{"no temporary file"};
    close(file);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::remove(path_.c_str()); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/tutti-command-XXXXXX";
};

}  // namespace

Answer tutti_run(const std::string& arguments, const std::string& before) {
  const TemporaryFile out;
  const TemporaryFile err;
  // The MPI that the command is linked to keeps memory until the process ends.
  const std::string line = "ASAN_OPTIONS=detect_leaks=0 " + before + " '" TUTTI_COMMAND "' " +
                           arguments + " >" + out.path() + " 2>" + err.path() + " </dev/null";
  const int status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents_of(out.path()),
          contents_of(err.path())};
}

int lines_in(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace tutti::v0

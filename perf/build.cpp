#include "perf/build.hpp"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "perf/build_commit.hpp"  // the build writes it
#include "perf/failure.hpp"

// The build defines these for this file alone; an empty one is unknown.
#ifndef TUTTI_VERSION
#define TUTTI_VERSION "unversioned"
#endif
#ifndef TUTTI_COMPILER
#define TUTTI_COMPILER "compiler " __VERSION__
#endif
#ifndef TUTTI_SHARED_SOURCE
#define TUTTI_SHARED_SOURCE ""
#endif
#ifndef TUTTI_SHARED_INSTALLED
#define TUTTI_SHARED_INSTALLED ""
#endif
#ifndef TUTTI_MODULES
#define TUTTI_MODULES ""
#endif
#ifndef TUTTI_PYTHON
#define TUTTI_PYTHON ""
#endif

namespace tutti::perf {
namespace {

// An installed tree may be moved, so files are found relative to the command.
std::string installed_folder(const char* folder) {
  std::error_code none;
  const auto command = std::filesystem::read_symlink("/proc/self/exe", none);
  return (command.parent_path() / folder).lexically_normal().string();
}

}  // namespace

std::string build_version() {
  const std::string commit = kBuildCommit;
  return commit.empty() ? TUTTI_VERSION : std::string{TUTTI_VERSION} + " (" + commit + ")";
}

std::string build_compiler() {
  return TUTTI_COMPILER;
}

std::string shared_file(const std::string& name) {
  const std::string source = TUTTI_SHARED_SOURCE;
  for (const std::string& folder :
       {installed_folder(TUTTI_SHARED_INSTALLED), source + "/pages", source + "/tuning"}) {
    const std::string path = folder + "/" + name;
    if (access(path.c_str(), R_OK) == 0) return path;
  }
  throw Failure{ExitCode::environment,
                name + " is missing where tutti was built or installed; install tutti again"};
}

std::string module_folder() {
  return installed_folder(TUTTI_MODULES);
}

std::string build_python() {
  return TUTTI_PYTHON;
}

}  // namespace tutti::perf

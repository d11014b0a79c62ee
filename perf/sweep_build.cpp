#include "perf/sweep_build.hpp"

#include <unistd.h>

#include <array>

#include "perf/build_commit.hpp"  // the build writes it

// The build defines these for this file alone; an empty one is unknown.
#ifndef TUTTI_VERSION
#define TUTTI_VERSION "unversioned"
#endif
#ifndef TUTTI_COMPILER
#define TUTTI_COMPILER "compiler " __VERSION__
#endif
#ifndef TUTTI_PLOT_SOURCE
#define TUTTI_PLOT_SOURCE ""
#endif
#ifndef TUTTI_PLOT_INSTALLED
#define TUTTI_PLOT_INSTALLED ""
#endif

namespace tutti::perf {

std::string build_version() {
  const std::string commit = kBuildCommit;
  return commit.empty() ? TUTTI_VERSION : std::string{TUTTI_VERSION} + " (" + commit + ")";
}

std::string build_compiler() {
  return TUTTI_COMPILER;
}

std::string plot_script() {
  for (const char* path : std::array<const char*, 2>{TUTTI_PLOT_SOURCE, TUTTI_PLOT_INSTALLED})
    if (*path != '\0' && access(path, R_OK) == 0) return path;
  return {};
}

}  // namespace tutti::perf

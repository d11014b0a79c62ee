// The end of the process: threads end, and the requested files are written.
#include <fstream>
#include <string>

#include <unistd.h>

#include "tests/cuda/standin/driver.hpp"

namespace tutti::standin {
namespace {

// The file that a variable names, with the number of the process for %p; none without the variable.
// The stand-in for NCCL, which ends earlier, may have written to it.
std::ofstream file_of(std::string_view variable) {
  std::string path = setting(variable);
  if (const std::size_t at = path.find("%p"); at != std::string::npos)
    path.replace(at, 2, std::to_string(getpid()));
  return path.empty() ? std::ofstream{} : std::ofstream{path, std::ios::app};
}

void write_leaks(const Driver& state, std::ostream& out) {
  state.memory.write_leaks(out);
  const auto write = [&](std::size_t count, std::string_view function) {
    for (std::size_t i = 0; i < count; ++i) out << function << '\n';
  };
  write(state.streams.alive(), "cuStreamCreate");
  write(state.events.size(), "cuEventCreate");
  write(state.modules.size(), "cuModuleLoadData");
  write(state.pools.size(), "cuMemPoolCreate");
  write(state.graphs.size(), "cuStreamEndCapture");
  write(state.executables.size(), "cuGraphInstantiate");
}

// This comes later than all destructors of the program's own objects. A child of the process that
// initialised the driver has none of its threads, and nothing to write.
[[gnu::destructor]] void end() {
  Driver& state = driver();
  if (state.process != 0 && state.process != getpid()) return;
  state.ended = true;
  state.streams.end();
  if (std::ofstream file = file_of("LEAKS"); file.is_open()) write_leaks(state, file);
  if (std::ofstream file = file_of("CALLS"); file.is_open()) state.calls.write(file);
}

}  // namespace
}  // namespace tutti::standin

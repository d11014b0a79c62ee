// The end of the process: the requested files are written, and streams are released.
#include <fstream>
#include <string>

#include <unistd.h>

#include "library.hpp"

namespace tutti::nccl_standin {
namespace {

const pid_t loaded_by = getpid();

// The file that a variable names, with the number of the process for %p; none without the variable.
std::ofstream file_of(std::string_view variable) {
  std::string path = setting(variable);
  if (const std::size_t at = path.find("%p"); at != std::string::npos)
    path.replace(at, 2, std::to_string(getpid()));
  return path.empty() ? std::ofstream{} : std::ofstream{path, std::ios::app};
}

void write_leaks(const Library& state, std::ostream& out) {
  for (const auto& communicator : state.communicators.all()) out << communicator->maker() << '\n';
  for (std::size_t i = state.memory.size(); i > 0; --i) out << "ncclMemAlloc\n";
  for (int i = state.registrations; i > 0; --i) out << "ncclCommRegister\n";
  for (int i = state.windows; i > 0; --i) out << "ncclCommWindowRegister\n";
}

// This comes later than all destructors of the program's own objects, and earlier than the end of
// the driver, which waits for its streams. A forked child has none of the threads, and nothing to
// tell.
[[gnu::destructor]] void end() {
  if (loaded_by != getpid()) return;
  const Library& state = library();
  if (std::ofstream file = file_of("LEAKS"); file.is_open()) write_leaks(state, file);
  if (std::ofstream file = file_of("CALLS"); file.is_open()) state.calls.write(file);
  const auto communicators = state.communicators.all();
  for (const auto& communicator : communicators) communicator->stop();  // they wait for each other
  for (const auto& communicator : communicators) communicator->end();
}

}  // namespace
}  // namespace tutti::nccl_standin

#include "perf/tuning/store.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <utility>

#include <tutti/error.hpp>

#include "perf/command_line.hpp"
#include "perf/failure.hpp"
#include "runtime/world/tuning_file.hpp"

namespace tutti::perf {

namespace {

// Returns the reason why the file cannot be used, or nothing.
std::string read_into(detail::Tuning& tuning, const std::string& path) try {
  if (!std::filesystem::exists(path)) return {};
  detail::Tuning found = detail::read_tuning(path);
  if (found.machine != tuning.machine)
    return fmt::format(
        "{} was measured on another machine ({} cores of {}): name another file with -o, or "
        "remove it",
        path, found.machine.cores, found.machine.processor);
  tuning = std::move(found);
  return {};
} catch (const Error& error) {
  return fmt::format("{}; name another file with -o, or remove it", error.what());
}

}  // namespace

detail::Tuning load_tuning(MeasuredWorld& world, const std::string& path) {
  detail::Tuning tuning{.machine = runtime::this_machine()};
  std::string why;  // rank 0 reports it
  if (world.communicator().rank() == 0) why = read_into(tuning, path);
  std::array<std::int64_t, 1> refused{why.empty() ? 0 : 1};
  from_rank_zero(world.communicator(), refused);
  if (refused[0] != 0) throw Failure{ExitCode::usage, why};
  return tuning;
}

void save_tuning(const detail::Tuning& tuning, const std::string& path) {
  // tutti chose this folder, so its name has no typing error and it may be made.
  std::error_code ignored;  // a failure is reported when the file is written
  if (path == runtime::usual_tuning_path(runtime::process_environment()))
    std::filesystem::create_directories(std::filesystem::path{path}.parent_path(), ignored);
  write_text(detail::text_of(tuning), path);
}

}  // namespace tutti::perf

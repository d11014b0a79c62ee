#include "timed_calls_file.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include <tutti/attempt.hpp>
#include <tutti/error.hpp>
#include <tutti/version.hpp>

#include "algorithms/hash.hpp"
#include "base/write_file.hpp"

#include "tuning_file.hpp"

namespace tutti::runtime {
namespace {

/// Digits for a file's name that identify the kind of machine.
std::string machine_digits(const detail::TunedMachine& machine) {
  const std::uint64_t hash = detail::combine(detail::combine(0, machine.processor),
                                             static_cast<std::uint64_t>(machine.cores));
  std::array<char, 16> digits{};
  char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), hash, 16).ptr;
  return {digits.data(), end};
}

/// Reads the file if this machine and version wrote it.
std::optional<detail::Tuning> read_timed_calls(const std::string& path) try {
  std::error_code ignored;
  if (path.empty() || !std::filesystem::is_regular_file(path, ignored)) return {};
  detail::Tuning timed = detail::read_tuning(path);
  if (timed.machine != this_machine() || timed.version != version()) return {};
  return timed;
} catch (const Error&) {
  return {};
}

}  // namespace

TimedCallsFile find_timed_calls(std::string_view named, const Environment& environment) {
  if (named == kNoTuningFile) return {};
  const std::string usual = usual_tuning_path(environment);
  if (usual.empty()) return {.is_wanted = true};
  const std::string folder = usual.substr(0, usual.rfind('/') + 1);
  return {.path = folder + "calls-" + machine_digits(this_machine()) + ".json", .is_wanted = true};
}

std::string usable_timed_calls(const std::string& path) {
  const std::optional<detail::Tuning> timed = read_timed_calls(path);
  return timed ? detail::text_of(*timed) : std::string{};
}

std::string write_problem(const std::string& path) {
  if (path.empty()) return "neither XDG_CONFIG_HOME nor HOME is set";
  const std::filesystem::path folder = std::filesystem::path{path}.parent_path();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return folder.string() + " cannot be made: " + error.message();
  if (::access(folder.c_str(), W_OK) == 0) return {};
  return folder.string() + " cannot be written: " + std::strerror(errno);
}

std::string store_timed_calls(const std::string& path, std::vector<detail::TunedTable> tables) {
  // The file is read again, since another job may have changed it.
  detail::Tuning timed = read_timed_calls(path).value_or(
      detail::Tuning{.version = std::string{version()}, .machine = this_machine()});
  for (detail::TunedTable& table : tables) {
    std::erase_if(timed.tables,
                  [&](const detail::TunedTable& other) { return other.place == table.place; });
    timed.tables.push_back(std::move(table));
  }
  std::string text = detail::text_of(timed);
  const std::string fresh = path + "." + std::to_string(getpid());
  const auto write = [&] { detail::write_text_file(fresh, text); };
  if (detail::attempt(write) && ::rename(fresh.c_str(), path.c_str()) == 0) return text;
  ::unlink(fresh.c_str());
  return text;
}

}  // namespace tutti::runtime

#include "tuning_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/json_text.hpp"

namespace tutti::runtime {
namespace {

std::string words_of(const detail::TunedMachine& machine) {
  return std::to_string(machine.cores) + (machine.cores == 1 ? " core" : " cores") + " of " +
         machine.processor;
}

/// The first value of a key in /proc/cpuinfo.
std::string processor_name() {
  std::ifstream file{"/proc/cpuinfo"};
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != line.npos) return line.substr(colon + 2);
  }
  return "unknown";
}

}  // namespace

detail::TunedMachine this_machine() {
  return {.processor = processor_name(),
          .cores = static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)))};
}

std::string usual_tuning_path(const Environment& environment) {
  constexpr const char* kName = "/tutti/tuning.json";
  if (const auto folder = value_of(environment, "XDG_CONFIG_HOME"))
    return std::string{*folder} + kName;
  const auto home = value_of(environment, "HOME");
  return home ? std::string{*home} + "/.config" + kName : std::string{};
}

TuningFile find_tuning(const std::string& named, const Environment& environment) {
  if (named == "none") return {};
  if (!named.empty()) return {.path = named, .is_asked = true};
  return {.path = usual_tuning_path(environment)};
}

UsableTuning usable_tuning(const TuningFile& file) {
  std::error_code ignored;
  if (file.path.empty() || (!file.is_asked && !std::filesystem::exists(file.path, ignored)))
    return {};
  if (!file.is_asked && !detail::has_tuning_files())
    return {.refusal = file.path + " is not used: " + detail::kNoJson};
  detail::Tuning tuning = detail::read_tuning(file.path);
  const detail::TunedMachine machine = this_machine();
  if (tuning.machine != machine)
    return {.refusal = file.path + " was measured on " + words_of(tuning.machine) +
                       ", and this is " + words_of(machine) +
                       ": it is not used; measure here with tutti tune, or set TUTTI_TUNING=none"};
  for (detail::TunedTable& table : tuning.tables) table.cells.clear();
  return {.text = detail::text_of(tuning)};
}

}  // namespace tutti::runtime

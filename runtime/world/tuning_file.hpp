/// @file
/// Where the tuning file is, and whether it is of this machine.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/launch/config.hpp"
#include "selector/tuning.hpp"

namespace tutti::runtime {

/// The name that stands for no file.
inline constexpr std::string_view kNoTuningFile = "none";

/// Of the file that measured choices are taken from.
struct TuningFile {
  std::string path{};     ///< Empty: there is none to look for.
  bool is_asked = false;  ///< Whether somebody named it, so that it must be there.
};

/// @return the machine this process runs on.
[[nodiscard]] detail::TunedMachine this_machine();

/// @param environment any. @return where the file is kept if nobody says another place:
/// tutti/tuning.json in XDG_CONFIG_HOME, or in .config of HOME; empty without both.
[[nodiscard]] std::string usual_tuning_path(const Environment& environment);

/// @param named by InitOptions::tuning or TUTTI_TUNING; may be empty. @param environment any.
/// @return the file to look for.
[[nodiscard]] TuningFile find_tuning(const std::string& named, const Environment& environment);

/// The content of a tuning file for a selector.
struct UsableTuning {
  std::string text{};     ///< Without the cells; empty where there is nothing to use.
  std::string refusal{};  ///< Why a file that is there is not used; empty: it is.
};

/// Reads a tuning file; one of another machine is refused. @param file see TuningFile. @return what
/// it has. Throws Error{invalid_argument} where it cannot be read, or is malformed.
[[nodiscard]] UsableTuning usable_tuning(const TuningFile& file);

}  // namespace tutti::runtime

/// @file
/// The place of the tuning file, and the check that it is of this machine.
#pragma once

#include <string>

#include "runtime/launch/config.hpp"
#include "selector/tuning.hpp"

namespace tutti::runtime {

/// The file with measured choices.
struct TuningFile {
  std::string path{};     ///< Empty: none.
  bool is_asked = false;  ///< Whether the user named it, so that it must exist.
};

/// @return the machine this process runs on.
[[nodiscard]] detail::TunedMachine this_machine();

/// @return the default path: tutti/tuning.json in XDG_CONFIG_HOME, or in .config of HOME; empty
/// without both.
[[nodiscard]] std::string usual_tuning_path(const Environment& environment);

/// @param named by InitOptions::tuning or TUTTI_TUNING; may be empty; "none" stands for no file.
/// @return the file to read.
[[nodiscard]] TuningFile find_tuning(const std::string& named, const Environment& environment);

/// The content of a tuning file for a selector.
struct UsableTuning {
  std::string text{};     ///< Without the cells; empty if there is nothing to use.
  std::string refusal{};  ///< The reason why an existing file is not used; empty: it is used.
};

/// Reads a tuning file, and rejects one of another machine. Throws Error{invalid_argument} if it
/// cannot be read, or is malformed.
[[nodiscard]] UsableTuning usable_tuning(const TuningFile& file);

}  // namespace tutti::runtime

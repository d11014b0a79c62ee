/// @file
/// Where plain calls that were timed at a start are kept, so that no later start times them again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config.hpp"
#include "selector/tuning.hpp"

namespace tutti::runtime {

/// The file of timed calls.
struct TimedCallsFile {
  std::string path{};      ///< Empty: no folder is known for it.
  bool is_wanted = false;  ///< Whether calls may be timed, and the file be used.
};

/// @param named as of find_tuning. @param environment any. @return the file: beside the usual
/// tuning file, with a name of its own for each kind of machine, since machines may share a home
/// folder. Not wanted where the tuning file is "none".
[[nodiscard]] TimedCallsFile find_timed_calls(std::string_view named,
                                              const Environment& environment);

/// @param path of the file. @return its text, if this version of tutti wrote it on a machine of
/// this kind; empty if it is missing, malformed or other, since it can be measured anew.
[[nodiscard]] std::string usable_timed_calls(const std::string& path);

/// @param path of the file, whose folder is made. @return why it cannot be written there, or
/// nothing.
[[nodiscard]] std::string why_not_kept(const std::string& path);

/// Adds tables to a file, in place of those of the same place. Others that write the file at the
/// same time, or read it, see one whole file or the other.
/// @param path of the file. @param tables to keep. @return the text of the file, also if it cannot
/// be written.
std::string keep_timed_calls(const std::string& path, std::vector<detail::TunedTable> tables);

}  // namespace tutti::runtime

/// @file
/// The file of plain calls that were timed at a start, so that later starts need not time them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/launch/config.hpp"
#include "selector/tuning.hpp"

namespace tutti::runtime {

/// The file of timed calls.
struct TimedCallsFile {
  std::string path{};      ///< Empty: no folder is known for it.
  bool is_wanted = false;  ///< Whether calls may be timed, and the file used.
};

/// @param named as of find_tuning. @return the file, in the folder of the usual tuning file. Each
/// kind of machine has its own, since machines may share a home folder. Not wanted if the tuning
/// file is "none".
[[nodiscard]] TimedCallsFile find_timed_calls(std::string_view named,
                                              const Environment& environment);

/// @return the text of the file if this version of tutti wrote it on this kind of machine; empty if
/// it is missing or malformed, since it can be measured again.
[[nodiscard]] std::string usable_timed_calls(const std::string& path);

/// Creates the folder of the file. @return why the file cannot be written, or an empty text.
[[nodiscard]] std::string write_problem(const std::string& path);

/// Adds tables to a file; they replace those with the same `place`. Concurrent readers and writers
/// see one whole file. @return the text of the file, even if it cannot be written.
std::string store_timed_calls(const std::string& path, std::vector<detail::TunedTable> tables);

}  // namespace tutti::runtime

/// @file
/// Runs the scripts that make pictures and pages of results.
#pragma once

#include <string>
#include <vector>

#include "perf/exit_code.hpp"

namespace tutti::perf {

/// @return the first Python that has a module, or an empty text. The user's Python, the system's
/// and that of the build have different modules.
[[nodiscard]] std::string find_python(const std::string& module);

/// Checks that a picture can be drawn. Throws Failure: usage if the file name does not end in .svg
/// or .png; environment if plot.py or a Python with matplotlib is missing, or if the picture cannot
/// be written. @return the command that draws it from JSON lines on its input.
[[nodiscard]] std::string plot_command(const std::string& path);

/// As plot_command, for the loads of links, which heat.py draws.
[[nodiscard]] std::string heat_command(const std::string& path);

/// Checks that a page can be written. Throws Failure: usage if the file name does not end in .html;
/// environment if the script or Python is missing, or if the page cannot be written.
/// @param script such as sweep.py. @return the command that writes the page from JSON lines on its
/// input.
[[nodiscard]] std::string page_command(const std::string& path, const char* script);

/// Runs a command of the functions above. Throws Failure{environment}. @param lines JSON. @return
/// good; environment if the script could not write the file and has printed that.
[[nodiscard]] ExitCode draw(const std::string& command, const std::vector<std::string>& lines);

}  // namespace tutti::perf

/// @file
/// Pictures and pages of what was measured or simulated, made by scripts.
#pragma once

#include <string>
#include <vector>

#include "perf/exit_code.hpp"

namespace tutti::perf {

/// Checks that a picture can be drawn. Throws Failure: usage for a file name that is no .svg or
/// .png, environment where plot.py or a Python with matplotlib is missing, or where the picture
/// cannot be written.
/// @param path the picture to draw. @return the command that draws it from JSON lines on its input.
[[nodiscard]] std::string plot_command(const std::string& path);

/// As plot_command, of what links carry, which heat.py draws. @param path the picture to draw.
/// @return the command that draws it from JSON lines on its input.
[[nodiscard]] std::string heat_command(const std::string& path);

/// Checks that a page can be written. Throws Failure: usage for a file name that is no .html,
/// environment where the script or a Python with plotly is missing, or the page cannot be written.
/// @param path the page. @param script that writes it, such as sweep.py. @return the command
/// that writes it from JSON lines on its input.
[[nodiscard]] std::string page_command(const std::string& path, const char* script);

/// Draws. Throws Failure{environment}. @param command as one of those above gave it. @param lines
/// JSON. @return good, or environment where the file cannot be written, which has been told.
[[nodiscard]] ExitCode draw(const std::string& command, const std::vector<std::string>& lines);

}  // namespace tutti::perf

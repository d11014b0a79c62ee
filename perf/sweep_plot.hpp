/// @file
/// The picture of a sweep, drawn by plot.py, and its page, written by sweep_page.py.
#pragma once

#include <string>
#include <vector>

#include "perf/exit_code.hpp"

namespace tutti::perf {

/// Checks that a picture can be drawn. Throws Failure: usage for a file name that is no .svg or
/// .png, environment where plot.py or a Python with matplotlib is missing.
/// @param path the picture to draw. @return the command that draws it from JSON lines on its input.
[[nodiscard]] std::string plot_command(const std::string& path);

/// Checks that a page can be written. Throws Failure: usage for a file name that is no .html,
/// environment where sweep_page.py or a Python with plotly is missing.
/// @param path the page. @return the command that writes it from JSON lines on its input.
[[nodiscard]] std::string page_command(const std::string& path);

/// Draws. Throws Failure{environment}. @param command as plot_command gave it. @param lines JSON.
/// @return good, or environment where the picture cannot be written, which has been told.
[[nodiscard]] ExitCode draw(const std::string& command, const std::vector<std::string>& lines);

}  // namespace tutti::perf

/// @file
/// Runs the command and hands back what a user would see.
#pragma once

#include <string>

#include <tutti/version.hpp>

namespace tutti::v0 {

/// The output of a run.
struct Answer {
  int code = -1;      ///< Exit status.
  std::string out{};  ///< Standard output.
  std::string err{};  ///< Standard error.
};

/// Runs `tutti`. @param arguments as typed in a shell. @param before what stands before the
/// command, such as variables or a launcher. @return what came of it.
[[nodiscard]] Answer tutti_run(const std::string& arguments, const std::string& before = "");

/// @param text any. @return how many lines it has.
[[nodiscard]] int lines_in(const std::string& text);

/// @param text any. @param part any. @return whether the text has that part.
[[nodiscard]] bool has(const std::string& text, const std::string& part);

}  // namespace tutti::v0

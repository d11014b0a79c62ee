/// @file
/// Files that are written line by line.
#pragma once

#include <fstream>
#include <string>

namespace tutti::perf {

/// A text file in which all lines are complete at any time.
class LineFile {
 public:
  /// Ignores all lines.
  LineFile() = default;
  /// Opens a file for writing. Throws Failure{environment}. @param path empty ignores all lines,
  /// "-" is standard output.
  explicit LineFile(const std::string& path);
  /// Writes and flushes a line. @param line without the newline.
  void write(const std::string& line);

 private:
  std::ofstream file_{};
  std::string path_{};
};

}  // namespace tutti::perf

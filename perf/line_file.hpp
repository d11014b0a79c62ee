/// @file
/// Files that grow line by line.
#pragma once

#include <fstream>
#include <string>

namespace tutti::perf {

/// A text file that is complete up to the last line at any moment.
class LineFile {
 public:
  /// Writes nowhere.
  LineFile() = default;
  /// Opens for writing. Throws Failure{environment}. @param path the file; empty writes nowhere.
  explicit LineFile(const std::string& path);
  /// Writes a line and hands it to the system. @param line without the newline.
  void write(const std::string& line);

 private:
  std::ofstream file_{};
  std::string path_{};
};

}  // namespace tutti::perf

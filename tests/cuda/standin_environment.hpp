/// @file
/// Variables of the environment and files by which tests of the GPU stand-ins reach child
/// processes.
#pragma once

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include <unistd.h>

#include <gtest/gtest.h>

namespace tutti::test {

/// A variable of the environment, which child processes inherit. A value that it has stays, so that
/// a child process finds its parent's.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_{name} {
    setenv(name, value.c_str(), 0);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { unsetenv(name_); }

 private:
  const char* name_;
};

/// A file that a child process writes.
class Report {
 public:
  explicit Report(const char* variable)
      : path_{::testing::TempDir() + variable + "." + std::to_string(getpid())}, variable_{variable,
                                                                                           path_} {}
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;
  ~Report() { unlink(path_.c_str()); }

  std::string text() const {
    std::ifstream file{path_};
    EXPECT_TRUE(file.is_open()) << path_;
    return std::string{std::istreambuf_iterator<char>{file}, {}};
  }

 private:
  std::string path_;
  Variable variable_;
};

}  // namespace tutti::test

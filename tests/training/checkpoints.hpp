/// @file
/// Functions for tests of checkpoints.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "tests/runtime/worlds.hpp"

namespace tutti::test {

/// A folder that is gone afterwards.
class SyncFolder {
 public:
  SyncFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "tutti-sync-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  SyncFolder(const SyncFolder&) = delete;
  SyncFolder& operator=(const SyncFolder&) = delete;
  ~SyncFolder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::filesystem::path file() const { return path_ / "model"; }

 private:
  std::filesystem::path path_;
};

inline Setting ranks_of(int n) {
  return {n, "auto", n == 4 ? 2 : 1};
}

}  // namespace tutti::test

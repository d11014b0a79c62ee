/// @file
/// Facts about this build on this machine, for `tutti info` and `tutti doctor`.
#pragma once

#include <string>

#include "runtime/launch/launch.hpp"

namespace tutti::command {

/// An optional feature.
struct Feature {
  std::string name{};
  bool available = false;
  std::string remark{};  ///< Its purpose, or the reason why it is missing.
};

/// Tests the functions of shared memory that ranks of a host need.
[[nodiscard]] Feature shared_memory();

/// @return the MPI that is loaded and its file; empty without one.
[[nodiscard]] std::string mpi_in_words();

/// @return the reason why no MPI is loaded.
[[nodiscard]] std::string why_no_mpi();

/// @return the rank and the meeting place of this process.
[[nodiscard]] std::string launch_in_words(const runtime::Launch& launch);

}  // namespace tutti::command

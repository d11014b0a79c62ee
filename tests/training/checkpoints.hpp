/// @file
/// Functions for tests of checkpoints.
#pragma once

#include "tests/runtime/worlds.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tutti::test {

inline Setting ranks_of(int n) {
  return {n, "auto", n == 4 ? 2 : 1};
}

}  // namespace tutti::test

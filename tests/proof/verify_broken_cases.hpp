/// @file
/// Schedules that are wrong in exactly one way each.
#pragma once

#include <string>
#include <vector>

#include "proof/verify.hpp"
#include "verify_samples.hpp"

namespace tutti::samples {

/// A broken set of schedules, and what the verifier must say about it: nothing else.
struct Broken {
  std::string name{};
  CheckKind kind{};
  Sample sample{};
  Claims claims{};
};

/// Cases for every check of schedules.
std::vector<Broken> broken_cases();

}  // namespace tutti::samples

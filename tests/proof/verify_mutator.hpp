/// @file
/// Breaks schedules, or does not: whether a change matters is for others to find out.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "verify_samples.hpp"

namespace tutti::samples {

/// Random single changes of a correct set of schedules.
class Mutator {
 public:
  /// @param seed decides all changes.
  explicit Mutator(std::uint64_t seed) : random_{seed} {}

  /// @param sample what to change. @param what receives a name for the change. @return the mutant.
  Sample mutate(Sample sample, std::string& what);

 private:
  std::size_t below(std::size_t limit) { return random_() % limit; }
  Step changed(const Step& step, const Sample& sample, const Schedule& schedule, std::string& what);

  std::mt19937_64 random_;
};

}  // namespace tutti::samples

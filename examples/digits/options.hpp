// What both programs are told on the command line, and what they tell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "model.hpp"

namespace digits {

inline constexpr std::uint64_t kTrainSeed = 1, kTestSeed = 2, kModelSeed = 3;

struct Options {
  int epochs = 6;
  std::size_t batch = 64;  // samples of a step, of all ranks together
  std::size_t train = 6000;
  std::size_t test = 1000;
  float rate = 0.05F;
  std::size_t bucket_bytes = 32 << 10;  // of distributed: some buckets, for so small a network
  bool views = false;                   // of distributed: gradients lie in the buckets
  std::string weights{};                // a file to write them to, in the end
};

// Reads "--epochs 3" and the like. Throws std::invalid_argument, with what there is.
[[nodiscard]] Options parse(int count, char** words);

// Prints a line on how an epoch went. `loss` is the sum over samples of the training, `correct` and
// `tested` are counts of the test.
void report(int epoch, double loss, std::size_t trained, std::size_t correct, std::size_t tested);

// Prints a number that shows whether weights are equal, and writes them where that is wanted.
void finish(const Model& model, const Options& options);

}  // namespace digits

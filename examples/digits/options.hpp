// The flags of the programs, and their output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "model.hpp"

namespace digits {

inline constexpr std::uint64_t kTrainSeed = 1, kTestSeed = 2, kModelSeed = 3;

// Each also takes the flags of the programs before it.
enum class Program : std::uint8_t { serial, distributed, trainer };

struct Options {
  Architecture model = Architecture::dense;
  int epochs = 6;
  std::size_t batch = 64;  // samples of a step, of all ranks together
  std::size_t train = 6000;
  std::size_t test = 1000;
  float rate = 0.05F;
  std::string weights{};  // a file for the final weights

  std::size_t bucket_bytes = 32 << 10;  // some buckets, for so small a network
  bool views = false;                   // gradients are stored in the buckets

  std::string strategy = "bucketed";
  std::string compression{}, algorithm{}, settings{};
  std::string buffers = "mean";  // the treatment of means of batches
  int in_flight = 2, accumulate = 1, period = 8, verify_every = 0, resync_every = 0;
  int compression_after = 0;                      // steps
  double outer_rate = 0.5, outer_momentum = 0.5;  // of diloco
  bool check_finite = false;
  float clip = 0;              // the largest norm of all gradients; 0: any
  std::size_t uneven = 0;      // samples of rank 0; other ranks have none
  std::string checkpoint{};    // a file; training continues from it if it exists
  std::size_t save_every = 0;  // steps between checkpoints, beside those at the end of epochs
  std::size_t stop_at = 0;     // the step at which rank `stop_rank` is killed; 0: none
  int stop_rank = 0;
  std::string trace{};
  bool timeline = false;
};

// Reads flags such as "--epochs 3"; "--help" prints all flags and ends the program. Throws
// std::invalid_argument that names the choices.
[[nodiscard]] Options parse(Program program, int count, char** words);

// Prints the results of an epoch. `loss` is the sum over samples of the training; `correct` and
// `tested` are counts of the test.
void report(int epoch, double loss, std::size_t trained, std::size_t correct, std::size_t tested);

// Prints a number by which weights can be compared, and writes the weights if requested.
void finish(const Model& model, const Options& options);

}  // namespace digits

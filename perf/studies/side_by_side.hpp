/// @file
/// Compares several implementations: in turn, in one run, on the same ranks.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <tutti/communicator.hpp>

namespace tutti::perf {

/// One of several implementations. All ranks run it together.
struct Contender {
  std::string name;           ///< Printed name.
  std::function<void()> run;  ///< Runs it once.
};

/// Collective. @param contenders the same number on all ranks. @param budget approximate time of
/// all of it. @return the median time of each, in microseconds, of the slowest rank.
[[nodiscard]] std::vector<double> medians_side_by_side(Communicator& world,
                                                       std::span<const Contender> contenders,
                                                       std::chrono::milliseconds budget);

/// Prints, on rank 0, a line of medians, and of ratios to the first contender. @param bytes of a
/// rank's vector. @param medians of medians_side_by_side.
void print_side_by_side(Communicator& world, std::size_t bytes,
                        std::span<const Contender> contenders, std::span<const double> medians);

/// @param arguments of a program: FIRST and LAST bytes of a vector. @return the sizes to measure:
/// powers of eight between them, and the last.
[[nodiscard]] std::vector<std::size_t> sizes_of(std::span<char* const> arguments);

}  // namespace tutti::perf

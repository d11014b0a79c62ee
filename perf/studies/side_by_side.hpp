/// @file
/// Measures several ways to do the same beside each other: in turn, in one run, on the same ranks.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <tutti/communicator.hpp>

namespace tutti::perf {

/// One of several ways to do the same. All ranks run it together.
struct Contender {
  std::string name;           ///< For a person.
  std::function<void()> run;  ///< Does it once.
};

/// @param world all ranks call it. @param contenders as many on all ranks. @param budget how long
/// all of it may take, about. @return the median time of each, in microseconds, of the rank that
/// took longest.
[[nodiscard]] std::vector<double> medians_side_by_side(Communicator& world,
                                                       std::span<const Contender> contenders,
                                                       std::chrono::milliseconds budget);

/// Prints, on rank 0, a line of medians, and of ratios to the first contender.
/// @param world whose rank 0 prints. @param bytes of a rank's vector. @param contenders what was
/// measured. @param medians of medians_side_by_side.
void print_side_by_side(Communicator& world, std::size_t bytes,
                        std::span<const Contender> contenders, std::span<const double> medians);

/// @param arguments of a program: FIRST and LAST bytes of a vector. @return what to measure: powers
/// of eight between them, and the last.
[[nodiscard]] std::vector<std::size_t> sizes_of(std::span<char* const> arguments);

}  // namespace tutti::perf

/// @file
/// Internal to the verifier: the networks and groups that rows without a default are verified on.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include <tutti/spi/algorithm.hpp>

namespace tutti::verifying {

/// Numbers in a range, the same on every platform (std::uniform_int_distribution is not).
class RandomNumbers {
 public:
  /// @param seed any.
  explicit RandomNumbers(std::uint64_t seed) : engine_{seed} {}
  /// @param low least. @param high most. @return a number between them, both included.
  [[nodiscard]] int between(int low, int high) {
    const auto span = static_cast<std::uint64_t>(high - low) + 1;
    return low + static_cast<int>(engine_() % span);
  }

 private:
  std::mt19937_64 engine_;
};

/// @param choice any. @param size number of ranks. @return whether it serves them, by what its
/// generator says.
[[nodiscard]] bool serves(const Choice& choice, int size);

/// @param row that takes a graph. @param size number of ranks. @param seed of a random graph.
/// @return a choice for every graph of a family that has so many routers, and for a random one, as
/// far as the row serves them.
[[nodiscard]] std::vector<Choice> graph_choices(const Algorithm& row, int size, std::uint64_t seed);

/// @param row that takes a hierarchy. @param size number of ranks. @param seed of random groups.
/// @return choices of several groupings and algorithms.
[[nodiscard]] std::vector<Choice> hierarchy_choices(const Algorithm& row, int size,
                                                    std::uint64_t seed);

/// @param row that takes a graph. @param size number of ranks. @return the choice on the torus
/// whose two sides differ least.
[[nodiscard]] Choice on_torus(const Algorithm& row, int size);

/// @param row that takes a hierarchy. @param size number of ranks. @return the choice with as many
/// groups as nearest to the ranks in each.
[[nodiscard]] Choice in_groups(const Algorithm& row, int size);

/// @param row any. @param size that a Slim Fly has. @return the choice on that network; none where
/// the row is not about it.
[[nodiscard]] std::vector<Choice> slim_fly_choices(const Algorithm& row, int size);

}  // namespace tutti::verifying

/// @file
/// Internal to the verifier: the networks and groups that rows without a default are verified on.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include <tutti/spi/algorithm.hpp>

namespace tutti::verifying {

/// Random numbers in a range, equal on every platform (std::uniform_int_distribution is not).
class RandomNumbers {
 public:
  explicit RandomNumbers(std::uint64_t seed) : engine_{seed} {}
  /// @return a number in [low, high].
  [[nodiscard]] int between(int low, int high) {
    const auto span = static_cast<std::uint64_t>(high - low) + 1;
    return low + static_cast<int>(engine_() % span);
  }

 private:
  std::mt19937_64 engine_;
};

/// @return whether the generator of a choice accepts `size` ranks.
[[nodiscard]] bool serves(const Choice& choice, int size);

/// @param row takes a graph. @param seed of a random graph. @return a choice for every graph of a
/// family with `size` routers, and for a random one, if its generator accepts it.
[[nodiscard]] std::vector<Choice> graph_choices(const Algorithm& row, int size, std::uint64_t seed);

/// @param row takes a hierarchy. @param seed of random groups. @return choices of several groupings
/// and algorithms.
[[nodiscard]] std::vector<Choice> hierarchy_choices(const Algorithm& row, int size,
                                                    std::uint64_t seed);

/// @param row takes a graph. @return the choice on the torus whose two sides differ least.
[[nodiscard]] Choice on_torus(const Algorithm& row, int size);

/// @param row takes a hierarchy. @return the choice whose number of groups is nearest to the ranks
/// in each.
[[nodiscard]] Choice in_groups(const Algorithm& row, int size);

/// @return the choice on the Slim Fly of `size` routers; empty if there is none, or if the row does
/// not support it.
[[nodiscard]] std::vector<Choice> slim_fly_choices(const Algorithm& row, int size);

}  // namespace tutti::verifying

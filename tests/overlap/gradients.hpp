/// @file
/// Models whose gradients are known, and worlds to train them in.
#pragma once

#include <string>
#include <vector>

#include <tutti/gradient_sync.hpp>

#include "tests/runtime/worlds.hpp"

namespace tutti::test {

/// A model of a few layers, whose gradients are functions of rank, step and index.
struct Model {
  std::vector<std::vector<float>> gradients;

  explicit Model(std::vector<std::size_t> sizes) {
    for (const std::size_t size : sizes) gradients.emplace_back(size);
  }
  /// As backward does: from the last layer to the first. @param sync gets each.
  void go_backward(GradientSync& sync, Rank rank, int step) {
    for (std::size_t i = gradients.size(); i-- > 0;) {
      fill(i, rank, step);
      sync.ready(i);
    }
  }
  void fill(std::size_t layer, Rank rank, int step) {
    for (std::size_t e = 0; e < gradients[layer].size(); ++e)
      gradients[layer][e] = value(layer, e, rank, step);
  }
  static float value(std::size_t layer, std::size_t element, Rank rank, int step) {
    return static_cast<float>(
        (static_cast<int>(layer) * 7 + static_cast<int>(element % 101) * 3 + rank * 5 + step * 11) %
        64);
  }
  /// @return the mean of that over the first ranks: exact, since numbers are small.
  static float mean(std::size_t layer, std::size_t element, int ranks, int step) {
    float all = 0;
    for (Rank rank = 0; rank < ranks; ++rank) all += value(layer, element, rank, step);
    return all / static_cast<float>(ranks);
  }
  [[nodiscard]] std::vector<Parameter> parameters() {
    std::vector<Parameter> all;
    for (std::size_t i = 0; i < gradients.size(); ++i)
      all.push_back(Parameter::of("layer" + std::to_string(i), gradients[i]));
    return all;
  }
  /// @return whether all gradients are the mean over all ranks.
  [[nodiscard]] bool is_mean(int ranks, int step) const {
    for (std::size_t i = 0; i < gradients.size(); ++i)
      for (std::size_t e = 0; e < gradients[i].size(); ++e)
        if (std::abs(gradients[i][e] - mean(i, e, ranks, step)) > 1e-5F) return false;
    return true;
  }
};

inline void train(const Setting& setting, const std::function<void(Communicator&)>& body) {
  for (const Outcome& outcome : in_world(setting, body))
    EXPECT_FALSE(outcome.error) << outcome.text();
}

}  // namespace tutti::test

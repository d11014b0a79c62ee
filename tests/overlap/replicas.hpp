/// @file
/// Models that ranks train together, compared bit by bit.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include <tutti/spi/algorithm.hpp>

#include "gradients.hpp"

namespace tutti::test {

/// Trains on gradients of which sums depend on the order, and that depend on the weights, so that
/// a bit which differs once spreads. @return the weights.
inline std::vector<float> train_replica(Communicator& world, const std::string& algorithm,
                                        int steps) {
  constexpr std::size_t kSizes[]{997, 64, 300};
  Model weights{{kSizes[0], kSizes[1], kSizes[2]}};
  Model gradients{{kSizes[0], kSizes[1], kSizes[2]}};
  GradientSync sync{world, gradients.parameters(), {.bucket_bytes = 2000, .algorithm = algorithm}};
  for (int step = 0; step < steps; ++step) {
    for (std::size_t i = gradients.gradients.size(); i-- > 0;) {
      for (std::size_t e = 0; e < kSizes[i]; ++e) {
        const auto phase = static_cast<float>(world.rank() * 31 + step + static_cast<int>(e));
        gradients.gradients[i][e] =
            weights.gradients[i][e] * 0.3F + std::sin(phase * 1.7F) * std::exp(std::cos(phase));
      }
      sync.ready(i);
    }
    sync.wait();
    for (std::size_t i = 0; i < weights.gradients.size(); ++i)
      for (std::size_t e = 0; e < kSizes[i]; ++e)
        weights.gradients[i][e] -= 0.01F * gradients.gradients[i][e];
  }
  std::vector<float> all;
  for (const auto& part : weights.gradients) all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// @return algorithms of all_reduce that serve this number of ranks.
inline std::vector<std::string> algorithms_for(int ranks) {
  std::vector<std::string> names{""};
  for (const Algorithm& row : catalog())
    if (row.collective == Collective::all_reduce && admits(row.traits.sizes, ranks)) {
      std::string name{row.name};
      if (row.parameter == AlgorithmParameter::graph)
        name += ":graph=torus:" + std::to_string(ranks);
      if (row.parameter == AlgorithmParameter::hierarchy) {
        if (ranks % 2 != 0) continue;
        name += "(circulant, ring):groups=2";
      }
      names.push_back(name);
    }
  return names;
}

/// Ranks have the same weights in the end, whatever algorithm reduced their gradients.
inline void expect_equal_replicas(const Setting& setting, int steps) {
  for (const std::string& algorithm : algorithms_for(setting.n))
    for (const Outcome& outcome : in_world(
             setting,
             [&](Communicator& world) {
               const std::vector<float> own = train_replica(world, algorithm, steps);
               std::vector<float> first = own;
               world.broadcast(first, 0);
               EXPECT_EQ(std::memcmp(first.data(), own.data(), own.size() * sizeof(float)), 0)
                   << algorithm;
               EXPECT_TRUE(std::isfinite(own[0]));
             },
             std::chrono::minutes{10}))
      EXPECT_FALSE(outcome.error) << algorithm << ": " << outcome.text();
}

}  // namespace tutti::test

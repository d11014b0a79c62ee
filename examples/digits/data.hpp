// Images of digits, made rather than loaded: a font, distorted and with noise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace digits {

inline constexpr int kSide = 16;  // pixels of an image, each way
inline constexpr int kPixels = kSide * kSide;
inline constexpr int kClasses = 10;

// Some images, one after the other, and which digit each is.
struct Samples {
  std::vector<float> pixels{};
  std::vector<int> labels{};

  [[nodiscard]] std::size_t size() const { return labels.size(); }
};

// Numbers that depend on nothing but what they are asked for, so that sample i is the same whoever
// draws it, in whatever order, and on however many ranks.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t index);
  [[nodiscard]] std::uint64_t bits();
  [[nodiscard]] float between(float low, float high);

 private:
  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

// Samples rank, rank + ranks, rank + 2 ranks, ... of the first `count` that a seed has.
[[nodiscard]] Samples draw(std::size_t count, std::uint64_t seed, int rank = 0, int ranks = 1);

// The order of an epoch: a permutation of 0 .. count - 1.
[[nodiscard]] std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t epoch);

// Of the samples that `which` names, every ranks-th from the rank-th. All ranks together have each
// once, and where their number cannot be divided some have one more.
[[nodiscard]] Samples share_of(const Samples& samples, std::span<const std::size_t> which, int rank,
                               int ranks);

}  // namespace digits

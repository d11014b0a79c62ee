// Images of digits, generated from a distorted font with noise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace digits {

inline constexpr int kSide = 16;  // pixels of an image, each way
inline constexpr int kPixels = kSide * kSide;
inline constexpr int kClasses = 10;

// Images, one after the other, and the digit of each.
struct Samples {
  std::vector<float> pixels{};
  std::vector<int> labels{};

  [[nodiscard]] std::size_t size() const { return labels.size(); }
};

// Random numbers that depend only on the seed and the index. So sample i is the same on every rank,
// in any order, and on any number of ranks.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t index);
  [[nodiscard]] std::uint64_t bits();
  [[nodiscard]] float between(float low, float high);

 private:
  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

// Samples rank, rank + ranks, rank + 2 ranks, ... of the first `count` samples of a seed.
[[nodiscard]] Samples draw(std::size_t count, std::uint64_t seed, int rank = 0, int ranks = 1);

// The order of an epoch: a permutation of 0 .. count - 1.
[[nodiscard]] std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t epoch);

// Every ranks-th of the samples in `which`, from the rank-th on. All ranks together have each
// sample once; if the number is not a multiple of the ranks, some ranks have one more.
[[nodiscard]] Samples share_of(const Samples& samples, std::span<const std::size_t> which, int rank,
                               int ranks);

}  // namespace digits

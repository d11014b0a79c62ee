#include "data.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "font.hpp"

namespace digits {

namespace {

// The last steps of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), which mix all bits of a counter.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

constexpr std::uint64_t kStride = 0x9e3779b97f4a7c15U;

// The ink of a glyph at a point, interpolated between its dots.
float ink_at(std::string_view glyph, float x, float y) {
  const auto dot = [&](int column, int row) {
    const bool is_inside = column >= 0 && column < kGlyphWidth && row >= 0 && row < kGlyphHeight;
    return is_inside && glyph[static_cast<std::size_t>(row * kGlyphWidth + column)] == '#' ? 1.0F
                                                                                           : 0.0F;
  };
  const int column = static_cast<int>(std::floor(x)), row = static_cast<int>(std::floor(y));
  const float right = x - static_cast<float>(column), below = y - static_cast<float>(row);
  return (1 - below) * ((1 - right) * dot(column, row) + right * dot(column + 1, row)) +
         below * ((1 - right) * dot(column, row + 1) + right * dot(column + 1, row + 1));
}

void draw_one(int digit, Random& random, std::span<float> image) {
  const float width = random.between(1.6F, 2.6F), height = random.between(1.6F, 2.2F);
  const float slant = random.between(-0.25F, 0.25F);
  const float center = static_cast<float>(kSide - 1) / 2;
  const float across = center + random.between(-2, 2), down = center + random.between(-1.5F, 1.5F);
  const float strength = random.between(0.6F, 1);
  for (int row = 0; row < kSide; ++row)
    for (int column = 0; column < kSide; ++column) {
      const float y = (static_cast<float>(row) - down) / height;
      const float x = (static_cast<float>(column) - across) / width + slant * y;
      const float ink = ink_at(kFont[static_cast<std::size_t>(digit)], x + (kGlyphWidth - 1) / 2.0F,
                               y + (kGlyphHeight - 1) / 2.0F);
      image[static_cast<std::size_t>(row * kSide + column)] =
          strength * ink + random.between(-0.25F, 0.25F);
    }
}

}  // namespace

Random::Random(std::uint64_t seed, std::uint64_t index)
    : key_{mix(mix(seed * kStride + 1) + index * kStride)} {}

std::uint64_t Random::bits() {
  return mix(key_ + ++counter_ * kStride);
}

float Random::between(float low, float high) {
  constexpr float kScale = 1.0F / (1U << 24);  // as many bits as a float has
  return low + (high - low) * static_cast<float>(bits() >> 40) * kScale;
}

Samples draw(std::size_t count, std::uint64_t seed, int rank, int ranks) {
  Samples samples;
  for (auto i = static_cast<std::size_t>(rank); i < count; i += static_cast<std::size_t>(ranks)) {
    Random random(seed, i);
    const int digit = static_cast<int>(random.bits() % kClasses);
    samples.labels.push_back(digit);
    samples.pixels.resize(samples.size() * kPixels);
    draw_one(digit, random, std::span{samples.pixels}.last(kPixels));
  }
  return samples;
}

std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t epoch) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random random(0, epoch);
  for (std::size_t left = count; left > 1; --left)
    std::swap(order[left - 1], order[random.bits() % left]);
  return order;
}

Samples share_of(const Samples& samples, std::span<const std::size_t> which, int rank, int ranks) {
  Samples share;
  for (auto i = static_cast<std::size_t>(rank); i < which.size();
       i += static_cast<std::size_t>(ranks)) {
    const auto image = std::span{samples.pixels}.subspan(which[i] * kPixels, kPixels);
    share.pixels.insert(share.pixels.end(), image.begin(), image.end());
    share.labels.push_back(samples.labels[which[i]]);
  }
  return share;
}

}  // namespace digits

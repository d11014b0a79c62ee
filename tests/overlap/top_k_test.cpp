// top_k sends the elements that a plain sort puts first.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>

#include "gradients.hpp"

namespace tutti::test {
namespace {

constexpr int kTopRanks = 2;
constexpr int kTopSteps = 3;

/// Many of the same size, zeros of both signs, subnormals, and, in one step, more that are not
/// finite than are sent.
std::vector<float> hard_gradient_of(Rank rank, int step, std::size_t count) {
  std::mt19937 random{static_cast<unsigned>(rank * 100 + step)};
  std::normal_distribution<float> normal{0, 1};
  std::vector<float> gradient(count);
  for (float& x : gradient) {
    const auto kind = random() % 4;
    x = normal(random);
    if (kind == 0) x = std::copysign(0.5F, x);
    if (kind == 1) x *= 1e-42F;
    if (kind == 2) x = std::copysign(0.0F, x);
  }
  return gradient;
}

/// One rank's elements that are sent, others zero. @param errors are added, and kept.
std::vector<float> sent_plainly(std::vector<float>& errors, const std::vector<float>& gradient,
                                std::size_t many) {
  for (std::size_t i = 0; i < errors.size(); ++i) errors[i] += gradient[i];
  const auto size = [&](std::size_t i) { return std::fabs(errors[i]); };
  std::vector<std::size_t> order(errors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return size(a) > size(b) || (size(a) == size(b) && a < b);
  });
  std::vector<float> sent(errors.size());
  for (const std::size_t i : std::span{order}.first(many)) std::swap(sent[i], errors[i]);
  return sent;
}

void expect_plain(Communicator& world, std::size_t count, const std::string& share,
                  std::size_t many) {
  std::vector<float> gradient(count);
  GradientSync sync{world,
                    std::vector{Parameter::of("g", gradient)},
                    {.order = GradientOrder::reversed, .compression = "top_k:" + share}};
  std::vector<std::vector<float>> errors(kTopRanks, std::vector<float>(count));
  for (int step = 0; step < kTopSteps; ++step) {
    std::vector<float> wanted(count);
    for (Rank rank = 0; rank < kTopRanks; ++rank) {
      const std::vector<float> sent = sent_plainly(errors[static_cast<std::size_t>(rank)],
                                                   hard_gradient_of(rank, step, count), many);
      for (std::size_t i = 0; i < count; ++i) wanted[i] += sent[i] * (1.0F / kTopRanks);
    }
    std::ranges::copy(hard_gradient_of(world.rank(), step, count), gradient.begin());
    sync.ready(0);
    sync.wait();
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(std::bit_cast<std::uint32_t>(gradient[i]), std::bit_cast<std::uint32_t>(wanted[i]))
          << "element " << i << " of " << count << ", step " << step << ", share " << share;
  }
}

TEST(TopK, SendsWhatAPlainSortPutsFirst) {
  train({kTopRanks, "auto", 1}, [](Communicator& world) {
    expect_plain(world, 1000, "0.01", 10);
    expect_plain(world, 1000, "0.3", 300);
    expect_plain(world, 1000, "0.9", 900);
    expect_plain(world, 1000, "1", 1000);
    expect_plain(world, 40'000, "0.0101", 404);
    expect_plain(world, 3, "0.1", 1);
  });
}

TEST(TopK, ForgetsWhatIsNotFinite) {
  train({kTopRanks, "auto", 1}, [](Communicator& world) {
    std::vector<float> gradient(100, std::numeric_limits<float>::quiet_NaN());
    GradientSync sync{world,
                      std::vector{Parameter::of("g", gradient)},
                      {.order = GradientOrder::reversed, .compression = "top_k:0.1"}};
    gradient[95] = std::numeric_limits<float>::infinity();
    gradient[99] = 7;
    sync.ready(0);
    sync.wait();
    EXPECT_TRUE(std::isnan(gradient[0]) && std::isnan(gradient[9]));
    EXPECT_EQ(gradient[10], 0);
    std::ranges::fill(gradient, 1.0F);
    sync.ready(0);
    sync.wait();
    EXPECT_EQ(gradient[99], 8) << "what was left out and finite is sent later";
    EXPECT_EQ(gradient[0], 1);
    EXPECT_EQ(gradient[95], 0) << "the largest ten, and of equal ones the first";
  });
}

}  // namespace
}  // namespace tutti::test

// Hashes of reduced gradients, and reduced gradients themselves, are those of another run.
#include <bit>
#include <random>

#include "gradients.hpp"

namespace tutti::test {
namespace {

constexpr int kSteps = 3;
constexpr Rank kNone = -1;

/// @param changed a rank, one bit of whose gradients is another one in the last step.
/// @return the hash of each step, which is the same on all ranks.
std::vector<std::uint32_t> hashes_of(int ranks, GradientOptions options, Rank changed) {
  const bool are_views = options.storage == GradientStorage::views;
  std::vector<std::uint32_t> hashes;
  train({ranks, "auto", 1}, [&](Communicator& world) {
    Model model{{1000, 10, 0, 300, 5000}};
    std::vector<Parameter> parameters = model.parameters();
    for (Parameter& parameter : parameters)
      if (are_views) parameter.data = nullptr;
    GradientSync sync{world, parameters, options};
    std::vector<std::uint32_t> own;
    for (int step = 0; step < kSteps; ++step) {
      for (std::size_t i = parameters.size(); i-- > 0;) {
        std::vector<float>& gradient = model.gradients[i];
        model.fill(i, world.rank(), step);
        if (i == 3 && step == kSteps - 1 && world.rank() == changed)
          gradient[8] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(gradient[8]) ^ 1U << 23);
        if (are_views && !gradient.empty())
          std::memcpy(sync.view(i), gradient.data(), gradient.size() * sizeof(float));
        sync.ready(i);
      }
      own.push_back(sync.wait().hash);
    }
    std::vector<std::uint32_t> firsts = own;
    world.broadcast(firsts, 0);
    EXPECT_EQ(own, firsts) << "all ranks have the same";
    if (world.rank() == 0) hashes = own;
  });
  return hashes;
}

TEST(GradientHash, IsThatOfAnotherRunWhereGradientsAre) {
  for (const int ranks : {1, 2, 3})
    for (const GradientStorage storage : {GradientStorage::copies, GradientStorage::views})
      for (const std::string compression : {"", "f16", "int8", "one_bit"}) {
        const GradientOptions options{.bucket_bytes = 4000,
                                      .first_bucket_bytes = 1000,
                                      .order = GradientOrder::reversed,
                                      .storage = storage,
                                      .hash = true,
                                      .compression = compression};
        const auto words = compression + " " + std::to_string(ranks);
        const std::vector<std::uint32_t> once = hashes_of(ranks, options, kNone);
        ASSERT_EQ(once.size(), kSteps);
        EXPECT_EQ(hashes_of(ranks, options, kNone), once) << words;
        EXPECT_NE(once[0], once[1]) << words;
        const std::vector<std::uint32_t> other = hashes_of(ranks, options, ranks - 1);
        EXPECT_EQ(other[0], once[0]) << words;
        EXPECT_EQ(other[1], once[1]) << words;
        EXPECT_NE(other[2], once[2]) << words << ": one bit is another one on one rank";
      }
}

TEST(GradientHash, IsZeroWhereItWasNotAskedFor) {
  EXPECT_EQ(hashes_of(2, {.norm = true}, kNone), std::vector<std::uint32_t>(kSteps));
}

/// Arrays, parts of an array that different ranks own, and ranks' groups may have changed places.
TEST(GradientHash, TellsPlacesApart) {
  std::vector<std::uint32_t> hashes;
  train({4, "auto", 1}, [&](Communicator& world) {
    Communicator half = world.split(world.rank() % 2);
    std::vector<float> first(8), second(8), own(8);
    std::vector<Parameter> parameters{Parameter::of("first", first),
                                      Parameter::of("second", second), Parameter::of("own", own)};
    parameters[2].group = 1;
    GradientSync sync{world, parameters, {.bucket_bytes = 0, .hash = true, .groups = {&half}}};
    for (int step = 0; step < 4; ++step) {
      std::ranges::fill(first, step == 1 ? 2.0F : 1.0F);
      std::ranges::fill(second, step == 1 ? 1.0F : 2.0F);
      if (step == 2) {
        std::ranges::fill(first, 0.0F);
        std::ranges::fill(std::span{second}.first(4), 3.0F);
      }
      std::ranges::fill(own, static_cast<float>((world.rank() + (step == 3 ? 1 : 0)) % 2));
      for (std::size_t i = 3; i-- > 0;) sync.ready(i);
      const std::uint32_t hash = sync.wait().hash;
      if (world.rank() == 0) hashes.push_back(hash);
    }
  });
  ASSERT_EQ(hashes.size(), 4U);
  for (std::size_t i = 0; i < hashes.size(); ++i)
    EXPECT_EQ(std::ranges::count(hashes, hashes[i]), 1) << i;
}

TEST(GradientSyncs, HaveTheBitsOfAnotherRun) {
  const auto result_of = [](int ranks) {
    std::vector<std::vector<float>> result;
    train({ranks, "auto", 1}, [&](Communicator& world) {
      Model model{{3000, 17, 800, 20'000}};
      GradientSync sync{world, model.parameters(), {.bucket_bytes = 5000, .in_flight = 3}};
      std::mt19937 numbers{static_cast<unsigned>(world.rank())};
      std::normal_distribution<float> normal{0, 1};  // sums of which depend on their order
      for (int step = 0; step < kSteps; ++step) {
        for (std::size_t i = model.gradients.size(); i-- > 0;) {
          for (float& element : model.gradients[i]) element = normal(numbers);
          sync.ready(i);
        }
        sync.wait();
      }
      if (world.rank() == 0) result = model.gradients;
    });
    return result;
  };
  for (const int ranks : {2, 3, 5}) EXPECT_EQ(result_of(ranks), result_of(ranks)) << ranks;
}

}  // namespace
}  // namespace tutti::test

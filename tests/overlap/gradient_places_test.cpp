// Gradients that peers see are reduced where they lie.
#include "gradients.hpp"

namespace tutti::test {
namespace {

constexpr std::size_t kLayerElements = 300'000;  // of more than in_place_bytes

/// Reduces two arrays. @return whether reduced gradients lay in the program's arrays before a copy
/// could bring them there.
bool are_in_place(Communicator& world, const GradientOptions& given, bool is_visible) {
  Buffer<float> seen = world.allocate<float>(2 * kLayerElements);
  std::vector<float> own(2 * kLayerElements);
  const std::span<float> all = is_visible ? std::span{seen.data(), seen.size()} : std::span{own};
  std::vector<Parameter> parameters;
  for (std::size_t i = 0; i < 2; ++i)
    parameters.push_back(Parameter::of("layer" + std::to_string(i),
                                       all.subspan(i * kLayerElements, kLayerElements)));
  for (Parameter& parameter : parameters) parameter.visible = is_visible;
  bool are_there = true;
  GradientOptions options = given;
  options.on_shard = [&](std::span<const ParameterShard> parts) {
    for (const ParameterShard& part : parts) {
      const float* const place = all.data() + part.parameter * kLayerElements + part.first;
      are_there = are_there && part.data == place;
    }
  };
  GradientSync sync{world, parameters, options};
  for (int step = 0; step < 2; ++step) {
    for (std::size_t e = 0; e < all.size(); ++e) all[e] = Model::value(0, e, world.rank(), step);
    sync.ready(1);
    sync.ready(0);
    sync.wait();
    for (std::size_t e = 0; e < all.size(); e += 97)
      EXPECT_EQ(all[e], Model::mean(0, e, world.size(), step)) << e;
  }
  return are_there;
}

TEST(GradientPlaces, AreTheProgramsWherePeersSeeThem) {
  train({2, "auto", 1}, [](Communicator& world) {
    EXPECT_TRUE(are_in_place(world, {}, true)) << "copies, visible";
    EXPECT_TRUE(are_in_place(world, {.storage = GradientStorage::flat}, true)) << "flat, visible";
    EXPECT_TRUE(are_in_place(world, {.storage = GradientStorage::flat}, false)) << "flat";
    EXPECT_FALSE(are_in_place(world, {}, false)) << "copies in buckets, which peers see";
    EXPECT_FALSE(are_in_place(world, {.in_place_bytes = kLayerElements * 8}, true))
        << "smaller ones";
  });
}

}  // namespace
}  // namespace tutti::test

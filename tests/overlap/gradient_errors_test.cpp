// The ranks that errors of a GradientSync blame, and the queries of a loss scaler after a void
// step.
#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

#include <gtest/gtest.h>

#include "gradients.hpp"

namespace tutti::test {
namespace {

const Setting kBlamed{3, "auto", 1};

/// Takes a step that is void. @return why.
Error error_of_step(GradientSync& sync) {
  try {
    sync.wait();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "the step is void";
  return {ErrorCode::bug, ""};
}

bool tells(const Error& error, const std::string& words) {
  return std::string{error.what()}.find(words) != std::string::npos;
}

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinite = std::numeric_limits<float>::infinity();

TEST(GradientErrors, NameTheRankThatComputedWhatIsNotFinite) {
  for (const GradientStorage storage : {GradientStorage::copies, GradientStorage::views})
    for (const std::size_t bucket_bytes : {std::size_t{0}, GradientOptions::kFlat})
      for (const float wrong : {kNaN, kInfinite})
        train(kBlamed, [&](Communicator& world) {
          Model model{{10, 20, 30}};
          std::vector<Parameter> parameters = model.parameters();
          const bool are_views = storage == GradientStorage::views;
          for (Parameter& one : parameters) one.data = are_views ? nullptr : one.data;
          GradientSync sync{
              world,
              parameters,
              {.bucket_bytes = bucket_bytes, .storage = storage, .check_finite = true}};
          for (std::size_t i = 3; i-- > 0;) {
            auto* const gradient =
                are_views ? static_cast<float*>(sync.view(i)) : model.gradients[i].data();
            std::fill_n(gradient, parameters[i].count, 1.0F);
            if (world.rank() == 2 && i == 1) gradient[5] = gradient[19] = wrong;
            sync.ready(i);
          }
          const Error error = error_of_step(sync);
          EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
          EXPECT_EQ(error.culprit(), 2);
          EXPECT_TRUE(tells(error, "2 reduced gradients are infinite or no numbers"))
              << error.what();
          EXPECT_TRUE(tells(error, "parameter 1 'layer1'; rank 2 computed")) << error.what();
          const NotFinite& found = sync.last_step().not_finite;
          EXPECT_EQ(found.count, 2U);
          EXPECT_EQ(found.parameter, 1U);
          const auto buckets = sync.buckets();
          EXPECT_EQ(std::ranges::count(buckets.at(found.bucket), std::size_t{1}), 1);
          EXPECT_EQ(found.rank, 2);
        });
}

TEST(GradientErrors, BlameNobodyWhereASumOverflows) {
  train(kBlamed, [](Communicator& world) {
    Model model{{10, 20, 30}};
    GradientSync sync{world, model.parameters(), {.average = false, .check_finite = true}};
    for (std::size_t i = 3; i-- > 0;) {
      std::ranges::fill(model.gradients[i], i == 2 ? 2e38F : 1.0F);
      sync.ready(i);
    }
    const Error error = error_of_step(sync);
    EXPECT_EQ(error.culprit(), -1);
    EXPECT_TRUE(tells(error, "30 reduced gradients are infinite")) << error.what();
    EXPECT_TRUE(tells(error, "parameter 2 'layer2'; each rank's own gradients are finite, but "))
        << error.what();
    EXPECT_EQ(sync.last_step().not_finite.count, 30U);
    EXPECT_EQ(sync.last_step().not_finite.rank, -1);
    model.go_backward(sync, world.rank(), 0);
    sync.wait();
    EXPECT_EQ(sync.last_step().not_finite.count, 0U);
  });
}

/// A loss scaler tries again with a smaller scale, but not where a program forgot a gradient.
TEST(GradientErrors, TellWhatALossScalerAsks) {
  train(kBlamed, [](Communicator& world) {
    Model model{{10}};
    GradientSync sync{world, model.parameters(), {.check_finite = true}};
    std::ranges::fill(model.gradients[0], kNaN);
    if (world.rank() != 1) sync.ready(0);
    const Error error = error_of_step(sync);
    EXPECT_EQ(error.culprit(), 1);
    EXPECT_TRUE(tells(error, "on rank 1 parameter 0 'layer0' was not ready")) << error.what();
    EXPECT_EQ(sync.last_step().not_finite.count, 0U);
  });
}

TEST(GradientErrors, NameTheRankWhoseStateDiffers) {
  train(kBlamed, [](Communicator& world) {
    Model model{{10}};
    std::vector<float> weights(100, 1.0F);
    const std::vector state{Parameter::of("weights", weights)};
    GradientSync sync{world, model.parameters(), {.verify_every = 1, .state = state}};
    if (world.rank() == 2) weights[7] = 2.0F;
    model.go_backward(sync, world.rank(), 0);
    const Error at_step = error_of_step(sync);
    EXPECT_EQ(at_step.culprit(), 2);
    EXPECT_TRUE(tells(at_step, "is void: 'weights' of GradientOptions::state differs: rank 2 has"))
        << at_step.what();
    try {
      sync.verify_state(state);
      ADD_FAILURE() << "it differs";
    } catch (const Error& error) {
      EXPECT_EQ(error.culprit(), 2);
      EXPECT_TRUE(tells(error, "rank 2 has other values than most ranks")) << error.what();
    }
  });
}

/// Errors name ranks of the world if a group differs, and no rank if all ranks differ.
TEST(GradientErrors, NameRanksOfGroupsByTheirNumberInTheWorld) {
  train({4, "auto", 1}, [](Communicator& world) {
    Communicator last = world.split(world.rank() == 0 ? 0 : 1);
    Model model{{10}};
    std::vector<float> shared(100, 1.0F);
    Parameter array = Parameter::of("shared", shared);
    array.group = 1;
    GradientSync sync{world, model.parameters(), {.groups = {&last}}};
    if (world.rank() == 3) shared[0] = 2.0F;
    const auto verified = [&]() -> Error {
      try {
        sync.verify_state(std::vector{array});
      } catch (const Error& error) {
        return error;
      }
      return {ErrorCode::bug, "nothing differs"};
    };
    const Error one = verified();
    EXPECT_EQ(one.culprit(), 3);
    EXPECT_TRUE(tells(one, "rank 3 has other values than most ranks of its group")) << one.what();
    shared[0] = static_cast<float>(world.rank());
    const Error all = verified();
    EXPECT_EQ(all.culprit(), -1);
    EXPECT_TRUE(tells(all, "no values are those of most ranks")) << all.what();
  });
}

TEST(GradientErrors, TellTheStepAndTheBucketOfADeadline) {
  for (const Outcome& outcome : in_world(kBlamed, [](Communicator& world) {
         Model model{{1000, 1000}};
         GradientSync sync{world,
                           model.parameters(),
                           {.bucket_bytes = 0, .timeout = std::chrono::milliseconds{300}}};
         model.go_backward(sync, world.rank(), 0);
         sync.wait();
         if (world.rank() == 2) {
           std::this_thread::sleep_for(std::chrono::seconds{2});
           return;
         }
         model.go_backward(sync, world.rank(), 1);
         const Error error = error_of_step(sync);
         EXPECT_TRUE(tells(error, "GradientSync: step 2, bucket 0 (parameter 1 'layer1'): "))
             << error.what();
       }))
    EXPECT_FALSE(outcome.error) << outcome.text();
}

}  // namespace
}  // namespace tutti::test

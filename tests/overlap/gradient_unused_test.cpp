// Gradients that some ranks, or all, do not use in a step, or in the last part of one.
#include <array>
#include <optional>

#include "gradients.hpp"

namespace tutti::test {
namespace {

constexpr std::size_t kElements = 40;
const Setting kFour{4, "auto", 1};

/// Three parameters, wherever they lie.
struct Lying {
  std::vector<float> memory = std::vector<float>(3 * kElements);
  std::vector<Parameter> parameters{3};
  explicit Lying(GradientStorage storage) {
    for (std::size_t i = 0; i < 3; ++i) {
      parameters[i].name = "p" + std::to_string(i);
      parameters[i].count = kElements;
      if (storage != GradientStorage::views) parameters[i].data = &memory[i * kElements];
    }
  }
  [[nodiscard]] std::span<float> at(const GradientSync& sync, std::size_t i) const {
    void* const data = parameters[i].data == nullptr ? sync.view(i) : parameters[i].data;
    return {static_cast<float*>(data), kElements};
  }
};

void expect_all(std::span<const float> elements, float value, const std::string& text) {
  for (const float element : elements) ASSERT_FLOAT_EQ(element, value) << text;
}

/// Two parts of a batch, of which only the first uses parameter 1, and only on rank 2.
TEST(UnusedGradients, KeepWhatWasAccumulated) {
  for (const auto& storage : kGradientStorages)
    for (const auto& unused : kUnusedGradients)
      train(kFour, [&](Communicator& world) {
        Lying model{storage.value};
        GradientSync sync{
            world, model.parameters, {.storage = storage.value, .unused = unused.value}};
        for (int step = 0; step < 3; ++step) {
          for (std::size_t i = 0; i < 3; ++i) std::ranges::fill(model.at(sync, i), 0.0F);
          for (int part = 0; part < 2; ++part) {
            const bool is_last = part == 1;
            for (const std::size_t i : {2U, 1U, 0U}) {
              const bool uses = i != 1 || (!is_last && world.rank() == 2);
              const bool has_to = unused.value == UnusedGradients::error && i == 1 && !is_last;
              if (!uses && !has_to) continue;
              if (uses)
                for (float& element : model.at(sync, i)) element += 4;
              if (is_last) sync.ready(i);
              else sync.accumulated(i);
            }
          }
          sync.wait();
          expect_all(model.at(sync, 0), 8, "used in both parts");
          expect_all(model.at(sync, 1), 1, "a fourth of what rank 2 has accumulated");
        }
        sync.accumulated(1);
        EXPECT_THROW(sync.join(), Error) << "its gradient would be lost";
      });
}

TEST(UnusedGradients, OfTheStepBeforeAreNotAccumulated) {
  train(kFour, [](Communicator& world) {
    Lying model{GradientStorage::copies};
    GradientSync sync{world, model.parameters, {.unused = UnusedGradients::zeros}};
    for (int step = 0; step < 2; ++step) {
      for (std::size_t i = 0; i < 3; ++i) std::ranges::fill(model.at(sync, i), 3.0F);
      if (step == 0) sync.accumulated(1);
      sync.ready(0);
      sync.wait();
      expect_all(model.at(sync, 1), step == 0 ? 3.0F : 0.0F, "step " + std::to_string(step));
    }
    sync.accumulated(3);
    sync.ready(0);
    EXPECT_THROW(sync.wait(), Error) << "there is no parameter 3";
  });
}

/// Parameter 1 is used on one rank, and parameter 2 on none.
void expect_detected(GradientStorage storage, const std::string& compression, double max_norm) {
  train(kFour, [&](Communicator& world) {
    Lying model{storage};
    std::vector<std::size_t> told;
    const GradientSync* own = nullptr;
    GradientSync sync{world,
                      model.parameters,
                      {.bucket_bytes = 0,
                       .storage = storage,
                       .unused = UnusedGradients::detect,
                       .max_norm = max_norm,
                       .compression = compression,
                       .on_bucket = [&](const ReducedBucket& bucket) {
                         told.insert(told.end(), bucket.parameters.begin(),
                                     bucket.parameters.end());
                         for (const std::size_t i : bucket.parameters)
                           expect_all(model.at(*own, i), i == 0 ? 4.0F : 1.0F, "on_bucket");
                       }}};
    own = &sync;
    for (int step = 0; step < 3; ++step) {
      told.clear();
      for (std::size_t i = 0; i < 3; ++i) std::ranges::fill(model.at(sync, i), 4.0F);
      sync.ready(0);
      if (world.rank() == step) sync.ready(1);
      sync.wait();
      std::ranges::sort(told);
      EXPECT_EQ(told, (std::vector<std::size_t>{0, 1})) << "on_bucket is told of what is used";
      expect_all(model.at(sync, 0), 4, "used on all ranks");
      expect_all(model.at(sync, 1), 1, "used on one");
      expect_all(model.at(sync, 2), 4, "used on none");
    }
  });
}

TEST(UnusedGradients, AreDetectedWithEveryOption) {
  for (const auto& storage : kGradientStorages)
    for (const double max_norm : {0.0, 1e6}) {
      expect_detected(storage.value, "", max_norm);
      expect_detected(storage.value, "f16", max_norm);
    }
}

/// The parameters that odd ranks use do not change those of even ranks.
TEST(UnusedGradients, AreDetectedInEachGroup) {
  train(kFour, [](Communicator& world) {
    Communicator half = world.split(world.rank() % 2);
    Lying model{GradientStorage::copies};
    model.parameters[1].group = model.parameters[2].group = 1;
    GradientSync sync{
        world, model.parameters, {.unused = UnusedGradients::detect, .groups = {&half}}};
    for (int step = 0; step < 3; ++step) {
      for (std::size_t i = 0; i < 3; ++i) std::ranges::fill(model.at(sync, i), 4.0F);
      sync.ready(0);
      if (world.rank() == 1) sync.ready(1);
      sync.wait();
      expect_all(model.at(sync, 0), 4, "used on all ranks");
      expect_all(model.at(sync, 1), world.rank() % 2 == 0 ? 4 : 2, "used on rank 1");
      expect_all(model.at(sync, 2), 4, "used on none");
    }
  });
}

}  // namespace
}  // namespace tutti::test

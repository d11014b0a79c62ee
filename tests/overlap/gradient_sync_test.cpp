// Gradients are the mean on all ranks, however they lie and are put together.
#include "gradients.hpp"

namespace tutti::test {
namespace {

const std::vector<std::size_t> kSizes{1000, 10, 0, 5000, 300, 1, 20'000};

class GradientSyncs : public testing::TestWithParam<Setting> {};

TEST_P(GradientSyncs, GiveTheMeanOfAllRanks) {
  for (const std::size_t bucket_bytes :
       {std::size_t{0}, std::size_t{16'000}, GradientOptions::kFlat})
    for (const GradientOrder order : {GradientOrder::reversed, GradientOrder::observed})
      for (const bool norm : {false, true})
        train(GetParam(), [&](Communicator& world) {
          Model model{kSizes};
          GradientSync sync{world,
                            model.parameters(),
                            {.bucket_bytes = bucket_bytes,
                             .first_bucket_bytes = 4'000,
                             .order = order,
                             .norm = norm,
                             .verify_every = 2}};
          for (int step = 0; step < 5; ++step) {
            model.go_backward(sync, world.rank(), step);
            const StepReport& report = sync.wait();
            EXPECT_TRUE(model.is_mean(world.size(), step)) << step;
            EXPECT_EQ(report.step, static_cast<std::uint64_t>(step + 1));
            EXPECT_EQ(report.active, world.size());
            if (!norm) continue;
            double squares = 0;
            for (const auto& gradient : model.gradients)
              for (const float element : gradient)
                squares += static_cast<double>(element) * static_cast<double>(element);
            EXPECT_NEAR(report.norm, std::sqrt(squares), 1e-6 * std::sqrt(squares));
          }
        });
}

TEST_P(GradientSyncs, AreInOneOrderHoweverLateARankIs) {
  train(GetParam(), [](Communicator& world) {
    Model model{{100, 100, 100, 100, 100, 100}};
    GradientSync sync{world, model.parameters(), {.bucket_bytes = 0, .norm = true}};
    for (int step = 0; step < 20; ++step) {
      for (std::size_t i = model.gradients.size(); i-- > 0;) {
        model.fill(i, world.rank(), step);
        if ((step + static_cast<int>(i)) % world.size() == world.rank())
          std::this_thread::sleep_for(std::chrono::milliseconds{1});
        sync.ready(i);
      }
      sync.wait();
      EXPECT_TRUE(model.is_mean(world.size(), step));
    }
  });
}

TEST_P(GradientSyncs, ReduceInPlaceWhereTheyLie) {
  train(GetParam(), [](Communicator& world) {
    Model model{kSizes};
    std::vector<Parameter> parameters = model.parameters();
    for (Parameter& parameter : parameters) parameter.data = nullptr;
    GradientSync sync{world,
                      parameters,
                      {.bucket_bytes = 30'000,
                       .order = GradientOrder::reversed,
                       .storage = GradientStorage::views}};
    for (int step = 0; step < 3; ++step) {
      for (std::size_t i = model.gradients.size(); i-- > 0;) {
        model.fill(i, world.rank(), step);
        if (!model.gradients[i].empty())
          std::memcpy(sync.view(i), model.gradients[i].data(), model.gradients[i].size() * 4);
        sync.ready(i);
      }
      sync.wait();
      for (std::size_t i = 0; i < kSizes.size(); ++i)
        if (kSizes[i] > 0) std::memcpy(model.gradients[i].data(), sync.view(i), kSizes[i] * 4);
      EXPECT_TRUE(model.is_mean(world.size(), step));
    }
  });
}

TEST_P(GradientSyncs, ReducePartsOfOneArray) {
  train(GetParam(), [](Communicator& world) {
    std::vector<float> flat(9000);
    std::vector<Parameter> parameters;
    for (std::size_t i = 0; i < 9; ++i)
      parameters.push_back(
          Parameter::of("p" + std::to_string(i), std::span{flat}.subspan(i * 1000, 1000)));
    GradientSync sync{world,
                      parameters,
                      {.bucket_bytes = 10'000,
                       .order = GradientOrder::reversed,
                       .storage = GradientStorage::flat}};
    EXPECT_GT(sync.buckets().size(), 3U);
    for (int step = 0; step < 3; ++step) {
      for (std::size_t i = 0; i < flat.size(); ++i)
        flat[i] = Model::value(0, i, world.rank(), step);
      for (std::size_t i = 9; i-- > 0;) sync.ready(i);
      sync.wait();
      for (std::size_t i = 0; i < flat.size(); ++i)
        ASSERT_FLOAT_EQ(flat[i], Model::mean(0, i, world.size(), step));
    }
  });
}

TEST_P(GradientSyncs, TakeTheOrderInWhichTheyBecameReady) {
  train(GetParam(), [](Communicator& world) {
    Model model{{100, 100, 100, 100}};
    GradientSync sync{world, model.parameters(), {.bucket_bytes = 400, .first_bucket_bytes = 400}};
    using Buckets = std::vector<std::vector<std::size_t>>;
    EXPECT_EQ(sync.buckets(), (Buckets{{3}, {2}, {1}, {0}}));
    const std::uint64_t before = sync.plan_hash();
    for (int step = 0; step < 3; ++step) {
      const std::vector<std::size_t> order = world.rank() == 0
                                                 ? std::vector<std::size_t>{2, 0, 3, 1}
                                                 : std::vector<std::size_t>{0, 1, 2, 3};
      for (const std::size_t i : order) {
        model.fill(i, world.rank(), step);
        sync.ready(i);
      }
      sync.wait();
      EXPECT_TRUE(model.is_mean(world.size(), step));
      EXPECT_EQ(sync.buckets(), (Buckets{{2}, {0}, {3}, {1}})) << "rank 0's order, on all ranks";
      EXPECT_NE(sync.plan_hash(), before);
    }
  });
}

TEST_P(GradientSyncs, StartBeforeTheLastOneIsReady) {
  std::atomic<int> reduced{0};
  train(GetParam(), [&](Communicator& world) {
    Model model{{100, 100}};
    GradientSync sync{world,
                      model.parameters(),
                      {.bucket_bytes = 0,
                       .order = GradientOrder::reversed,
                       .on_bucket = [&](const ReducedBucket&) { ++reduced; }}};
    model.fill(1, world.rank(), 0);
    sync.ready(1);
    const auto deadline = std::chrono::steady_clock::now() + kAmple;
    while (reduced < world.size() && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    EXPECT_GE(reduced, world.size()) << "the first bucket needs nothing of the second";
    model.fill(0, world.rank(), 0);
    sync.ready(0);
    sync.wait();
    EXPECT_TRUE(model.is_mean(world.size(), 0));
  });
  EXPECT_EQ(reduced, 2 * GetParam().n);
}

TEST_P(GradientSyncs, MakeStatesAndBuffersEqual) {
  train(GetParam(), [](Communicator& world) {
    std::vector<float> weights(500, static_cast<float>(world.rank()));
    std::vector<double> mean(5, world.rank());
    Model model{{10}};
    GradientSync sync{world, model.parameters()};
    sync.broadcast_state(std::vector{Parameter::of("weights", weights)}, world.size() - 1);
    EXPECT_EQ(weights[499], static_cast<float>(world.size() - 1));
    sync.average_buffers(std::vector{Parameter::of("mean", mean)});
    EXPECT_DOUBLE_EQ(mean[4], (world.size() - 1) / 2.0);
  });
}

INSTANTIATE_TEST_SUITE_P(Worlds, GradientSyncs,
                         ::testing::Values(Setting{1, "auto", 1}, Setting{2, "auto", 1},
                                           Setting{3, "auto", 1}, Setting{4, "auto", 2}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace tutti::test

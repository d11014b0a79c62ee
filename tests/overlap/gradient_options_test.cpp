// Options of GradientSync beside the mean: orders, shards, hashes, traces.
#include <filesystem>
#include <fstream>
#include <random>

#include <nlohmann/json.hpp>

#include "gradients.hpp"

namespace tutti::test {
namespace {

const std::vector<std::size_t> kLayers{1000, 10, 0, 5000, 300, 1, 2000};

class GradientChoices : public testing::TestWithParam<Setting> {};

/// Each rank has an order of its own, in each step another one.
TEST_P(GradientChoices, AgreeOnTheOrderOfBuckets) {
  train(GetParam(), [](Communicator& world) {
    Model model{kLayers};
    std::vector<std::size_t> started;
    GradientSync sync{world,
                      model.parameters(),
                      {.bucket_bytes = 0,
                       .order = GradientOrder::negotiated,
                       .in_flight = 3,
                       .on_bucket = [&](const ReducedBucket& bucket) {
                         started.push_back(bucket.index);
                         EXPECT_EQ(bucket.is_last, started.size() == kLayers.size());
                       }}};
    std::mt19937 numbers{static_cast<unsigned>(world.rank())};
    for (int step = 0; step < 20; ++step) {
      started.clear();
      std::vector<std::size_t> order = {0, 1, 2, 3, 4, 5, 6};
      std::ranges::shuffle(order, numbers);
      for (const std::size_t i : order) {
        model.fill(i, world.rank(), step);
        if (step % 5 == 0) std::this_thread::sleep_for(std::chrono::microseconds{300});
        sync.ready(i);
      }
      sync.wait();
      EXPECT_TRUE(model.is_mean(world.size(), step)) << step;
      ASSERT_EQ(started.size(), kLayers.size());
      std::vector<std::size_t> firsts = started;
      world.broadcast(firsts, 0);
      EXPECT_EQ(firsts, started) << "ranks reduce buckets in one order";
    }
  });
}

TEST_P(GradientChoices, StartABucketThatIsReadyEverywhereBeforeOthers) {
  std::atomic<int> reduced{0};
  train(GetParam(), [&](Communicator& world) {
    Model model{{100, 100}};
    GradientSync sync{world,
                      model.parameters(),
                      {.bucket_bytes = 0,
                       .order = GradientOrder::negotiated,
                       .on_bucket = [&](const ReducedBucket&) { ++reduced; }}};
    model.fill(0, world.rank(), 0);
    sync.ready(0);  // which is in the last bucket
    const auto deadline = std::chrono::steady_clock::now() + kAmple;
    while (reduced < world.size() && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    EXPECT_GE(reduced, world.size());
    model.fill(1, world.rank(), 0);
    sync.ready(1);
    sync.wait();
    EXPECT_TRUE(model.is_mean(world.size(), 0));
  });
}

/// Descent with momentum, of all weights on one rank, or of a part on each.
TEST_P(GradientChoices, UpdateEachPartOfTheWeightsOnOneRank) {
  for (const GradientStorage storage : {GradientStorage::copies, GradientStorage::views})
    train(GetParam(), [storage](Communicator& world) {
      constexpr float kRate = 0.125F;  // so that numbers are exact
      Model model{kLayers};
      Model weights{kLayers};
      Model moments{kLayers};
      Model expected_weights{kLayers};
      Model expected_moments{kLayers};
      std::vector<Parameter> parameters = model.parameters();
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        parameters[i].result = weights.gradients[i].data();
        if (storage == GradientStorage::views) parameters[i].data = nullptr;
      }
      std::size_t owned = 0;
      GradientSync sync{world,
                        parameters,
                        {.bucket_bytes = 9'000,
                         .order = GradientOrder::reversed,
                         .storage = storage,
                         .average = false,
                         .norm = true,
                         .on_shard = [&](std::span<const ParameterShard> parts) {
                           for (const ParameterShard& part : parts) {
                             owned += part.count;
                             auto* const values = static_cast<float*>(part.data);
                             for (std::size_t e = 0; e < part.count; ++e) {
                               float& moment = moments.gradients[part.parameter][part.first + e];
                               moment = moment / 2 + values[e];
                               values[e] = weights.gradients[part.parameter][part.first + e] -
                                           kRate * moment;
                             }
                           }
                         }}};
      for (int step = 0; step < 4; ++step) {
        owned = 0;
        for (std::size_t i = kLayers.size(); i-- > 0;) {
          model.fill(i, world.rank(), step);
          if (storage == GradientStorage::views && kLayers[i] > 0)
            std::memcpy(sync.view(i), model.gradients[i].data(), kLayers[i] * 4);
          sync.ready(i);
        }
        sync.wait();
        for (std::size_t i = 0; i < kLayers.size(); ++i)
          for (std::size_t e = 0; e < kLayers[i]; ++e) {
            float& moment = expected_moments.gradients[i][e];
            moment = moment / 2 +
                     Model::mean(i, e, world.size(), step) * static_cast<float>(world.size());
            expected_weights.gradients[i][e] -= kRate * moment;
            ASSERT_NEAR(weights.gradients[i][e], expected_weights.gradients[i][e], 1e-3);
          }
        std::size_t total = 0;
        for (const std::size_t size : kLayers) total += size;
        EXPECT_EQ(world.all_reduce(owned), total) << "each element has one owner";
        std::size_t listed = 0;
        for (const auto& bucket : sync.shards())
          for (const ParameterShard& part : bucket) listed += part.count;
        EXPECT_EQ(listed, owned);
      }
    });
}

/// Steps whose optimizer throws, and steps with values that are NaN or infinite.
TEST_P(GradientChoices, LeaveWeightsAsTheyAreInAStepThatIsVoid) {
  train(GetParam(), [](Communicator& world) {
    std::vector<float> gradient(50);
    std::vector<float> weights(50, 7);
    Parameter parameter = Parameter::of("g", gradient);
    parameter.result = weights.data();
    bool throws = false;
    GradientSync sync{world,
                      std::vector{parameter},
                      {.order = GradientOrder::reversed,
                       .check_finite = true,
                       .on_shard = [&](std::span<const ParameterShard> parts) {
                         if (throws) throw std::runtime_error{"no optimizer"};
                         for (const ParameterShard& part : parts)
                           for (std::size_t i = 0; i < part.count; ++i)
                             static_cast<float*>(part.data)[i] += weights[part.first + i];
                       }}};
    for (int step = 1; step <= 4; ++step) {
      std::ranges::fill(gradient, 1.0F);
      throws = step == 1;
      if (step == 2) std::ranges::fill(gradient, std::nanf(""));
      sync.ready(0);
      if (step <= 2) {
        EXPECT_THROW(sync.wait(), Error);
      } else {
        EXPECT_NO_THROW(sync.wait());
      }
      for (const float x : weights) ASSERT_EQ(x, step <= 2 ? 7 : static_cast<float>(5 + step));
    }
  });
}

TEST_P(GradientChoices, StayAsTheyAreWhereOthersAreScaled) {
  train(GetParam(), [](Communicator& world) {
    if (world.size() == 1) return;
    std::vector<float> used(10, 1);
    std::vector<float> unused(10, 5);
    GradientSync sync{world,
                      std::vector{Parameter::of("used", used), Parameter::of("unused", unused)},
                      {.unused = UnusedGradients::detect}};
    if (world.rank() == 0) {
      sync.join();
    } else {
      sync.ready(0);
      sync.wait();
      EXPECT_EQ(used[9], 1) << "the mean over those that take part";
      EXPECT_EQ(unused[9], 5);
      sync.join();
    }
  });
}

TEST_P(GradientChoices, AreVoidWhereACallbackSawTheMeanOfOthers) {
  train(GetParam(), [](Communicator& world) {
    if (world.size() == 1) return;
    Model model{{10}};
    GradientOptions options;
    if (world.rank() == 1) options.on_bucket = [](const ReducedBucket&) {};
    GradientSync sync{world, model.parameters(), options};
    if (world.rank() == 0) {
      EXPECT_THROW(sync.join(), Error);
    } else {
      model.go_backward(sync, world.rank(), 0);
      EXPECT_THROW(sync.wait(), Error);
    }
  });
}

TEST_P(GradientChoices, SeeSignsThatDiffer) {
  train(GetParam(), [](Communicator& world) {
    if (world.size() == 1) return;
    Model model{{10}};
    GradientSync sync{world, model.parameters()};
    std::vector<double> array(10, world.rank() == 1 ? -3.0 : 3.0);
    EXPECT_THROW(sync.verify_state(std::vector{Parameter::of("array", array)}), Error);
  });
}

TEST_P(GradientChoices, GoOnInAKnownOrder) {
  train(GetParam(), [](Communicator& world) {
    Model model{{100, 100, 100, 100}};
    GradientSync first{world, model.parameters(), {.bucket_bytes = 800}};
    for (const std::size_t i : {2U, 0U, 3U, 1U}) first.ready(i);
    first.wait();
    GradientSync second{
        world, model.parameters(), {.bucket_bytes = 800, .known_order = first.order()}};
    EXPECT_EQ(second.plan_hash(), first.plan_hash());
    EXPECT_EQ(second.buckets(), first.buckets());
    EXPECT_THROW((GradientSync{world, model.parameters(), {.known_order = {0, 1, 1, 2}}}), Error);
    EXPECT_THROW((GradientSync{world, model.parameters(), {.known_order = {0, 1}}}), Error);
  });
}

TEST_P(GradientChoices, FindWeightsThatDifferAndMakeThemEqual) {
  train(GetParam(), [](Communicator& world) {
    if (world.size() < 3) return;  // of two none is the usual one
    Model model{{10}};
    std::vector<float> good(100, 1.0F);
    std::vector<float> bad(100, 2.0F);
    const std::vector arrays{Parameter::of("good", good), Parameter::of("bad", bad)};
    GradientSync sync{
        world, model.parameters(), {.verify_every = 2, .resync_every = 3, .state = arrays}};
    EXPECT_NO_THROW(sync.verify_state(arrays));
    if (world.rank() == 1) bad[7] = 2.0000002F;
    try {
      sync.verify_state(arrays);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_NE(
          std::string{error.what()}.find("'bad' differs: rank 1 has other values than most ranks"),
          std::string::npos)
          << error.what();
    }
    for (int step = 1; step <= 4; ++step) {
      model.go_backward(sync, world.rank(), step);
      if (step == 2) {
        EXPECT_THROW(sync.wait(), Error);
      } else {
        EXPECT_NO_THROW(sync.wait()) << step;
      }
      EXPECT_EQ(bad[7] == 2.0F, step >= 3 || world.rank() != 1) << step;
    }
  });
}

/// Several buckets are under way while ranks look at those that are reduced.
TEST_P(GradientChoices, GiveTheNormOfBucketsThatOverlap) {
  train(GetParam(), [](Communicator& world) {
    Model model{{3000, 3000, 3000, 3000, 3000, 3000}};
    GradientSync sync{world,
                      model.parameters(),
                      {.bucket_bytes = 0, .check_finite = true, .norm = true, .in_flight = 4}};
    for (int step = 0; step < 10; ++step) {
      for (std::size_t i = model.gradients.size(); i-- > 0;) {
        model.fill(i, world.rank(), step);
        if ((step + static_cast<int>(i)) % world.size() == world.rank())
          std::this_thread::sleep_for(std::chrono::microseconds{200});
        sync.ready(i);
      }
      const StepReport& report = sync.wait();
      EXPECT_TRUE(model.is_mean(world.size(), step));
      double squares = 0;
      for (const auto& gradient : model.gradients)
        for (const float x : gradient) squares += static_cast<double>(x) * static_cast<double>(x);
      EXPECT_NEAR(report.norm, std::sqrt(squares), 1e-6 * std::sqrt(squares));
    }
  });
}

TEST_P(GradientChoices, WriteATraceOfTheLastSteps) {
  const auto path =
      std::filesystem::temp_directory_path() /
      ("tutti_trace_" + std::to_string(::getpid()) + "_" + std::to_string(GetParam().n) + ".json");
  train(GetParam(), [&](Communicator& world) {
    Model model{{100, 200}};
    std::vector<Parameter> parameters = model.parameters();
    parameters[0].name = "a \"name\"\n";
    GradientSync sync{world, parameters, {.bucket_bytes = 0, .on_shard = [](auto) {}, .record = 2}};
    for (int step = 0; step < 5; ++step) {
      model.go_backward(sync, world.rank(), step);
      sync.wait();
    }
    sync.write_trace(path.string());
    EXPECT_THROW(sync.write_trace("/nowhere/trace.json"), Error);
    EXPECT_NO_THROW(world.barrier());
  });
  const auto trace = nlohmann::json::parse(std::ifstream{path});
  std::filesystem::remove(path);
  std::vector<int> computing(static_cast<std::size_t>(GetParam().n));
  int buckets = 0;
  for (const auto& event : trace["traceEvents"]) {
    const auto name = event["name"].get<std::string>();
    if (name == "step 4: computing" || name == "step 5: computing")
      ++computing.at(event["pid"].get<std::size_t>());
    if (name.starts_with("bucket ")) ++buckets;
    EXPECT_GE(event.value("dur", 0.0), 0);
    EXPECT_NE(name, "step 3: computing") << "two steps were wanted";
  }
  EXPECT_EQ(computing, std::vector<int>(static_cast<std::size_t>(GetParam().n), 2));
  EXPECT_EQ(buckets, GetParam().n * 2 * 2 * 2) << "steps, buckets, halves";
  const auto& replay = trace["tutti"]["parameters"];
  EXPECT_EQ(replay[0]["name"], "a \"name\"\n");
  EXPECT_EQ(replay[1]["count"], 200);
  EXPECT_LE(replay[1]["ready_us"].get<double>(), replay[0]["ready_us"].get<double>());
}

INSTANTIATE_TEST_SUITE_P(Worlds, GradientChoices,
                         ::testing::Values(Setting{1, "auto", 1}, Setting{2, "auto", 1},
                                           Setting{3, "auto", 1}, Setting{4, "auto", 2}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace tutti::test

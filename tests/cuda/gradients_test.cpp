// Gradients in memory of GPUs, on the stand-ins for the driver and NCCL: the mean on all ranks,
// with the host's bits, in the order of the program's stream, and without the host waiting for it.
#include "gradients.hpp"
#include "tests/support/patience.hpp"

#include <thread>

namespace tutti::test {
namespace {

const std::vector<std::size_t> kSizes{1000, 10, 0, 5000, 300, 1, 20'000};

/// How many ranks, and what their messages go by.
struct GpuSetting {
  int ranks;
  std::string transport;
};

std::ostream& operator<<(std::ostream& out, const GpuSetting& setting) {
  return out << setting.ranks << "_over_" << setting.transport;
}

class GpuGradients : public ::testing::TestWithParam<GpuSetting> {
 protected:
  void SetUp() override {
    if (const std::string why = harness::lack_of(GetParam().ranks); !why.empty())
      GTEST_SKIP() << why;
  }
};

struct Setting {
  GradientStorage storage;
  GradientOrder order;
  std::size_t bucket_bytes;
};

std::vector<Setting> transports() {
  std::vector<Setting> all;
  for (const auto storage :
       {GradientStorage::copies, GradientStorage::views, GradientStorage::flat})
    for (const auto order :
         {GradientOrder::reversed, GradientOrder::observed, GradientOrder::negotiated})
      for (const std::size_t bytes : {std::size_t{0}, std::size_t{16'000}, GradientOptions::kFlat})
        if (storage == GradientStorage::copies || order != GradientOrder::observed)
          all.push_back({storage, order, bytes});
  return all;
}

/// Over the host, where each GradientSync takes its time to start.
std::vector<Setting> few_settings() {
  return {{GradientStorage::copies, GradientOrder::observed, 16'000},
          {GradientStorage::views, GradientOrder::negotiated, 16'000},
          {GradientStorage::flat, GradientOrder::reversed, 0}};
}

/// The same steps on the host.
std::vector<std::vector<float>> host_results(Communicator& world, GradientOptions options,
                                             const GpuModel& model, int steps) {
  options.stream = Stream{};
  std::vector<float> gradients(model.total());
  std::vector<Parameter> parameters = model.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i)
    parameters[i].data = gradients.data() + model.offset(i);
  GradientSync sync{world, parameters, options};
  std::vector<std::vector<float>> all;
  for (int step = 0; step < steps; ++step) {
    const auto at = [&](std::size_t i) {
      void* const view = sync.view(i);
      return view == nullptr ? static_cast<float*>(parameters[i].data) : static_cast<float*>(view);
    };
    for (std::size_t i = parameters.size(); i-- > 0;) {
      for (std::size_t e = 0; e < parameters[i].count; ++e)
        at(i)[e] = rough_value(i, e, world.rank(), step);
      sync.ready(i);
    }
    sync.wait();
    sync.synchronize();
    for (std::size_t i = 0; i < parameters.size(); ++i)
      std::copy_n(at(i), parameters[i].count, gradients.data() + model.offset(i));
    all.push_back(gradients);
  }
  return all;
}

TEST_P(GpuGradients, HaveTheBitsOfTheHost) {
  const std::vector<Setting> chosen =
      GetParam().transport == "nccl" ? transports() : few_settings();
  on_gpus(GetParam().ranks, GetParam().transport, [&](GpuRank own) {
    constexpr int kSteps = 3;
    GpuModel model{own.gpu, kSizes};
    for (const Setting& setting : chosen) {
      const GradientOptions options{.bucket_bytes = setting.bucket_bytes,
                                    .first_bucket_bytes = 4'000,
                                    .order = setting.order,
                                    .storage = setting.storage,
                                    .algorithm = "ring",
                                    .stream = own.gpu.compute.get()};
      const auto wanted = host_results(own.host, options, model, kSteps);
      GradientSync sync{own.world, model.parameters(), options};
      for (int step = 0; step < kSteps; ++step) {
        model.prepare(own.world.rank(), step);
        model.go_backward(sync);
        const StepReport& report = sync.wait();
        EXPECT_EQ(report.step, static_cast<std::uint64_t>(step + 1));
        EXPECT_EQ(report.active, own.world.size());
        model.enqueue_results(sync);
        const std::vector<float> results = model.results();
        EXPECT_EQ(model.problem(results, own.world.size(), step), "");
        const auto& host = wanted[static_cast<std::size_t>(step)];
        EXPECT_EQ(std::memcmp(results.data(), host.data(), model.total() * sizeof(float)), 0)
            << "storage " << static_cast<int>(setting.storage) << ", order "
            << static_cast<int>(setting.order) << ", buckets of " << setting.bucket_bytes;
      }
    }
  });
}

/// The stream comes to nothing before the program lets it, which is after wait.
TEST_P(GpuGradients, AreNotReadEarlyNorWaitedFor) {
  on_gpus(GetParam().ranks, GetParam().transport, [](GpuRank own) {
    GpuModel model{own.gpu, kSizes};
    for (const auto storage :
         {GradientStorage::copies, GradientStorage::views, GradientStorage::flat})
      for (const auto order : {GradientOrder::reversed, GradientOrder::observed}) {
        if (storage != GradientStorage::copies && order == GradientOrder::observed) continue;
        GradientSync sync{own.world,
                          model.parameters(),
                          {.bucket_bytes = 16'000,
                           .order = order,
                           .storage = storage,
                           .stream = own.gpu.compute.get()}};
        for (int step = 0; step < 3; ++step) {
          model.prepare(own.world.rank(), step);
          Hold hold{own.gpu};
          model.go_backward(sync);
          sync.wait();
          model.enqueue_results(sync);
          EXPECT_FALSE(own.gpu.is_idle());
          std::this_thread::sleep_for(std::chrono::milliseconds{5});
          EXPECT_FALSE(own.gpu.is_idle());
          hold.release();
          sync.synchronize();
          EXPECT_TRUE(own.gpu.is_idle());
          EXPECT_EQ(model.problem(model.results(), own.world.size(), step), "");
        }
      }
  });
}

bool is_mean(const std::vector<float>& values, std::size_t layer, int ranks, int step) {
  for (std::size_t e = 0; e < values.size(); ++e)
    if (!(std::abs(values[e] - rough_mean(layer, e, ranks, step)) < 1e-5)) return false;
  return true;
}

/// The stream has not come to the layers before.
TEST_P(GpuGradients, AreReducedWhileTheStreamComputes) {
  on_gpus(GetParam().ranks, GetParam().transport, [](GpuRank own) {
    GpuModel model{own.gpu, kSizes};
    GradientSync sync{
        own.world,
        model.parameters(),
        {.bucket_bytes = 0, .order = GradientOrder::reversed, .stream = own.gpu.compute.get()}};
    for (int step = 0; step < 2; ++step) {
      model.prepare(own.world.rank(), step);
      std::size_t layer = kSizes.size() - 1;
      const std::size_t last = layer;
      model.enqueue_gradient(layer, model.place(layer));
      sync.ready(layer);
      Hold hold{own.gpu};
      while (layer-- > 0) {
        model.enqueue_gradient(layer, model.place(layer));
        sync.ready(layer);
      }
      const auto end = Clock::now() + kAmple;
      while (!is_mean(model.gradient(last), last, own.world.size(), step) && Clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
      EXPECT_LT(Clock::now(), end);
      EXPECT_FALSE(own.gpu.is_idle());
      EXPECT_TRUE(std::isnan(model.gradient(0).front()));
      sync.wait();
      model.enqueue_results(sync);
      hold.release();
      EXPECT_EQ(model.problem(model.results(), own.world.size(), step), "");
    }
  });
}

/// Several steps may be enqueued before the first one runs.
TEST_P(GpuGradients, OfManyStepsAreEnqueuedAtOnce) {
  on_gpus(GetParam().ranks, GetParam().transport, [](GpuRank own) {
    std::vector<std::unique_ptr<GpuModel>> models;
    for (int step = 0; step < 4; ++step) {
      models.push_back(std::make_unique<GpuModel>(own.gpu, kSizes));
      models.back()->prepare(own.world.rank(), step);
    }
    Hold hold{own.gpu};
    GradientSync sync{own.world,
                      models[0]->parameters(),
                      {.bucket_bytes = 8'000, .stream = own.gpu.compute.get()}};
    for (const auto& model : models) {
      for (std::size_t i = kSizes.size(); i-- > 0;) {
        model->enqueue_gradient(i, models[0]->place(i));
        sync.ready(i);
      }
      sync.wait();
      for (std::size_t i = 0; i < kSizes.size(); ++i) model->enqueue_result(i, models[0]->place(i));
    }
    EXPECT_FALSE(own.gpu.is_idle());
    hold.release();
    for (int step = 0; step < 4; ++step)
      EXPECT_EQ(models[static_cast<std::size_t>(step)]->problem(
                    models[static_cast<std::size_t>(step)]->results(), own.world.size(), step),
                "");
  });
}

/// Large gradients, by NCCL's choice.
TEST_P(GpuGradients, AreReducedInPlace) {
  on_gpus(GetParam().ranks, GetParam().transport, [](GpuRank own) {
    GpuModel model{own.gpu, kSizes};
    int called = 0;
    GradientSync sync{own.world,
                      model.parameters(),
                      {.bucket_bytes = 16'000,
                       .in_place_bytes = 4'000,
                       .on_bucket = [&](const ReducedBucket&) { ++called; },
                       .stream = own.gpu.compute.get()}};
    for (int step = 0; step < 3; ++step) {
      model.prepare(own.world.rank(), step);
      called = 0;
      model.go_backward(sync);
      sync.wait();
      EXPECT_EQ(static_cast<std::size_t>(called), sync.buckets().size());
      model.enqueue_results(sync);
      EXPECT_EQ(model.problem(model.results(), own.world.size(), step), "");
    }
  });
}

/// Another thread reports each parameter as ready.
TEST_P(GpuGradients, AreReadyByAnyThread) {
  on_gpus(GetParam().ranks, GetParam().transport, [](GpuRank own) {
    GpuModel model{own.gpu, kSizes};
    GradientSync sync{
        own.world,
        model.parameters(),
        {.bucket_bytes = 0, .order = GradientOrder::negotiated, .stream = own.gpu.compute.get()}};
    for (int step = 0; step < 5; ++step) {
      model.prepare(own.world.rank(), step);
      std::vector<std::thread> threads;
      for (std::size_t i = 0; i < kSizes.size(); ++i)
        threads.emplace_back([&, i] {
          model.enqueue_gradient(i, model.place(i));
          sync.ready(i);
        });
      for (std::thread& thread : threads) thread.join();
      sync.wait();
      model.enqueue_results(sync);
      EXPECT_EQ(model.problem(model.results(), own.world.size(), step), "");
    }
  });
}

/// Gradients of layer 0 are those of all ranks, and of layer 1 those of its half of the world.
TEST(GpuGradientGroups, AreMeansOfTheirRanks) {
  if (const std::string why = harness::lack_of(3); !why.empty()) GTEST_SKIP() << why;
  on_gpus(3, "nccl", [](GpuRank own) {
    const bool is_alone = own.world.rank() == 2;
    Communicator part = own.world.split(is_alone ? 1 : 0);
    GpuModel model{own.gpu, {3000, 2000}};
    std::vector<Parameter> parameters = model.parameters();
    parameters[1].group = 1;
    GradientSync sync{own.world, parameters, {.groups = {&part}, .stream = own.gpu.compute.get()}};
    for (int step = 0; step < 3; ++step) {
      model.prepare(own.world.rank(), step);
      model.go_backward(sync);
      sync.wait();
      model.enqueue_results(sync);
      const std::vector<float> results = model.results();
      for (std::size_t e = 0; e < 3000; ++e)
        ASSERT_NEAR(results[e], rough_mean(0, e, 3, step), 1e-5);
      for (std::size_t e = 0; e < 2000; ++e) {
        const double wanted = is_alone ? rough_value(1, e, 2, step) : rough_mean(1, e, 2, step);
        ASSERT_NEAR(results[3000 + e], wanted, 1e-5);
      }
    }
  });
}

/// In the stream's order too: arrays are written late, and read behind the call.
TEST_P(GpuGradients, ComeWithStateThatIsMadeEqual) {
  on_gpus(GetParam().ranks, GetParam().transport, [](GpuRank own) {
    const Rank root = own.world.size() - 1;
    GpuModel model{own.gpu, kSizes};
    GradientSync sync{own.world, model.parameters(), {.stream = own.gpu.compute.get()}};
    for (const bool averages : {false, true}) {
      model.prepare(own.world.rank(), 7);
      Hold hold{own.gpu};
      for (std::size_t i = 0; i < kSizes.size(); ++i) model.enqueue_gradient(i, model.place(i));
      if (averages) sync.average_buffers(model.parameters());
      else sync.broadcast_state(model.parameters(), root);
      model.enqueue_results(sync);
      EXPECT_FALSE(own.gpu.is_idle());
      hold.release();
      const std::vector<float> results = model.results();
      if (averages) {
        EXPECT_EQ(model.problem(results, own.world.size(), 7), "");
      }
      for (std::size_t i = 0; i < kSizes.size() && !averages; ++i)
        for (std::size_t e = 0; e < kSizes[i]; ++e)
          ASSERT_EQ(results[model.offset(i) + e], rough_value(i, e, root, 7));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, GpuGradients,
                         ::testing::Values(GpuSetting{1, "nccl"}, GpuSetting{2, "nccl"},
                                           GpuSetting{3, "nccl"}, GpuSetting{1, "host"},
                                           GpuSetting{2, "host"}, GpuSetting{3, "host"}),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace tutti::test

// Options of GradientSync with gradients in memory of GPUs: it inspects them, compresses them, has
// each rank update its own part, compares and repairs state, and continues without lost ranks.
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "gradients.hpp"

namespace tutti::test {
namespace {

/// Sizes that ranks share evenly, and others.
const std::vector<std::size_t> kCounts{1000, 10, 0, 5001, 300};

class GpuGradientOptions : public ::testing::TestWithParam<std::string> {
 protected:
  static void run(const std::function<void(GpuRank)>& body, int ranks = 3) {
    if (const std::string why = harness::lack_of(ranks); !why.empty()) GTEST_SKIP() << why;
    on_gpus(ranks, GetParam(), body);
  }
};

/// @return what the step says. @param model has results then.
StepReport take_step(GpuRank own, GpuModel& model, GradientSync& sync, int step) {
  model.prepare(own.world.rank(), step);
  model.go_backward(sync);
  const StepReport report = sync.wait();
  model.enqueue_results(sync);
  return report;
}

/// @return the text of a step that is void.
std::string void_step(GradientSync& sync) {
  try {
    sync.wait();
  } catch (const Error& error) {
    return error.what();
  }
  return "not void";
}

double norm_of_means(const GpuModel& model, int ranks, int step) {
  double squares = 0;
  for (std::size_t i = 0; i < model.sizes().size(); ++i)
    for (std::size_t e = 0; e < model.sizes()[i]; ++e)
      squares += std::pow(rough_mean(i, e, ranks, step), 2);
  return std::sqrt(squares);
}

/// A float in memory of a GPU. @param sets whether to write it. @return what is there now.
float at(const Gpu& gpu, float* place, bool sets, float value = 0) {
  auto* const bytes = reinterpret_cast<std::byte*>(place);
  if (sets) gpu.memory->copy(bytes, reinterpret_cast<const std::byte*>(&value), sizeof value);
  else gpu.memory->copy(reinterpret_cast<std::byte*>(&value), bytes, sizeof value);
  return value;
}

TEST_P(GpuGradientOptions, TellNormAndHash) {
  run([](GpuRank own) {
    std::vector<std::uint32_t> hashes;
    for (const std::size_t bucket_bytes :
         {std::size_t{4'000}, std::size_t{4'000}, std::size_t{0}}) {
      GpuModel model{own.gpu, kCounts};
      GradientSync sync{own.world,
                        model.parameters(),
                        {.bucket_bytes = bucket_bytes,
                         .first_bucket_bytes = 4'000,
                         .order = GradientOrder::reversed,
                         .norm = true,
                         .hash = true,
                         .stream = own.gpu.compute.get()}};
      for (int step = 0; step < 3; ++step) {
        const StepReport report = take_step(own, model, sync, step);
        EXPECT_NEAR(report.norm / norm_of_means(model, own.world.size(), step), 1, 1e-6);
        EXPECT_EQ(model.problem(model.results(), own.world.size(), step), "");
        hashes.push_back(report.hash);
        const std::vector<double> all = own.host.all_gather(report.norm + report.hash);
        EXPECT_EQ(std::ranges::count(all, all.front()), own.world.size());
      }
    }
    // Digests of the same run, of other gradients, of other buckets.
    for (std::size_t step = 0; step < 3; ++step) {
      EXPECT_EQ(hashes[step], hashes[3 + step]);
      EXPECT_NE(hashes[step], hashes[6 + step]);
      EXPECT_NE(hashes[step], hashes[(step + 1) % 3]);
    }
  });
}

TEST_P(GpuGradientOptions, NoticeOneOtherBit) {
  run([](GpuRank own) {
    GpuModel model{own.gpu, {3000}};
    GradientSync sync{
        own.world, model.parameters(), {.hash = true, .stream = own.gpu.compute.get()}};
    std::map<std::uint32_t, int> hashes;
    for (const int changed : {-1, 0, 1, 1499, 2999, -1}) {
      model.prepare(own.world.rank(), 0);
      model.enqueue_gradient(0, model.place(0));
      own.gpu.wait();
      if (changed >= 0) at(own.gpu, model.place(0) + changed, true, 3.0F);
      sync.ready(0);
      ++hashes[sync.wait().hash];
    }
    EXPECT_EQ(hashes.size(), 5U);
  });
}

TEST_P(GpuGradientOptions, AreVoidWhereGradientsAreNotFinite) {
  run([](GpuRank own) {
    GpuModel model{own.gpu, kCounts};
    GradientSync sync{
        own.world, model.parameters(), {.check_finite = true, .stream = own.gpu.compute.get()}};
    for (int step = 0; step < 3; ++step) {
      take_step(own, model, sync, step);
      EXPECT_EQ(model.problem(model.results(), own.world.size(), step), "");
      model.prepare(own.world.rank(), step);
      for (std::size_t i = 0; i < kCounts.size(); ++i) model.enqueue_gradient(i, model.place(i));
      own.gpu.wait();
      if (own.world.rank() == 1) {
        at(own.gpu, model.place(3) + 4'999, true, std::numeric_limits<float>::infinity());
        at(own.gpu, model.place(0), true, std::nanf(""));
      }
      for (std::size_t i = kCounts.size(); i-- > 0;) sync.ready(i);
      EXPECT_NE(void_step(sync).find("2 reduced gradients are infinite or no numbers"),
                std::string::npos);
    }
  });
}

/// Elements of all ranks as they travel, added up in f32 from rank 0 on, and rounded once.
template <class Short>
float short_mean(std::size_t layer, std::size_t element, int ranks, int step) {
  float all = static_cast<float>(Short{rough_value(layer, element, 0, step)});
  for (Rank rank = 1; rank < ranks; ++rank)
    all += static_cast<float>(Short{rough_value(layer, element, rank, step)});
  return static_cast<float>(Short{all / static_cast<float>(ranks)});
}

template <class Short>
void check_short(GpuRank own, const std::string& compression) {
  GpuModel model{own.gpu, kCounts};
  GradientSync sync{own.world,
                    model.parameters(),
                    {.bucket_bytes = 8'000,
                     .order = GradientOrder::reversed,
                     .norm = true,
                     .compression = compression,
                     .compression_after = 1,
                     .stream = own.gpu.compute.get()}};
  take_step(own, model, sync, 0);
  EXPECT_EQ(model.problem(model.results(), own.world.size(), 0), "");
  for (int step = 1; step < 3; ++step) {
    const StepReport report = take_step(own, model, sync, step);
    EXPECT_NEAR(static_cast<double>(report.sent_bytes) * 2, static_cast<double>(report.plain_bytes),
                2.0 * static_cast<double>(sync.buckets().size()));
    const std::vector<float> results = model.results();
    double squares = 0;
    for (std::size_t i = 0; i < kCounts.size(); ++i)
      for (std::size_t e = 0; e < kCounts[i]; ++e) {
        const float wanted = short_mean<Short>(i, e, own.world.size(), step);
        ASSERT_EQ(results[model.offset(i) + e], wanted) << "layer " << i << "[" << e << "]";
        squares += static_cast<double>(wanted) * static_cast<double>(wanted);
      }
    EXPECT_NEAR(report.norm / std::sqrt(squares), 1, 1e-9);
  }
}

TEST_P(GpuGradientOptions, TravelInFewerBytes) {
  run([](GpuRank own) {
    check_short<Float16>(own, "f16");
    check_short<BFloat16>(own, "bf16");
  });
}

/// Each rank replaces its part of the mean by what it has for it: the weights.
TEST_P(GpuGradientOptions, AreUpdatedByTheirOwners) {
  run([](GpuRank own) {
    GpuModel model{own.gpu, kCounts};
    const std::size_t bytes = model.total() * sizeof(float);
    const auto seen = own.gpu.allocate(bytes);
    const auto updated = own.gpu.allocate(bytes);
    const auto weights = own.gpu.allocate(bytes);
    std::vector<float> wanted(model.total());
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = static_cast<float>(i) + 0.5F;
    own.gpu.memory->copy(updated.get(), reinterpret_cast<const std::byte*>(wanted.data()), bytes);
    std::vector<Parameter> parameters = model.parameters();
    const auto place_in = [&](const std::shared_ptr<std::byte>& memory, std::size_t element) {
      return reinterpret_cast<float*>(memory.get()) + element;
    };
    for (std::size_t i = 0; i < parameters.size(); ++i)
      parameters[i].result = place_in(weights, model.offset(i));
    bool throws = false;
    std::size_t parts = 0;
    GradientOptions options{.bucket_bytes = 8'000,
                            .order = GradientOrder::reversed,
                            .norm = true,
                            .stream = own.gpu.compute.get()};
    options.on_shard = [&](std::span<const ParameterShard> shards) {
      CUcontext context = nullptr;  // of this thread, as a program's call finds it
      const auto& calls = own.gpu.device->driver().calls();
      EXPECT_EQ(calls.current_context(&context), CUDA_SUCCESS);
      EXPECT_EQ(context, own.gpu.device->context());
      if (throws) throw std::runtime_error{"no optimizer"};
      for (const ParameterShard& part : shards) {
        ++parts;
        const std::size_t element = model.offset(part.parameter) + part.first;
        auto* const stream = static_cast<CUstream>(part.stream.handle());
        const auto copy = [&](void* to, const void* from) {
          EXPECT_EQ(
              calls.copy(cuda::address_of(to), cuda::address_of(from), part.count * 4, stream),
              CUDA_SUCCESS);
        };
        copy(place_in(seen, element), part.data);
        copy(part.data, place_in(updated, element));
      }
    };
    GradientSync sync{own.world, parameters, options};
    for (int step = 0; step < 3; ++step) {
      throws = step == 1 && own.world.rank() == 2;
      if (step != 1) {
        take_step(own, model, sync, step);
      } else {
        model.prepare(own.world.rank(), step);
        model.go_backward(sync);
        EXPECT_NE(void_step(sync).find("on rank 2 on_shard threw: no optimizer"),
                  std::string::npos);
      }
      sync.synchronize();
      std::vector<float> result(model.total());
      own.gpu.memory->copy(reinterpret_cast<std::byte*>(result.data()), weights.get(), bytes);
      EXPECT_EQ(result, wanted);
    }
    own.gpu.memory->copy(reinterpret_cast<std::byte*>(wanted.data()), seen.get(), bytes);
    for (const auto& bucket : sync.shards())
      for (const ParameterShard& part : bucket)
        for (std::size_t e = part.first; e < part.first + part.count; ++e)
          ASSERT_NEAR(wanted[model.offset(part.parameter) + e],
                      rough_mean(part.parameter, e, own.world.size(), 2), 1e-5);
    EXPECT_GE(parts, 2U);
  });
}

TEST_P(GpuGradientOptions, CompareAndRepairState) {
  run([](GpuRank own) {
    GpuModel model{own.gpu, kCounts};
    GpuModel state{own.gpu, {77, 5001}};
    state.prepare(0, 0);
    for (const std::size_t i : {0, 1}) state.enqueue_gradient(i, state.place(i));
    own.gpu.wait();
    GradientSync sync{own.world,
                      model.parameters(),
                      {.verify_every = 2,
                       .resync_every = 3,
                       .state = state.parameters(),
                       .stream = own.gpu.compute.get()}};
    sync.verify_state(state.parameters());
    for (int step = 0; step < 2; ++step) take_step(own, model, sync, step);
    if (own.world.rank() == 1) at(own.gpu, state.place(1) + 5'000, true, 9);
    try {
      sync.verify_state(state.parameters());
      ADD_FAILURE() << "no difference";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(),
                   "GradientSync: 'layer1' differs: rank 1 has other values than most ranks");
    }
    take_step(own, model, sync, 2);  // the third step repairs it
    sync.verify_state(state.parameters());
    EXPECT_EQ(at(own.gpu, state.place(1) + 5'000, false), rough_value(1, 5'000, 0, 0));
    if (own.world.rank() == 2) at(own.gpu, state.place(0), true, 9);
    model.prepare(own.world.rank(), 3);
    model.go_backward(sync);
    EXPECT_NE(
        void_step(sync).find(
            "'layer0' of GradientOptions::state differs: rank 2 has other values than most ranks"),
        std::string::npos);
  });
}

/// Rank 1 has no data from the second step on.
TEST_P(GpuGradientOptions, GoOnWithoutRanks) {
  run([](GpuRank own) {
    for (const auto storage : {GradientStorage::copies, GradientStorage::views}) {
      GpuModel model{own.gpu, kCounts};
      GradientSync sync{own.world,
                        model.parameters(),
                        {.order = GradientOrder::reversed,
                         .storage = storage,
                         .norm = true,
                         .stream = own.gpu.compute.get()}};
      take_step(own, model, sync, 0);
      EXPECT_EQ(model.problem(model.results(), 3, 0), "");
      if (own.world.rank() == 1) {
        EXPECT_EQ(sync.join(), 2U);
        continue;
      }
      for (int step = 1; step < 3; ++step) {
        const StepReport report = take_step(own, model, sync, step);
        EXPECT_EQ(report.active, 2);
        const std::vector<float> results = model.results();
        double squares = 0;
        for (std::size_t i = 0; i < kCounts.size(); ++i)
          for (std::size_t e = 0; e < kCounts[i]; ++e) {
            const float wanted = (rough_value(i, e, 0, step) + rough_value(i, e, 2, step)) / 2;
            ASSERT_NEAR(results[model.offset(i) + e], wanted, 1e-5);
            squares += static_cast<double>(wanted) * static_cast<double>(wanted);
          }
        EXPECT_NEAR(report.norm / std::sqrt(squares), 1, 1e-6);
      }
      EXPECT_EQ(sync.join(), 0U);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Over, GpuGradientOptions, ::testing::Values("nccl", "host"),
                         [](const auto& transport) { return transport.param; });

}  // namespace
}  // namespace tutti::test

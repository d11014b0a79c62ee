// Gradients in memory of GPUs: rejected options, void steps, and ends of ranks.
#include <memory>
#include <optional>
#include <utility>

#include "gradients.hpp"
#include "graph.hpp"
#include "tests/support/patience.hpp"

namespace tutti::test {
namespace {

const std::vector<std::size_t> kLayers{1000, 50, 2000};

/// @return what a call throws as Error{invalid_argument}, or why it is none.
template <class Function>
std::string refusal_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.code() == ErrorCode::invalid_argument
               ? error.what()
               : std::string{"another kind: "} + error.what();
  }
  return "not refused";
}

void expect_in(const std::string& part, const std::string& text) {
  EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in: " << text;
}

void on_two_gpus(const std::function<void(GpuRank)>& body) {
  if (const std::string why = harness::lack_of(2); !why.empty()) GTEST_SKIP() << why;
  on_gpus(2, "nccl", body);
}

/// A whole step, which is right.
void expect_a_good_step(GpuRank own, GpuModel& model, GradientSync& sync, int step) {
  model.prepare(own.world.rank(), step);
  model.go_backward(sync);
  sync.wait();
  model.enqueue_results(sync);
  EXPECT_EQ(model.problem(model.results(), own.world.size(), step), "");
}

TEST(GpuGradientRefusals, NameTheOptionThatIsNotThere) {
  on_two_gpus([](GpuRank own) {
    GpuModel model{own.gpu, kLayers};
    const auto refusal = [&](const GradientOptions& options) {
      return refusal_of([&] { const GradientSync sync{own.world, model.parameters(), options}; });
    };
    for (const char* const compression : {"int8", "one_bit:64", "power_sgd", "top_k"})
      expect_in(std::string{"GradientOptions::compression '"} + compression +
                    "' does not exist on a GPU; choose f16 or bf16",
                refusal({.compression = compression, .stream = own.gpu.compute.get()}));
    expect_in("on a GPU gradients are used before ranks know their norm",
              refusal({.max_norm = 1, .stream = own.gpu.compute.get()}));
    expect_in("GradientOptions::check_finite does not go with it",
              refusal({.order = GradientOrder::reversed,
                       .check_finite = true,
                       .on_shard = [](std::span<const ParameterShard>) {},
                       .stream = own.gpu.compute.get()}));
  });
}

TEST(GpuGradientRefusals, SayWhereParametersShouldLie) {
  on_two_gpus([](GpuRank own) {
    GpuModel model{own.gpu, kLayers};
    std::vector<float> host(50);
    std::vector<Parameter> parameters = model.parameters();
    parameters[1].data = host.data();
    const GradientOptions options{.stream = own.gpu.compute.get()};
    const std::string mixed = refusal_of([&] {
      const GradientSync sync{own.world, parameters, options};
    });
    expect_in("parameter 1 'layer1' lies in memory of the host", mixed);
    expect_in("parameter 0 'layer0' lies in memory of a GPU; set GradientOptions::stream",
              refusal_of([&] {
                const GradientSync sync{own.world, model.parameters()};
              }));
    // A rank's GPU is not that of another one.
    const Gpu foreign{1 - own.world.rank()};
    const GpuModel there{foreign, kLayers};
    expect_in("memory of GPU", refusal_of([&] {
                const GradientSync sync{own.world, there.parameters(), options};
              }));
    GradientSync sync{own.world, model.parameters(), options};
    expect_in("parameter 1 'layer1' lies in memory of the host",
              refusal_of([&] { sync.broadcast_state(parameters); }));
    expect_in("parameter 1 'layer1' lies in memory of the host",
              refusal_of([&] { sync.average_buffers(parameters); }));
    expect_in("parameter 1 'layer1' lies in memory of the host",
              refusal_of([&] { sync.verify_state(parameters); }));
    const auto refusal = [&](const GradientOptions& other, std::span<const Parameter> arrays) {
      return refusal_of([&] { const GradientSync there_is_none{own.world, arrays, other}; });
    };
    expect_in("parameter 0 'state' lies in memory of the host",
              refusal({.state = {Parameter::of("state", host)}, .stream = own.gpu.compute.get()},
                      model.parameters()));
    std::vector<Parameter> stored = model.parameters();
    stored[1].result = host.data();
    expect_in("parameter 1 'layer1's result' lies in memory of the host",
              refusal({.order = GradientOrder::reversed,
                       .on_shard = [](std::span<const ParameterShard>) {},
                       .stream = own.gpu.compute.get()},
                      stored));
    expect_a_good_step(own, model, sync, 0);
  });
}

TEST(GpuGradientRefusals, SayWhatIsWrongWithTheStream) {
  on_two_gpus([](GpuRank own) {
    GpuModel model{own.gpu, kLayers};
    const auto refusal = [&](Stream stream) {
      return refusal_of([&] {
        const GradientSync sync{own.world, model.parameters(), {.stream = stream}};
      });
    };
    expect_in("Stream::own() is none of the program's", refusal(Stream::own()));
    const Gpu foreign{1 - own.world.rank()};
    expect_in("the stream is none of GPU", refusal(foreign.compute.get()));
    expect_in("cudaStreamPerThread", refusal(Stream{CU_STREAM_PER_THREAD}));
    expect_in("ranks differ",
              refusal(own.world.rank() == 0 ? Stream{own.gpu.compute.get()} : Stream{}));
    {
      harness::Graph graph{*own.gpu.device, own.gpu.compute.get()};
      expect_in("GradientOptions::stream is captured", refusal(own.gpu.compute.get()));
      graph.end();
    }
  });
}

TEST(GpuGradientRefusals, SayThatNoGpuIsAttached) {
  if (const std::string why = harness::lack_of(2); !why.empty()) GTEST_SKIP() << why;
  expect_no_error(in_world({2, "shm", 1}, [](Communicator& world) {
    const Gpu gpu{world.rank()};
    const GpuModel model{gpu, kLayers};
    const GradientOptions options{.stream = gpu.compute.get()};
    expect_in("none is attached to the communicator", refusal_of([&] {
                const GradientSync sync{world, model.parameters(), options};
              }));
    Communicator before = world.split(0);
    cuda::attach(world, {.device = world.rank(), .timeout = kAmple});
    expect_in("no GPU is attached to group 1", refusal_of([&] {
                const GradientSync sync{
                    world, model.parameters(), {.groups = {&before}, .stream = gpu.compute.get()}};
              }));
  }));
}

TEST(GpuGradientSteps, AreVoidWhereARankErrs) {
  on_two_gpus([](GpuRank own) {
    GpuModel model{own.gpu, kLayers};
    GradientSync sync{own.world, model.parameters(), {.stream = own.gpu.compute.get()}};
    expect_a_good_step(own, model, sync, 0);
    model.go_backward(sync);
    if (own.world.rank() == 1) sync.ready(2);
    expect_in("on rank 1 parameter 2 'layer2' was ready twice", refusal_of([&] { sync.wait(); }));
    expect_a_good_step(own, model, sync, 1);
    sync.ready(0);
    if (own.world.rank() == 0) sync.ready(1);
    sync.ready(2);
    expect_in("on rank 1 parameter 1 'layer1' was not ready", refusal_of([&] { sync.wait(); }));
    expect_a_good_step(own, model, sync, 2);
  });
}

/// Captured work does not run, so there is nothing to reduce. The earlier stream keeps its
/// gradients, and another GradientSync can follow.
TEST(GpuGradientSteps, EndWithGradientsWhereTheStreamIsCaptured) {
  on_two_gpus([](GpuRank own) {
    for (const auto& [is_late, has_norm] : {std::pair{false, false}, {true, false}, {true, true}}) {
      GpuModel model{own.gpu, kLayers};
      const GradientOptions options{
          .average = false, .norm = has_norm, .stream = own.gpu.compute.get()};
      auto sync = std::make_unique<GradientSync>(own.world, model.parameters(), options);
      model.prepare(own.world.rank(), 0);
      model.go_backward(*sync);
      sync->wait();
      own.gpu.wait();
      Hold hold{own.gpu};
      model.enqueue_results(*sync);
      if (has_norm) hold.release();  // for which the host waits
      {
        // Rank 1 captures, before its gradients are ready or after that.
        std::optional<harness::Graph> graph;
        const auto capture = [&] { graph.emplace(*own.gpu.device, own.gpu.compute.get()); };
        const bool captures = own.world.rank() == 1;
        if (captures && !is_late) capture();
        model.go_backward(*sync);
        if (captures && is_late) capture();
        for (int call = 0; call < 2; ++call)
          expect_in(
              "on rank 1 the stream cannot be followed, which ends GradientSync: "
              "GradientOptions::stream is captured",
              refusal_of([&] { sync->wait(); }));
        if (graph) graph->end();
      }
      hold.release();
      const std::vector<float> results = model.results();
      for (std::size_t e = 0; e < kLayers[0]; ++e)
        ASSERT_NEAR(results[e], 2 * rough_mean(0, e, 2, 0), 1e-5);
      sync.reset();
      GradientSync next{own.world, model.parameters(), {.stream = own.gpu.compute.get()}};
      expect_a_good_step(own, model, next, 1);
    }
  });
}

/// Layer 1 is used by rank 0 only, and layer 2 by none.
TEST(GpuGradientSteps, CountUnusedGradientsAsZeros) {
  on_two_gpus([](GpuRank own) {
    for (const auto unused : {UnusedGradients::zeros, UnusedGradients::detect})
      for (const std::size_t bucket_bytes : {std::size_t{0}, GradientOptions::kFlat}) {
        GpuModel model{own.gpu, kLayers};
        GradientSync sync{
            own.world,
            model.parameters(),
            {.bucket_bytes = bucket_bytes, .unused = unused, .stream = own.gpu.compute.get()}};
        for (int step = 0; step < 3; ++step) {
          model.prepare(own.world.rank(), step);
          Hold hold{own.gpu};
          model.enqueue_gradient(0, model.place(0));
          sync.ready(0);
          model.enqueue_gradient(1, model.place(1));
          if (own.world.rank() == 0) sync.ready(1);
          model.enqueue_gradient(2, model.place(2));
          sync.wait();
          model.enqueue_results(sync);
          hold.release();
          const std::vector<float> results = model.results();
          for (std::size_t e = 0; e < kLayers[0]; ++e)
            ASSERT_NEAR(results[e], rough_mean(0, e, 2, step), 1e-5);
          for (std::size_t e = 0; e < kLayers[1]; ++e)
            ASSERT_EQ(results[model.offset(1) + e], rough_value(1, e, 0, step) / 2);
          const bool is_kept = unused == UnusedGradients::detect;
          for (std::size_t e = 0; e < kLayers[2]; ++e)
            ASSERT_EQ(results[model.offset(2) + e],
                      is_kept ? rough_value(2, e, own.world.rank(), step) : 0.0F);
        }
      }
  });
}

/// Rank 1 has enqueued what rank 0 never will.
TEST(GpuGradientSteps, FailWhereARankEndsInTheMidst) {
  if (const std::string why = harness::lack_of(2); !why.empty()) GTEST_SKIP() << why;
  const std::vector<Outcome> outcomes = outcomes_on_gpus(2, "nccl", [](GpuRank own) {
    GpuModel model{own.gpu, kLayers};
    GradientSync sync{
        own.world, model.parameters(), {.bucket_bytes = 0, .stream = own.gpu.compute.get()}};
    expect_a_good_step(own, model, sync, 0);
    if (own.world.rank() == 0) return sync.ready(2);
    model.go_backward(sync);
    sync.wait();
  });
  EXPECT_FALSE(outcomes[0].error) << outcomes[0].text();
  ASSERT_TRUE(outcomes[1].error);
  EXPECT_NE(outcomes[1].error->code(), ErrorCode::timeout) << outcomes[1].text();
  for (const Outcome& outcome : outcomes) EXPECT_LT(outcome.elapsed, kLongBefore);
}

TEST(GpuGradientSteps, AreNotWaitedForForEver) {
  on_two_gpus([](GpuRank own) {
    GpuModel model{own.gpu, kLayers};
    GradientSync sync{own.world, model.parameters(), {.stream = own.gpu.compute.get()}};
    expect_a_good_step(own, model, sync, 0);
    expect_in("timeout", refusal_of([&] { sync.synchronize(std::chrono::seconds{-1}); }));
    expect_a_good_step(own, model, sync, 1);
    const Hold hold{own.gpu};
    model.go_backward(sync);
    sync.wait();
    EXPECT_THROW(
        {
          try {
            sync.synchronize(std::chrono::milliseconds{50});
          } catch (const Error& error) {
            // The other rank may be the first whose time is over.
            EXPECT_NE(error.code(), ErrorCode::invalid_argument) << error.what();
            throw;
          }
        },
        Error);
    EXPECT_THROW(sync.wait(), Error);
  });
}

/// The program's stream is held up until long after.
TEST(GpuGradientSteps, EndBeforeTheirBucketsDo) {
  on_two_gpus([](GpuRank own) {
    GpuModel model{own.gpu, kLayers};
    model.prepare(own.world.rank(), 0);
    Hold hold{own.gpu};
    std::thread releases;
    {
      GradientSync sync{own.world, model.parameters(), {.stream = own.gpu.compute.get()}};
      model.go_backward(sync);
      sync.wait();
      model.enqueue_results(sync);
      releases = std::thread{[&] {
        std::this_thread::sleep_for(std::chrono::milliseconds{200});
        EXPECT_FALSE(own.gpu.is_idle());
        hold.release();
      }};
    }
    releases.join();
    EXPECT_EQ(model.problem(model.results(), own.world.size(), 0), "");
  });
}

}  // namespace
}  // namespace tutti::test

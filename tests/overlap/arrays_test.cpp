// Lists of arrays: that they overlap, or are too large, is one error on all ranks; and tied ones.
#include <unistd.h>

#include <filesystem>
#include <limits>

#include <tutti/training.hpp>

#include "gradients.hpp"

namespace tutti::test {
namespace {

const Setting kListRanks{3, "auto", 1};

std::filesystem::path checkpoint() {
  return std::filesystem::temp_directory_path() / ("tutti_arrays_" + std::to_string(::getpid()));
}

/// A call with a list of arrays.
struct ListCall {
  const char* name;
  std::function<void(Communicator&, GradientSync&, const std::vector<Parameter>&)> call;
  Rank at_fault = 1;  // whose list is wrong
};

const ListCall kListCalls[]{
    {"GradientSync",
     [](Communicator& world, GradientSync&, const auto& arrays) {
       const GradientSync other{world, arrays};
     }},
    {"state",
     [](Communicator& world, GradientSync&, const auto& arrays) {
       Model model{{5}};
       const GradientSync other{world, model.parameters(), {.state = arrays}};
     }},
    {"broadcast_state",
     [](Communicator&, GradientSync& sync, const auto& arrays) { sync.broadcast_state(arrays); }},
    {"average_buffers",
     [](Communicator&, GradientSync& sync, const auto& arrays) { sync.average_buffers(arrays); }},
    {"verify_state",
     [](Communicator&, GradientSync& sync, const auto& arrays) { sync.verify_state(arrays); }},
    {"PeriodicSync",
     [](Communicator& world, GradientSync&, const auto& arrays) {
       const PeriodicSync other{world, arrays};
     }},
    {"save_checkpoint",
     [](Communicator& world, GradientSync&, const auto& arrays) {
       save_checkpoint(world, checkpoint(), arrays);
     },
     0},
    {"load_checkpoint",
     [](Communicator& world, GradientSync&, const auto& arrays) {
       static_cast<void>(load_checkpoint(world, checkpoint(), arrays));
     }},
};

/// One rank, or all, have a list that is wrong. Expects an error with words on all ranks.
void expect_list_refused(std::initializer_list<std::string> words,
                         const std::function<void(std::vector<Parameter>&)>& change) {
  for (const ListCall& one : kListCalls)
    for (const bool is_everywhere : {false, true})
      train(kListRanks, [&](Communicator& world) {
        Model model{{100, 100, 100}};
        Model other{{10}};
        GradientSync sync{world, other.parameters()};
        std::vector<Parameter> arrays = model.parameters();
        save_checkpoint(world, checkpoint(), arrays);
        if (is_everywhere || world.rank() == one.at_fault) change(arrays);
        try {
          one.call(world, sync, arrays);
          ADD_FAILURE() << one.name << " takes it";
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << one.name << error.what();
          for (const std::string& word : words)
            EXPECT_NE(std::string{error.what()}.find(word), std::string::npos)
                << one.name << ": " << error.what();
        }
        EXPECT_NO_THROW(world.barrier());
        other.go_backward(sync, world.rank(), 1);
        EXPECT_NO_THROW(sync.wait()) << one.name;
      });
  std::filesystem::remove(checkpoint());
}

TEST(Arrays, MayNotOverlap) {
  expect_list_refused({"parameter 0 'layer0'", "parameter 2 'layer2'", "are one array"},
                      [](auto& arrays) { arrays[2].data = arrays[0].data; });
  expect_list_refused(
      {"parameter 0 'layer0'", "parameter 2 'layer2'", "overlap in memory"},
      [](auto& arrays) { arrays[2].data = static_cast<float*>(arrays[0].data) + 99; });
}

TEST(Arrays, MayNotBeTiedToNone) {
  expect_list_refused({"'layer2'", "tied"}, [](auto& arrays) { arrays[2].tied = true; });
}

TEST(Arrays, HaveSizesThatCanBeAddressed) {
  for (const std::size_t count :
       {(std::size_t{1} << 62) + 100, std::size_t{1} << 61, ~std::size_t{0}})
    expect_list_refused({std::to_string(count)}, [&](auto& arrays) { arrays[1].count = count; });
}

/// Each can be addressed, but not all. With views no array shows its content.
TEST(Arrays, HaveSizesThatCanBeAddressedTogether) {
  train(kListRanks, [](Communicator& world) {
    std::vector<Parameter> parameters(3);
    for (Parameter& parameter : parameters) parameter.count = std::size_t{1} << 60;
    const GradientOptions options{.bucket_bytes = GradientOptions::kFlat,
                                  .storage = GradientStorage::views};
    EXPECT_THROW((GradientSync{world, parameters, options}), Error);
  });
}

TEST(Arrays, AreOfATypeThatIsKnown) {
  for (const auto type : {Datatype::opaque, static_cast<Datatype>(99)})
    expect_list_refused({"parameter 1 'layer1'"}, [&](auto& arrays) { arrays[1].type = type; });
}

TEST(Arrays, AreNotStoredOverEachOther) {
  train(kListRanks, [](Communicator& world) {
    Model model{{10, 10}};
    Model weights{{10, 10}};
    const auto text = [&](void* first, void* second) {
      std::vector<Parameter> parameters = model.parameters();
      parameters[0].result = first;
      parameters[1].result = second;
      try {
        const GradientSync sync{
            world, parameters, {.on_shard = [](std::span<const ParameterShard>) {}}};
      } catch (const Error& error) {
        return std::string{error.what()};
      }
      return std::string{};
    };
    float* const one = weights.gradients[0].data();
    EXPECT_EQ(text(one, weights.gradients[1].data()), "");
    EXPECT_EQ(text(one, nullptr), "");
    EXPECT_NE(text(one, one).find("the result of parameter 0"), std::string::npos);
    EXPECT_NE(text(one, model.gradients[0].data()).find("the result of parameter 1"),
              std::string::npos);
  });
}

TEST(GradientOptionsEnumerations, AreChecked) {
  const auto expect_bad_option = [](const GradientOptions& options) {
    train(kListRanks, [&](Communicator& world) {
      Model model{{10}};
      const auto make = [&] { const GradientSync sync{world, model.parameters(), options}; };
      EXPECT_THROW(make(), Error);
      EXPECT_NO_THROW(world.barrier());
    });
  };
  expect_bad_option({.order = static_cast<GradientOrder>(17)});
  expect_bad_option({.storage = static_cast<GradientStorage>(3)});
  expect_bad_option({.unused = static_cast<UnusedGradients>(200)});
  expect_bad_option({.timeout = Duration{-1}});
  const auto path = checkpoint();
  EXPECT_THROW(save_gradient_options(path.string(), {.order = static_cast<GradientOrder>(17)}),
               Error);
  EXPECT_THROW((DistributedSampler{10, 1, 0, {.padding = static_cast<SamplePadding>(9)}}), Error);
}

/// The last layer shares its weights with the first.
TEST(TiedParameters, AreReducedOnce) {
  for (const GradientOrder order :
       {GradientOrder::reversed, GradientOrder::observed, GradientOrder::negotiated})
    for (const std::size_t bucket_bytes : {std::size_t{0}, std::size_t{1} << 20})
      train(kListRanks, [&](Communicator& world) {
        Model model{{50, 20, 30}};
        std::vector<Parameter> parameters = model.parameters();
        parameters.push_back(parameters[0]);
        parameters.back().name = "head";
        parameters.back().tied = true;
        GradientSync sync{world, parameters, {.bucket_bytes = bucket_bytes, .order = order}};
        for (int step = 0; step < 4; ++step) {
          sync.ready(3);  // its part of the gradient is done, and that of layer 0 is added below
          std::this_thread::sleep_for(std::chrono::milliseconds{2});
          model.go_backward(sync, world.rank(), step);
          sync.wait();
          EXPECT_TRUE(model.is_mean(3, step)) << step;
          std::size_t listed = 0;
          for (const auto& bucket : sync.buckets()) {
            listed += bucket.size();
            EXPECT_EQ(std::ranges::count(bucket, std::size_t{3}), 0);
          }
          EXPECT_EQ(listed, 3U);
          EXPECT_EQ(sync.order().size(), 4U);
        }
        model.go_backward(sync, world.rank(), 0);
        EXPECT_THROW(sync.wait(), Error) << "one of the names is missing";
      });
}

TEST(TiedParameters, AreUsedWhereOneOfTheirNamesIs) {
  for (const UnusedGradients unused : {UnusedGradients::zeros, UnusedGradients::detect})
    train(kListRanks, [&](Communicator& world) {
      Model model{{50, 20}};
      std::vector<Parameter> parameters = model.parameters();
      parameters.push_back(parameters[0]);
      parameters.back().tied = true;
      GradientSync sync{world, parameters, {.unused = unused}};
      for (int step = 0; step < 3; ++step) {
        for (auto& gradient : model.gradients) std::ranges::fill(gradient, 3.0F);
        sync.ready(1);
        if (world.rank() == step) sync.ready(step % 2 == 0 ? 2 : 0);
        sync.wait();
        EXPECT_EQ(model.gradients[0][49], 1) << step;
        EXPECT_EQ(model.gradients[1][19], 3) << step;
      }
    });
}

TEST(TiedParameters, AreTakenOnceByAllCalls) {
  train(kListRanks, [](Communicator& world) {
    Model model{{5}};
    std::vector<float> weights(100);
    std::vector arrays{Parameter::of("embedding", weights), Parameter::of("head", weights)};
    arrays[1].tied = true;
    GradientSync sync{world, model.parameters(), {.resync_every = 1, .state = arrays}};
    const auto fill = [&] { std::ranges::fill(weights, static_cast<float>(world.rank() + 1)); };
    const auto expect_all = [&](float value) {
      EXPECT_EQ(weights, std::vector<float>(100, value));
    };
    fill();
    sync.average_buffers(arrays);
    expect_all(2);
    fill();
    sync.broadcast_state(arrays, 2);
    expect_all(3);
    sync.verify_state(arrays);
    fill();
    model.go_backward(sync, world.rank(), 0);
    sync.wait();
    expect_all(1);
    PeriodicSync periodic{world, arrays};
    fill();
    periodic.step();
    expect_all(2);
    save_checkpoint(world, checkpoint(), arrays);
    fill();
    static_cast<void>(load_checkpoint(world, checkpoint(), arrays));
    expect_all(2);
    arrays[1].tied = false;
    std::vector<float> head(100);
    arrays[1].data = head.data();
    EXPECT_THROW(static_cast<void>(load_checkpoint(world, checkpoint(), arrays)), Error);
    world.barrier();
    if (world.rank() == 0) std::filesystem::remove(checkpoint());
  });
}

}  // namespace
}  // namespace tutti::test

// Checkpoints with shards of an optimizer's state.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include <tutti/training.hpp>

#include "checkpoints.hpp"
#include "tests/overlap/gradients.hpp"

namespace tutti::test {
namespace {

/// Weights, gradients, and a momentum of which each rank has its parts only.
struct ShardedModel {
  Model model;
  Model weights;
  std::vector<double> momentum{};  // of the parts, one behind the other
  std::vector<float> squares{};
  std::vector<Parameter> parameters{};
  std::unique_ptr<GradientSync> sync{};

  ShardedModel(Communicator& world, const std::vector<std::size_t>& sizes, std::size_t bucket_bytes)
      : model{sizes}, weights{sizes}, parameters{model.parameters()} {
    for (std::size_t i = 0; i < sizes.size(); ++i)
      parameters[i].result = weights.gradients[i].data();
    sync = std::make_unique<GradientSync>(
        world, parameters,
        GradientOptions{.bucket_bytes = bucket_bytes,
                        .first_bucket_bytes = bucket_bytes,
                        .on_shard = [this](auto parts) { update(parts); }});
    std::size_t owned = 0;
    for (const auto& bucket : sync->shards())
      for (const ParameterShard& part : bucket) {
        EXPECT_EQ(part.offset, owned) << "parts lie one behind the other";
        owned += part.count;
      }
    momentum.resize(owned);
    squares.resize(owned);
  }
  void update(std::span<const ParameterShard> parts) {
    for (const ParameterShard& part : parts)
      for (std::size_t e = 0; e < part.count; ++e) {
        float& value = static_cast<float*>(part.data)[e];
        double& moment = momentum[part.offset + e];
        moment = moment / 2 + static_cast<double>(value);
        squares[part.offset + e] += value * value;
        value = weights.gradients[part.parameter][part.first + e] - static_cast<float>(moment) / 8;
      }
  }
  void train(Communicator& world, int first, int last) {
    for (int step = first; step < last; ++step) {
      model.go_backward(*sync, world.rank(), step);
      sync->wait();
    }
  }
  [[nodiscard]] std::vector<Parameter> arrays() {
    std::vector<Parameter> all = weights.parameters();
    for (Parameter& array : all) array.name = "weight of " + array.name;
    return all;
  }
  [[nodiscard]] std::vector<Parameter> shards() {
    return {Parameter::of("momentum", momentum), Parameter::of("squares", squares)};
  }
  void save(Communicator& world, const std::filesystem::path& path) {
    const std::array extra{std::byte{7}, static_cast<std::byte>(world.rank())};
    save_checkpoint(world, path, arrays(), *sync, shards(), extra);
  }
  void load(Communicator& world, const std::filesystem::path& path) {
    const auto extra = load_checkpoint(world, path, arrays(), *sync, shards());
    EXPECT_EQ(extra, (std::vector<std::byte>{std::byte{7}, std::byte{0}})) << "rank 0's";
  }
};

const std::vector<std::size_t> kShardedSizes{1000, 3, 0, 517, 2000, 1};

/// @return the momentum of all ranks together, as of one process: equal for any number of ranks and
/// any plan.
std::vector<std::vector<double>> whole_momentum(Communicator& world, ShardedModel& own) {
  std::vector<std::vector<double>> whole;
  std::vector<Parameter> arrays;
  for (const std::size_t size : kShardedSizes) whole.emplace_back(size, -1.0);
  for (auto& array : whole) arrays.push_back(Parameter::of("whole", array));
  gather_shards(world, *own.sync, Parameter::of("momentum", own.momentum), arrays);
  return whole;
}

TEST(ShardedCheckpoints, AreLoadedAtAnyNumberOfRanks) {
  for (const int from : {1, 2, 3, 4}) {
    const TemporaryFolder folder;
    std::vector<std::vector<double>> saved;
    std::vector<std::vector<float>> weights;
    std::vector<std::vector<float>> trained;
    train(ranks_of(from), [&](Communicator& world) {
      ShardedModel own{world, kShardedSizes, 4000};
      own.train(world, 0, 3);
      own.save(world, folder / "model");
      const auto whole = whole_momentum(world, own);
      if (world.rank() == 0) {
        saved = whole;
        weights = own.weights.gradients;
      }
      own.train(world, 3, 6);
      if (world.rank() == 0) trained = own.weights.gradients;
    });
    EXPECT_NE(saved[0][5], 0);
    for (const int to : {1, 2, 3, 4})
      for (const std::size_t bucket_bytes : {std::size_t{4000}, GradientOptions::kFlat})
        train(ranks_of(to), [&](Communicator& world) {
          ShardedModel own{world, kShardedSizes, bucket_bytes};
          own.load(world, folder / "model");
          EXPECT_EQ(own.weights.gradients, weights);
          EXPECT_EQ(whole_momentum(world, own), saved) << from << " to " << to;
          EXPECT_EQ(own.sync->last_step().step, 3U);
          if (to != from || bucket_bytes != 4000) return;
          own.train(world, 3, 6);
          EXPECT_EQ(own.weights.gradients, trained) << "the run that was not interrupted";
          EXPECT_EQ(own.sync->last_step().step, 6U);
        });
  }
}

/// More than a chunk of a file, with parts that end anywhere.
TEST(ShardedCheckpoints, HoldLargeArrays) {
  const TemporaryFolder folder;
  const std::vector<std::size_t> sizes{3'000'001, 5};
  for (const int ranks : {3, 2})
    train(ranks_of(ranks), [&](Communicator& world) {
      ShardedModel own{world, sizes, 0};
      if (ranks == 2) own.load(world, folder / "model");
      for (const auto& bucket : own.sync->shards())
        for (const ParameterShard& part : bucket)
          for (std::size_t e = 0; e < part.count; ++e) {
            const auto number = static_cast<double>(part.parameter * 7 + part.first + e);
            if (ranks == 3) own.momentum[part.offset + e] = number;
            else ASSERT_EQ(own.momentum[part.offset + e], number);
          }
      if (ranks == 3) own.save(world, folder / "model");
    });
}

TEST(ShardedCheckpoints, AreGatheredAndTaken) {
  for (const int ranks : {1, 2, 3, 4})
    train(ranks_of(ranks), [](Communicator& world) {
      ShardedModel own{world, kShardedSizes, 100};
      own.train(world, 0, 2);
      auto whole = whole_momentum(world, own);
      const std::vector<double> before = own.momentum;
      std::ranges::fill(own.momentum, 0.0);
      std::vector<Parameter> arrays;
      for (auto& array : whole) arrays.push_back(Parameter::of("whole", array));
      extract_shards(*own.sync, arrays, Parameter::of("momentum", own.momentum));
      EXPECT_EQ(own.momentum, before);
      arrays.pop_back();
      EXPECT_THROW(extract_shards(*own.sync, arrays, Parameter::of("m", own.momentum)), Error);
      EXPECT_THROW(gather_shards(world, *own.sync, Parameter::of("m", own.momentum), arrays),
                   Error);
      EXPECT_NO_THROW(world.barrier());
    });
}

/// @return what an Error says.
std::string refusal_of_call(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST(ShardedCheckpoints, AreRefusedWhereTheyDoNotFit) {
  const TemporaryFolder folder;
  train({3, "auto", 1}, [&](Communicator& world) {
    ShardedModel own{world, kShardedSizes, 4000};
    own.train(world, 0, 2);
    const auto expect = [](const std::string& words, const std::function<void()>& call) {
      const std::string text = refusal_of_call(call);
      EXPECT_NE(text.find(words), std::string::npos) << text;
    };
    const auto load = [&](const std::filesystem::path& path, const std::vector<Parameter>& shards) {
      static_cast<void>(load_checkpoint(world, path, own.arrays(), *own.sync, shards));
    };
    std::vector<Parameter> shards = own.shards();
    if (world.rank() == 1) ++shards[1].count;
    expect("shard 'squares' has ",
           [&] { save_checkpoint(world, folder / "model", own.arrays(), *own.sync, shards); });
    save_checkpoint(world, folder / "model", own.arrays());
    expect("was saved without a GradientSync", [&] { load(folder / "model", own.shards()); });
    own.save(world, folder / "model");
    expect("'GradientSync'",
           [&] { static_cast<void>(load_checkpoint(world, folder / "model", own.arrays())); });
    expect("'squares/layer0' of 1000 f32, rank 0 wants no more",
           [&] { load(folder / "model", {Parameter::of("momentum", own.momentum)}); });
    std::vector<float> narrow(own.momentum.size());
    expect("'momentum/layer0' of 1000 f64, rank 0 wants 'momentum/layer0' of 1000 f32", [&] {
      load(folder / "model", {Parameter::of("momentum", narrow), own.shards()[1]});
    });
    ShardedModel other{world, {1000, 3}, 4000};
    expect("it was saved with a GradientSync of 6 parameters; this one has 2",
           [&] { other.load(world, folder / "model"); });
    Communicator reversed = world.split(0, -world.rank());
    expect("pass the communicator that it was made with",
           [&] { save_checkpoint(reversed, folder / "model", own.arrays(), *own.sync); });
    std::vector<Communicator*> groups{&reversed};
    GradientSync grouped{world, own.model.parameters(), {.groups = groups}};
    expect("with GradientOptions::groups",
           [&] { save_checkpoint(world, folder / "model", own.arrays(), grouped); });
    // A file that was changed anywhere touches nothing.
    world.barrier();
    std::ifstream file{folder / "model", std::ios::binary};
    const std::string whole{std::istreambuf_iterator<char>{file}, {}};
    const std::vector<double> before = own.momentum;
    const std::filesystem::path changed = folder / "model.changed";
    for (std::size_t at = 0; at < whole.size(); at += 1501) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ 4);
      world.barrier();
      if (world.rank() == 0) std::ofstream{changed, std::ios::binary} << bytes;
      EXPECT_NE(refusal_of_call([&] { load(changed, own.shards()); }), "");
    }
    EXPECT_EQ(own.momentum, before);
    own.load(world, folder / "model");
    EXPECT_EQ(own.momentum, before);
    own.train(world, 2, 4);
  });
}

}  // namespace
}  // namespace tutti::test

// Compressed gradients: equal on all ranks, within their bounds, in as many bytes as is said.
#include <cmath>
#include <random>

#include "gradients.hpp"
#include "tests/support/counting.hpp"

namespace tutti::test {
namespace {

constexpr std::size_t kRows = 24;
constexpr std::size_t kColumns = 50;
constexpr std::size_t kCount = kRows * kColumns;

/// Gradients of any ranks and steps, the same wherever they are computed.
std::vector<float> gradient_of(Rank rank, int step, std::size_t count = kCount) {
  std::mt19937 numbers{static_cast<unsigned>(rank * 1000 + step)};
  std::normal_distribution<float> normal{0, 1};
  std::vector<float> gradient(count);
  for (float& x : gradient) x = normal(numbers);
  return gradient;
}

std::vector<double> mean_of(int ranks, int step, std::size_t count = kCount) {
  std::vector<double> mean(count);
  for (Rank rank = 0; rank < ranks; ++rank) {
    const std::vector<float> own = gradient_of(rank, step, count);
    for (std::size_t i = 0; i < count; ++i) mean[i] += static_cast<double>(own[i]) / ranks;
  }
  return mean;
}

double largest(const std::vector<float>& values) {
  double most = 0;
  for (const float x : values) most = std::max(most, static_cast<double>(std::fabs(x)));
  return most;
}

void expect_equal_bits(Communicator& world, const std::vector<float>& values) {
  const std::vector<float> first = [&] {
    std::vector<float> copy = values;
    world.broadcast(copy, 0);
    return copy;
  }();
  EXPECT_EQ(std::memcmp(first.data(), values.data(), values.size() * sizeof(float)), 0);
}

GradientOptions compressed(const std::string& compression) {
  return {.order = GradientOrder::reversed, .compression = compression};
}

/// Reduces one gradient in one step. @param type_of_bucket makes arrays of another type.
std::vector<float> reduced(Communicator& world, const std::string& compression, int step) {
  std::vector<float> gradient = gradient_of(world.rank(), step);
  Parameter parameter = Parameter::of("g", gradient);
  parameter.rows = kRows;
  GradientSync sync{world, std::vector{parameter}, compressed(compression)};
  sync.ready(0);
  sync.wait();
  return gradient;
}

class Compressions : public testing::TestWithParam<Setting> {};

/// The bounds that docs/training.md states.
TEST_P(Compressions, ErrByNoMoreThanTheySay) {
  train(GetParam(), [](Communicator& world) {
    const std::vector<double> mean = mean_of(world.size(), 7);
    double most = 0;
    for (Rank rank = 0; rank < world.size(); ++rank)
      most = std::max(most, largest(gradient_of(rank, 7)));
    const std::vector<std::pair<std::string, double>> bounds{{"f16", 2 * most / 2048},
                                                             {"bf16", 2 * most / 256 * 1.01},
                                                             {"int8", 2 * most / 254 * 1.01},
                                                             {"int8:7", 2 * most / 254 * 1.01},
                                                             {"top_k:1", 1e-6}};
    for (const auto& [compression, bound] : bounds) {
      const std::vector<float> result = reduced(world, compression, 7);
      for (std::size_t i = 0; i < kCount; ++i)
        ASSERT_NEAR(static_cast<double>(result[i]), mean[i], bound) << compression << " " << i;
      expect_equal_bits(world, result);
    }
  });
}

/// A later step adds the part that one step left out: many steps lose nothing.
TEST_P(Compressions, AddWhatTheyLeftOutToTheNextStep) {
  train(GetParam(), [](Communicator& world) {
    constexpr int kSteps = 100;
    for (const std::string compression :
         {"one_bit", "one_bit:64", "top_k:0.05", "power_sgd:4", "power_sgd:100"}) {
      std::vector<float> gradient(kCount);
      Parameter parameter = Parameter::of("g", gradient);
      parameter.rows = kRows;
      GradientSync sync{world, std::vector{parameter}, compressed(compression)};
      std::vector<double> sum(kCount);
      for (int step = 0; step < kSteps; ++step) {
        std::ranges::copy(gradient_of(world.rank(), 3), gradient.begin());  // always the same
        sync.ready(0);
        sync.wait();
        for (std::size_t i = 0; i < kCount; ++i) sum[i] += static_cast<double>(gradient[i]);
      }
      expect_equal_bits(world, gradient);
      const std::vector<double> mean = mean_of(world.size(), 3);
      double error = 0;
      double size = 0;
      for (std::size_t i = 0; i < kCount; ++i) {
        error += std::pow(sum[i] / kSteps - mean[i], 2);
        size += mean[i] * mean[i];
      }
      EXPECT_LT(std::sqrt(error / size), 0.3) << compression;
    }
  });
}

TEST_P(Compressions, FindProductsOfLowRank) {
  train(GetParam(), [](Communicator& world) {
    std::vector<float> gradient(kCount);
    std::vector<float> vector(30);
    Parameter matrix = Parameter::of("matrix", gradient);
    matrix.rows = kRows;
    GradientSync sync{world, std::vector{matrix, Parameter::of("vector", vector)},
                      compressed("power_sgd:2")};
    for (int step = 0; step < 3; ++step) {
      for (std::size_t i = 0; i < kCount; ++i) {
        const auto row = static_cast<float>(i / kColumns);
        const auto column = static_cast<float>(i % kColumns);
        gradient[i] = row * (column - 20) + static_cast<float>(world.rank()) * (row - 3);
      }
      std::ranges::fill(vector, static_cast<float>(world.rank() + step));
      sync.ready(1);
      sync.ready(0);
      sync.wait();
      const float mean_rank = static_cast<float>(world.size() - 1) / 2;
      for (std::size_t i = 0; i < kCount; ++i) {
        const auto row = static_cast<float>(i / kColumns);
        const auto column = static_cast<float>(i % kColumns);
        ASSERT_NEAR(gradient[i], row * (column - 20) + mean_rank * (row - 3), 2e-2) << i;
      }
      for (const float x : vector) ASSERT_NEAR(x, mean_rank + static_cast<float>(step), 1e-5);
    }
  });
}

/// Factors of zeros are zeros, and those of a matrix of rank 1 are dependent.
TEST_P(Compressions, RecoverFromGradientsThatWereZero) {
  train(GetParam(), [](Communicator& world) {
    std::vector<float> gradient(kCount);
    Parameter parameter = Parameter::of("g", gradient);
    parameter.rows = kRows;
    GradientSync sync{world, std::vector{parameter}, compressed("power_sgd:2")};
    for (int step = 0; step < 12; ++step) {
      for (std::size_t i = 0; i < kCount; ++i) {
        const auto row = static_cast<float>(i / kColumns) - 11;
        const auto column = static_cast<float>(i % kColumns) - 25;
        gradient[i] = step == 0 ? 0 : step == 1 ? 1 : row * column + (row * row - 40) * 3;
      }
      sync.ready(0);
      sync.wait();
    }
    for (std::size_t i = 0; i < kCount; ++i) {
      const auto row = static_cast<float>(i / kColumns) - 11;
      const auto column = static_cast<float>(i % kColumns) - 25;
      ASSERT_NEAR(gradient[i], row * column + (row * row - 40) * 3, 2) << i;
    }
  });
}

TEST_P(Compressions, SendSumsOfAnyTypeWhereTheyAreWanted) {
  train(GetParam(), [](Communicator& world) {
    for (const std::string compression : {"f16", "int8", "one_bit", "power_sgd", "top_k:1"}) {
      std::vector<double> wide(100, 1);
      std::vector<BFloat16> narrow(100, BFloat16{2});
      GradientOptions options = compressed(compression);
      options.average = false;
      GradientSync sync{world,
                        std::vector{Parameter::of("wide", wide), Parameter::of("narrow", narrow)},
                        options};
      sync.ready(1);
      sync.ready(0);
      sync.wait();
      for (const double x : wide) ASSERT_NEAR(x, world.size(), 0.05 * world.size()) << compression;
      for (const BFloat16 x : narrow)
        ASSERT_NEAR(static_cast<float>(x), 2 * world.size(), 0.05 * world.size()) << compression;
    }
  });
}

TEST_P(Compressions, TellOfWhatIsNoNumberAndGoOn) {
  train(GetParam(), [](Communicator& world) {
    for (const std::string compression :
         {"f16", "bf16", "int8", "one_bit", "power_sgd:2", "top_k:0.1"})
      for (const float poison :
           {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        std::vector<float> gradient(kCount);
        Parameter parameter = Parameter::of("g", gradient);
        parameter.rows = kRows;
        GradientOptions options = compressed(compression);
        options.check_finite = true;
        GradientSync sync{world, std::vector{parameter}, options};
        for (int step = 0; step < 4; ++step) {
          std::ranges::copy(gradient_of(world.rank(), step), gradient.begin());
          if (step == 1 && world.rank() == world.size() - 1) gradient[17] = poison;
          sync.ready(0);
          if (step == 1) {
            EXPECT_THROW(sync.wait(), Error) << compression;
          } else {
            EXPECT_NO_THROW(sync.wait()) << compression << " " << step;
          }
        }
        for (const float x : gradient) ASSERT_TRUE(std::isfinite(x)) << compression;
      }
  });
}

TEST_P(Compressions, BeginAfterSomeSteps) {
  train(GetParam(), [](Communicator& world) {
    std::vector<float> gradient(kCount);
    GradientOptions options = compressed("top_k:0.1");
    options.compression_after = 0;
    options.order = GradientOrder::observed;  // which takes a step more
    GradientSync sync{world, std::vector{Parameter::of("g", gradient)}, options};
    for (int step = 1; step <= 4; ++step) {
      std::ranges::copy(gradient_of(world.rank(), step), gradient.begin());
      sync.ready(0);
      sync.wait();
      const auto zeros = std::ranges::count(gradient, 0.0F);
      const auto kept = static_cast<std::ptrdiff_t>(kCount) * world.size() / 10;
      EXPECT_GE(zeros, step <= 1 ? 0 : static_cast<std::ptrdiff_t>(kCount) - kept) << step;
      EXPECT_LE(zeros, step <= 1 ? 1 : static_cast<std::ptrdiff_t>(kCount)) << step;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Worlds, Compressions,
                         ::testing::Values(Setting{1, "auto", 1}, Setting{2, "auto", 1},
                                           Setting{3, "auto", 1}, Setting{4, "auto", 2}),
                         testing::PrintToStringParamName());

/// A group all of whose transports count.
class CountingGroup final : public Group {
 public:
  CountingGroup(std::shared_ptr<Group> inner, std::atomic<std::uint64_t>& bytes)
      : inner_{std::move(inner)}, bytes_{bytes} {}
  static CommunicatorParts wrap(CommunicatorParts communicator_parts,
                                std::atomic<std::uint64_t>& bytes) {
    communicator_parts.transport =
        std::make_unique<harness::Counting>(std::move(communicator_parts.transport), bytes);
    communicator_parts.group =
        std::make_shared<CountingGroup>(std::move(communicator_parts.group), bytes);
    return communicator_parts;
  }
  CommunicatorParts subgroup(std::span<const Rank> members, std::uint64_t key) override {
    return wrap(inner_->subgroup(members, key), bytes_);
  }
  std::shared_ptr<Memory> visible_memory() noexcept override { return inner_->visible_memory(); }
  [[nodiscard]] std::string describe() const override { return inner_->describe(); }

 private:
  std::shared_ptr<Group> inner_;
  std::atomic<std::uint64_t>& bytes_;
};

/// @return bytes that all ranks send in a step, beyond those of a step without gradients.
std::uint64_t bytes_of_step(int ranks, std::size_t count, const std::string& compression,
                            StepReport* report) {
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> gradients{0};
  const auto channels = local_channels(ranks, true);
  for (const Outcome& outcome : run_ranks(ranks, [&](Rank rank) {
         runtime::WorldOptions options{.transports = runtime::transports_of("tcp")};
         options.mesh.interface = "127.0.0.1";
         Channel& channel = *channels[static_cast<std::size_t>(rank)];
         auto connected = runtime::World::connect(channel, options, in(kAmple));
         Communicator world = make_communicator(
             CountingGroup::wrap(connected->communicator_parts(), bytes), make_host_memory(), {});
         std::vector<float> gradient(count, 1);
         Parameter parameter = Parameter::of("g", gradient);
         parameter.rows = 100;
         GradientSync sync{world, std::vector{parameter}, compressed(compression)};
         std::uint64_t before = 0;
         for (const bool has_gradients : {true, false}) {
           world.barrier();
           if (rank == 0) before = bytes;
           world.barrier();
           if (has_gradients) {
             sync.ready(0);
             const StepReport& own = sync.wait();
             if (rank == 0) *report = own;
           } else {
             std::vector<double> ending(static_cast<std::size_t>(6 + world.size()));
             world.all_reduce(ending);  // what ends a step
           }
           world.barrier();
           if (rank == 0) gradients = has_gradients ? bytes - before : gradients - (bytes - before);
           world.barrier();
         }
       }))
    EXPECT_FALSE(outcome.error) << outcome.text();
  return gradients;
}

TEST(CompressedBytes, AreAsManyAsTheReportSays) {
  constexpr std::size_t kElements = 200'000;  // 100 x 2000
  for (const int ranks : {2, 3, 4})
    for (const auto& [compression, ratio] : std::vector<std::pair<std::string, double>>{
             {"", 1},
             {"f16", 2},
             {"bf16", 2},
             {"int8", 1024.0 / 260},
             {"one_bit", 4096.0 / 132},
             {"power_sgd:2", 200'000.0 / 4200},
             {"top_k:0.01", 200'000.0 * 4 * 2 / ranks / (2000 * 8)}}) {
      StepReport report;
      const std::uint64_t bytes = bytes_of_step(ranks, kElements, compression, &report);
      const auto total = static_cast<double>(report.sent_bytes) * ranks;
      // Short vectors take algorithms that save messages, not bytes.
      const double most = total < 400'000 ? 2 * total : 1.02 * total;
      EXPECT_GE(static_cast<double>(bytes), 0.98 * total) << compression << " " << ranks;
      EXPECT_LE(static_cast<double>(bytes), most) << compression << " " << ranks;
      EXPECT_EQ(report.plain_bytes, 2 * kElements * 4 * static_cast<unsigned>(ranks - 1) /
                                        static_cast<unsigned>(ranks));
      const double is =
          static_cast<double>(report.plain_bytes) / static_cast<double>(report.sent_bytes);
      EXPECT_NEAR(is, ratio, 0.02 * ratio) << compression << " " << ranks;
    }
}

TEST(CompressedGradients, NeedACompressionThatThereIs) {
  train({2, "auto", 1}, [](Communicator& world) {
    std::vector<float> gradient(10);
    for (const std::string compression :
         {"int9", "int8:", "int8:0", "int8:x", "f16:2", "top_k:0", "top_k:1.5", "one_bit:-1"}) {
      try {
        GradientSync sync{world, std::vector{Parameter::of("g", gradient)},
                          compressed(compression)};
        ADD_FAILURE() << compression;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
        EXPECT_NE(std::string{error.what()}.find("'" + compression + "' is none of f16"),
                  std::string::npos)
            << error.what();
      }
    }
    Parameter odd = Parameter::of("odd", gradient);
    odd.rows = 3;
    EXPECT_THROW((GradientSync{world, std::vector{odd}, compressed("power_sgd")}), Error);
  });
}

}  // namespace
}  // namespace tutti::test

// Metrics are exact on all ranks, and what is done once on a host is done once.
#include <atomic>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <tutti/training.hpp>

#include "tests/overlap/gradients.hpp"

namespace tutti::test {
namespace {

class Evaluation : public testing::TestWithParam<Setting> {};

/// @return the text of a call's error on each rank, or nothing.
template <class Function>
std::string thrown(ErrorCode code, Function function) {
  try {
    function();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return {};
}

TEST_P(Evaluation, IsExactWhereSamplesCannotBeDivided) {
  constexpr std::size_t kClasses = 5;
  for (const std::size_t samples : {0U, 1U, 10U, 1003U})
    train(GetParam(), [&](Communicator& world) {
      const auto actual = [](std::size_t i) { return i * 7 % kClasses; };
      const auto predicted = [](std::size_t i) {
        return (i * 7 + (i % 3 == 0 ? 1 : 0)) % kClasses;
      };
      const DistributedSampler sampler{
          samples, world.size(), world.rank(), {.padding = SamplePadding::none}};
      MetricReducer metrics;
      metrics.add_confusion("classes", kClasses, {}, {});
      metrics.add_count("seen", 0);
      metrics.add_mean("loss", 0, 0);
      metrics.add_sum("sum", 0);
      metrics.add_max("most", -1);
      metrics.add_min("least", 1e9);
      for (const std::size_t i : sampler.indices()) {
        metrics.add_confusion("classes", kClasses, std::vector{actual(i)},
                              std::vector{predicted(i)});
        metrics.add_count("seen");
        metrics.add_mean("loss", static_cast<double>(i), 1);
        metrics.add_sum("sum", static_cast<double>(i));
        metrics.add_max("most", static_cast<double>(i));
        metrics.add_min("least", static_cast<double>(i));
      }
      const Metrics all = metrics.reduce(world);
      const ConfusionMatrix& matrix = all.at("classes").matrix;
      const auto count = static_cast<std::int64_t>(samples);
      EXPECT_EQ(all.at("seen").count, count);
      EXPECT_EQ(matrix.total(), count);
      EXPECT_EQ(matrix.correct(), count - (count + 2) / 3);
      std::vector<std::int64_t> expected(kClasses * kClasses);
      for (std::size_t i = 0; i < samples; ++i) ++expected[actual(i) * kClasses + predicted(i)];
      EXPECT_EQ(matrix.counts, expected);
      const double sum_of_all = static_cast<double>(count * (count - 1) / 2);
      EXPECT_EQ(all.at("sum").value(), sum_of_all);
      EXPECT_EQ(all.at("most").value(), static_cast<double>(count - 1));
      EXPECT_EQ(all.at("least").value(), samples == 0 ? 1e9 : 0);
      EXPECT_EQ(all.at("loss").count, count);
      if (samples == 0) {
        EXPECT_TRUE(std::isnan(all.at("loss").value()));
      }
      if (samples > 0) {
        EXPECT_EQ(all.at("loss").value(), sum_of_all / static_cast<double>(count));
      }
    });
}

TEST_P(Evaluation, KeepsLargeIntegersAndNotNumbers) {
  train(GetParam(), [](Communicator& world) {
    constexpr std::int64_t kLarge = (std::int64_t{1} << 53) + 1;  // no double
    MetricReducer metrics;
    metrics.add_count("large", kLarge);
    metrics.add_max("nan", world.rank() == world.size() - 1 ? std::nan("") : 5);
    const Metrics all = metrics.reduce(world);
    EXPECT_EQ(all.at("large").count, kLarge * world.size());
    EXPECT_TRUE(std::isnan(all.at("nan").value()));
    EXPECT_EQ(metrics.own().at("large").count, kLarge);
    metrics.clear();
    EXPECT_TRUE(metrics.reduce(world).empty());
  });
}

TEST_P(Evaluation, RefusesMetricsThatDiffer) {
  train(GetParam(), [](Communicator& world) {
    const bool is_last = world.rank() == world.size() - 1;
    const auto reduce = [&](const auto& add) {
      MetricReducer metrics;
      metrics.add_count("a");
      add(metrics);
      return thrown(ErrorCode::invalid_argument, [&] { (void)metrics.reduce(world); });
    };
    const std::string last = "rank " + std::to_string(world.size() - 1);
    const std::string names =
        reduce([&](MetricReducer& metrics) { metrics.add_count(is_last ? "b" : "c"); });
    const std::string kinds = reduce([&](MetricReducer& metrics) {
      if (is_last) metrics.add_sum("b", 1);
      if (!is_last) metrics.add_max("b", 1);
    });
    const std::string classes = reduce(
        [&](MetricReducer& metrics) { metrics.add_confusion("b", is_last ? 3 : 4, {}, {}); });
    const std::string missing = reduce([&](MetricReducer& metrics) {
      if (is_last) metrics.add_sum("b", 1);
    });
    const std::string too_large = reduce([&](MetricReducer& metrics) {
      metrics.add_count("b", std::numeric_limits<std::int64_t>::max());
    });
    for (const std::string& text : {names, kinds, classes, missing}) {
      if (world.size() == 1) {
        EXPECT_EQ(text, "");
      }
      if (world.size() > 1) {
        EXPECT_NE(text.find(last + " has"), std::string::npos) << text;
      }
    }
    if (world.size() > 1) {
      EXPECT_NE(too_large.find("64 bits"), std::string::npos) << too_large;
    }
    world.barrier();  // it is usable
  });
}

TEST_P(Evaluation, RefusesWhatMakesNoSense) {
  MetricReducer metrics;
  metrics.add_sum("a", 1);
  EXPECT_THROW(metrics.add_count("a"), Error);
  const std::vector<std::size_t> one{1}, two{0, 3};
  EXPECT_THROW(metrics.add_confusion("m", 4, one, two), Error);
  EXPECT_THROW(metrics.add_confusion("m", 3, two, two), Error);
  metrics.add_confusion("m", 4, two, two);
  EXPECT_THROW(metrics.add_confusion("m", 5, two, two), Error);
  EXPECT_EQ(metrics.own().at("m").matrix.at(3, 3), 1);
  EXPECT_THROW((void)metrics.own().at("m").matrix.at(0, 4), std::out_of_range);
}

TEST_P(Evaluation, CallsOnceOnAHost) {
  std::atomic<int> calls{0};
  train(GetParam(), [&](Communicator& world) {
    once_per_node(world, "data", [&] { ++calls; });
    EXPECT_EQ(calls, 1);  // all ranks are threads of one host, and none leaves before
    world.barrier();
    once_per_node(world, "data", [&] { ++calls; });
    EXPECT_EQ(calls, 2);
  });
}

TEST_P(Evaluation, TellsAllRanksWhatWentWrong) {
  train(GetParam(), [](Communicator& world) {
    const std::string failed = thrown(ErrorCode::aborted, [&] {
      once_per_node(world, "data", [] { throw std::runtime_error{"disk is full"}; });
    });
    EXPECT_NE(failed.find("'data'"), std::string::npos) << failed;
    EXPECT_NE(failed.find("rank 0: disk is full"), std::string::npos) << failed;
    const std::string strange =
        thrown(ErrorCode::aborted, [&] { once_per_node(world, "data", [] { throw 1; }); });
    EXPECT_NE(strange, "");
    if (world.size() == 1) return;
    const std::string differs = thrown(ErrorCode::invalid_argument, [&] {
      once_per_node(world, world.rank() == 1 ? "one" : "other", [] { FAIL(); });
    });
    EXPECT_NE(differs.find("rank 1 has the key 'one'"), std::string::npos) << differs;
    world.barrier();
  });
}

INSTANTIATE_TEST_SUITE_P(Worlds, Evaluation,
                         testing::Values(Setting{1, "auto", 1}, Setting{3, "auto", 1},
                                         Setting{4, "auto", 2}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace tutti::test

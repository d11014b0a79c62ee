// The bucket size that is predicted is the one that a formula names.
#include "perf/gradients/predict.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

namespace tutti::perf {
namespace {

constexpr std::size_t kTensors = 64;
constexpr std::size_t kTensorBytes = std::size_t{256} << 10;

// Equal tensors, of which one is ready in every millisecond, the last one first.
Model even_model() {
  Model model{.name = "even", .compute_s = kTensors * 1e-3};
  for (std::size_t i = 0; i < kTensors; ++i)
    model.tensors.push_back({.name = "t" + std::to_string(i),
                             .count = kTensorBytes / 4,
                             .ready_s = static_cast<double>(kTensors - i) * 1e-3});
  return model;
}

Prediction predicted(double latency_s, double tensor_s) {
  const auto time = [=](double bytes) { return latency_s + bytes / kTensorBytes * tensor_s; };
  return predict_bucket(even_model(), {.label = "any", .is_predicted = true}, time, false);
}

TEST(GradientPrediction, TakesOneBucketWhereNothingIsGainedByMore) {
  const Prediction best = predicted(1e-3, 0);
  EXPECT_EQ(best.setting.options.bucket_bytes, GradientOptions::kFlat);
  EXPECT_EQ(best.buckets, 1U);
  EXPECT_DOUBLE_EQ(best.ideal_s, 65e-3);
}

TEST(GradientPrediction, TakesSmallBucketsWhereTheLastOneIsNotHidden) {
  const Prediction best = predicted(0, 0.9e-3);  // a step ends with the last bucket
  EXPECT_EQ(best.buckets, kTensors);
  EXPECT_DOUBLE_EQ(best.ideal_s, 64.9e-3);
}

// A tensor by itself takes longer than until the next one is ready; b together take
// 0.9 ms + b 0.6 ms, which b - 1 ms hide from b = 4 on. The last bucket shows: 3.3 ms for b = 4.
TEST(GradientPrediction, TakesWhatIsBetweenWhereLatencyCounts) {
  const Prediction best = predicted(0.9e-3, 0.6e-3);
  EXPECT_EQ(best.setting.options.bucket_bytes, 4 * kTensorBytes);
  EXPECT_EQ(best.buckets, kTensors / 4);
  EXPECT_NEAR(best.ideal_s, 64e-3 + 3.3e-3, 1e-9);
}

}  // namespace
}  // namespace tutti::perf

#include "perf/gradients/predict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "overlap/gradient_plan.hpp"
#include "perf/failure.hpp"
#include "perf/gradients/verdict.hpp"

namespace tutti::perf {

namespace {

constexpr std::size_t kSmallestBucket = std::size_t{64} << 10;
constexpr std::size_t kSmallestMeasured = std::size_t{4} << 10;
constexpr std::size_t kLargestMeasured = std::size_t{16} << 20;
constexpr double kAsGood = 1.01;

std::vector<std::size_t> sizes_for(const Model& model) {
  std::vector<std::size_t> sizes{0};
  for (std::size_t bytes = kSmallestBucket; bytes < model.bytes(); bytes *= 2)
    sizes.push_back(bytes);
  sizes.push_back(GradientOptions::kFlat);
  return sizes;
}

// In the order in which GradientSync places buckets.
std::vector<BucketCost> costs_of(const Model& model, const GradientOptions& options,
                                 const BucketTime& time, bool may_lie_in_place) {
  std::vector<Parameter> parameters;
  for (const Tensor& tensor : model.tensors)
    parameters.push_back({.name = tensor.name, .count = tensor.count, .type = tensor.type});
  std::vector<std::size_t> order(parameters.size());
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  if (options.order != GradientOrder::reversed) order = model.arrivals();
  const auto in_place = may_lie_in_place ? detail::InPlace::all : detail::InPlace::none;
  std::vector<BucketCost> costs;
  for (const auto& bucket : detail::make_plan(parameters, options, order, in_place).buckets) {
    BucketCost cost{.alone = time(static_cast<double>(bucket.count * size_of(bucket.type)))};
    for (const std::size_t i : bucket.parameters)
      cost.ready = std::max(cost.ready, model.tensors[i].ready_s);
    costs.push_back(cost);
  }
  return costs;
}

// Interpolates linearly between measurements. Above the largest, the last line continues.
double on_lines(const std::map<double, double>& measured, double at) {
  if (measured.size() < 2) return measured.empty() ? 0 : measured.begin()->second;
  auto above = std::next(measured.begin());
  while (above->first < at && std::next(above) != measured.end()) ++above;
  const auto below = std::prev(above);
  const double share = (at - below->first) / (above->first - below->first);
  return std::max(0.0, std::lerp(below->second, above->second, share));
}

std::map<double, double> measure(AloneTimes& alone, const Model& model,
                                 const GradientSetting& setting) {
  std::map<double, double> measured;
  BucketShape shape{.type = model.tensors.front().type,
                    .is_visible = setting.options.storage != GradientStorage::flat,
                    .algorithm = setting.options.algorithm};
  for (std::size_t bytes = kSmallestMeasured; bytes <= kLargestMeasured; bytes *= 4) {
    shape.count = bytes / size_of(shape.type);
    try {
      measured[static_cast<double>(bytes)] = alone.seconds(shape);
    } catch (const Error& error) {  // all ranks have the same error for an impossible setting
      if (error.cause() != ErrorCode::invalid_argument) throw;
      throw Failure{ExitCode::usage, fmt::format("{}: {}", setting.label, error.what())};
    }
    if (bytes > model.bytes()) break;
  }
  return measured;
}

// Stores the prediction in its setting, or removes the setting if another one is equal.
void adopt(const Prediction& prediction, std::size_t index, GradientsOptions& options) {
  GradientSetting plain = prediction.setting;
  plain.is_predicted = false;
  normalize(plain);
  GradientSetting chosen = plain;
  chosen.is_predicted = true;
  normalize(chosen);
  options.settings[index] = chosen;
  std::erase_if(options.settings, [&, i = std::size_t{0}](const GradientSetting& other) mutable {
    return i++ != index && (other.label == plain.label || other.label == chosen.label);
  });
}

}  // namespace

Prediction predict_bucket(const Model& model, const GradientSetting& setting,
                          const BucketTime& time, bool may_lie_in_place) {
  std::vector<Prediction> all;
  for (const std::size_t bytes : sizes_for(model)) {
    Prediction next{.setting = setting};
    next.setting.options.bucket_bytes = bytes;
    const std::vector<BucketCost> costs =
        costs_of(model, next.setting.options, time, may_lie_in_place);
    next.ideal_s = ideal_step(model.compute_s, costs);
    next.buckets = costs.size();
    all.push_back(std::move(next));
  }
  const double shortest = std::ranges::min_element(all, {}, &Prediction::ideal_s)->ideal_s;
  std::erase_if(all, [&](const Prediction& p) { return p.ideal_s > kAsGood * shortest; });
  return *std::ranges::min_element(all, {}, &Prediction::buckets);
}

std::string predict_buckets(Communicator& world, const Model& model, GradientsOptions& options) {
  AloneTimes alone{world};
  const bool may_lie_in_place = !world.allocate<std::byte>(1).is_visible();
  std::string said;
  for (std::size_t i = 0; i < options.settings.size(); ++i) {
    const GradientSetting setting = options.settings[i];
    if (!setting.is_predicted) continue;
    const std::map<double, double> measured = measure(alone, model, setting);
    const auto time = [&](double bytes) { return bytes == 0 ? 0 : on_lines(measured, bytes); };
    const Prediction best = predict_bucket(model, setting, time, may_lie_in_place);
    adopt(best, i, options);
    said += fmt::format("# predicted for {}: bucket_bytes {}, {} bucket{}, ideal step {} ms\n",
                        name_of(setting.options.storage),
                        bucket_text(best.setting.options.bucket_bytes), best.buckets,
                        best.buckets == 1 ? "" : "s", format_ms(best.ideal_s));
  }
  return said;
}

}  // namespace tutti::perf

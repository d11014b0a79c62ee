// Exact evaluation: adds up the metrics of all ranks.
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include <tutti/call_name.hpp>
#include <tutti/training/metrics.hpp>

#include "base/all_or_none.hpp"
#include "base/different_lines.hpp"

namespace tutti::v0 {
namespace {

constexpr detail::Occupancy::Words kMetricWords{
    .object = "the MetricReducer",
    .callbacks = "a callback",
    .instead = "",
    .otherwise = ", or give each thread one of its own"};

[[noreturn]] void reject_metric(const std::string& text) {
  throw Error{ErrorCode::invalid_argument, "MetricReducer: " + text};
}

std::string name_of_kind(MetricKind kind) {
  constexpr std::array kNames{"sum", "count", "mean", "maximum", "minimum", "confusion matrix"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::string words_of(std::string_view name, const Metric& metric) {
  std::string words = name_of_kind(metric.kind) + " '" + std::string{name} + "'";
  if (metric.kind == MetricKind::confusion)
    words += " of " + std::to_string(metric.matrix.classes) + " classes";
  return words;
}

/// The value of a metric before the first addition.
double neutral_of(MetricKind kind) noexcept {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return kind == MetricKind::greatest ? -kInfinity : kind == MetricKind::least ? kInfinity : 0;
}

void add_exactly(std::string_view name, std::int64_t& total, std::int64_t count) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(total, count, &result))
    reject_metric("the total of '" + std::string{name} + "' is too large for 64 bits");
  total = result;
}

/// Adds to everything but the matrix.
void add_to(std::string_view name, Metric& metric, double number, std::int64_t count) {
  add_exactly(name, metric.count, count);
  const bool is_greatest = metric.kind == MetricKind::greatest;
  const bool is_new = is_greatest ? number > metric.number : number < metric.number;
  if (!is_greatest && metric.kind != MetricKind::least) metric.number += number;
  else if (std::isnan(number) || is_new) metric.number = number;
}

/// The numbers of a metric that ranks add up, without the matrix.
struct MetricNumbers {
  double number = 0;
  std::int64_t count = 0;  // for a matrix its samples, to detect a total that is too large
};

/// Throws if a rank's metrics differ from those of rank 0.
void compare_metrics(Communicator& world, const Metrics& own, Duration timeout) {
  std::string words;
  for (const auto& [name, metric] : own) words += words_of(name, metric) + "\n";
  const std::vector<std::string> all = detail::gather_texts(world, words, timeout);
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    if (const auto other = detail::first_different_lines(all[rank], all[0], "no more"))
      reject_metric("ranks have different metrics: rank " + std::to_string(rank) + " has " +
                    other->left + " where rank 0 has " + other->right);
}

}  // namespace

std::int64_t ConfusionMatrix::total() const noexcept {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

std::int64_t ConfusionMatrix::correct() const noexcept {
  std::int64_t all = 0;
  for (std::size_t i = 0; i < classes; ++i) all += counts[i * classes + i];
  return all;
}

double ConfusionMatrix::accuracy() const noexcept {
  const std::int64_t all = total();
  return all == 0 ? std::numeric_limits<double>::quiet_NaN()
                  : static_cast<double>(correct()) / static_cast<double>(all);
}

double Metric::value() const noexcept {
  if (kind == MetricKind::confusion) return matrix.accuracy();
  if (kind == MetricKind::count) return static_cast<double>(count);
  if (kind != MetricKind::mean) return number;
  return count == 0 ? std::numeric_limits<double>::quiet_NaN()
                    : number / static_cast<double>(count);
}

Metric& MetricReducer::metric(std::string_view name, MetricKind kind) {
  auto found = own_.find(name);
  if (found == own_.end())
    found = own_.emplace(name, Metric{.kind = kind, .number = neutral_of(kind)}).first;
  if (found->second.kind != kind)
    reject_metric("there is a " + words_of(name, found->second) + " already; it cannot be a " +
                  name_of_kind(kind) + " too");
  return found->second;
}

void MetricReducer::add(std::string_view name, MetricKind kind, double number, std::int64_t count) {
  const detail::Occupied call{occupancy_, kMetricWords};
  add_to(name, metric(name, kind), number, count);
}

void MetricReducer::add_sum(std::string_view name, double value) {
  add(name, MetricKind::total, value, 0);
}

void MetricReducer::add_count(std::string_view name, std::int64_t count) {
  add(name, MetricKind::count, 0, count);
}

void MetricReducer::add_mean(std::string_view name, double numbers, std::int64_t count) {
  add(name, MetricKind::mean, numbers, count);
}

void MetricReducer::add_max(std::string_view name, double value) {
  add(name, MetricKind::greatest, value, 0);
}

void MetricReducer::add_min(std::string_view name, double value) {
  add(name, MetricKind::least, value, 0);
}

void MetricReducer::add_confusion(std::string_view name, std::size_t classes,
                                  std::span<const std::size_t> actual,
                                  std::span<const std::size_t> predicted) {
  const std::string where = "confusion matrix '" + std::string{name} + "'";
  if (actual.size() != predicted.size())
    reject_metric(where + " got " + std::to_string(actual.size()) + " actual classes and " +
                  std::to_string(predicted.size()) + " predicted ones");
  for (const auto list : {actual, predicted})
    for (const std::size_t number : list)
      if (number >= classes)
        reject_metric(where + " of " + std::to_string(classes) + " classes got class " +
                      std::to_string(number));
  const detail::Occupied call{occupancy_, kMetricWords};
  ConfusionMatrix& matrix = metric(name, MetricKind::confusion).matrix;
  if (matrix.classes == 0 && matrix.counts.empty()) {
    matrix.counts.resize(classes * classes);
    matrix.classes = classes;
  }
  if (matrix.classes != classes)
    reject_metric(where + " has " + std::to_string(matrix.classes) + " classes, not " +
                  std::to_string(classes));
  for (std::size_t i = 0; i < actual.size(); ++i)
    ++matrix.counts[actual[i] * classes + predicted[i]];
}

Metrics MetricReducer::reduce(Communicator& world, const Options& options) const {
  const detail::Occupied call{occupancy_, kMetricWords};
  const CallName part_of{"MetricReducer"};
  return run_as_one(world, [&] { return reduced(world, {.timeout = options.timeout}); });
}

Metrics MetricReducer::reduced(Communicator& world, const Options& own) const {
  compare_metrics(world, own_, own.timeout);
  std::vector<MetricNumbers> numbers;
  std::vector<std::int64_t> counts;  // of matrices
  for (const auto& [name, metric] : own_) {
    const bool is_matrix = metric.kind == MetricKind::confusion;
    numbers.push_back({metric.number, is_matrix ? metric.matrix.total() : metric.count});
    counts.insert(counts.end(), metric.matrix.counts.begin(), metric.matrix.counts.end());
  }
  const std::vector<MetricNumbers> all = world.all_gather(numbers, own);
  if (!counts.empty()) world.all_reduce(counts, sum, own);
  Metrics totals = own_;
  auto place = all.begin();
  auto next = counts.begin();
  for (auto& [name, metric] : totals) {
    metric.number = place->number;
    metric.count = place->count;
    for (std::size_t i = numbers.size(); i < all.size(); i += numbers.size()) {
      const MetricNumbers& other = place[static_cast<std::ptrdiff_t>(i)];
      add_to(name, metric, other.number, other.count);
    }
    ++place;
    if (metric.kind != MetricKind::confusion) continue;
    metric.count = 0;
    for (std::int64_t& count : metric.matrix.counts) count = *next++;
  }
  return totals;
}

}  // namespace tutti::v0

// Evaluation that is exact: what ranks have measured, added up.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include <tutti/training.hpp>

namespace tutti::inline v0 {
namespace {

[[noreturn]] void refuse_metric(const std::string& text) {
  throw Error{ErrorCode::invalid_argument, "MetricReducer: " + text};
}

std::string_view name_of_kind(MetricKind kind) {
  switch (kind) {
    case MetricKind::total: return "sum";
    case MetricKind::count: return "count";
    case MetricKind::mean: return "mean";
    case MetricKind::greatest: return "maximum";
    case MetricKind::least: return "minimum";
    case MetricKind::confusion: return "confusion matrix";
  }
  return "unknown";
}

std::string words_of(std::string_view name, const Metric& metric) {
  std::string words = std::string{name_of_kind(metric.kind)} + " '" + std::string{name} + "'";
  if (metric.kind == MetricKind::confusion)
    words += " of " + std::to_string(metric.matrix.classes) + " classes";
  return words;
}

/// Before anything was added to it.
double neutral_of(MetricKind kind) noexcept {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return kind == MetricKind::greatest ? -kInfinity : kind == MetricKind::least ? kInfinity : 0;
}

void add_exactly(std::string_view name, std::int64_t& total, std::int64_t count) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(total, count, &result))
    refuse_metric("the total of '" + std::string{name} + "' is too large for 64 bits");
  total = result;
}

/// All but the matrix.
void add_to(std::string_view name, Metric& metric, double number, std::int64_t count) {
  add_exactly(name, metric.count, count);
  switch (metric.kind) {
    case MetricKind::greatest:
      if (std::isnan(number) || number > metric.number) metric.number = number;
      break;
    case MetricKind::least:
      if (std::isnan(number) || number < metric.number) metric.number = number;
      break;
    default: metric.number += number;
  }
}

/// How a metric goes to other ranks: its name follows. Matrices go by themselves.
struct MetricRecord {
  std::uint64_t name_bytes = 0;
  std::uint64_t kind = 0;
  double number = 0;
  std::int64_t count = 0;  // of a matrix the samples, so that a total that is too large is noticed
  std::uint64_t classes = 0;
};

std::vector<std::byte> encode_metrics(const Metrics& metrics) {
  std::vector<std::byte> bytes;
  const auto append = [&](const void* data, std::size_t count) {
    const auto* first = static_cast<const std::byte*>(data);
    bytes.insert(bytes.end(), first, first + count);
  };
  for (const auto& [name, metric] : metrics) {
    const MetricRecord record{
        .name_bytes = name.size(),
        .kind = static_cast<std::uint64_t>(metric.kind),
        .number = metric.number,
        .count = metric.kind == MetricKind::confusion ? metric.matrix.total() : metric.count,
        .classes = metric.matrix.classes};
    append(&record, sizeof record);
    append(name.data(), name.size());
  }
  return bytes;
}

using MetricList = std::vector<std::pair<std::string, Metric>>;

MetricList decode_metrics(std::span<const std::byte> bytes) {
  MetricList metrics;
  while (!bytes.empty()) {
    MetricRecord record;
    std::memcpy(&record, bytes.data(), sizeof record);
    bytes = bytes.subspan(sizeof record);
    std::string name(record.name_bytes, '\0');
    std::memcpy(name.data(), bytes.data(), name.size());
    bytes = bytes.subspan(name.size());
    metrics.emplace_back(std::move(name), Metric{.kind = static_cast<MetricKind>(record.kind),
                                                 .number = record.number,
                                                 .count = record.count,
                                                 .matrix = {.classes = record.classes}});
  }
  return metrics;
}

/// Throws where a rank has others than rank 0.
void compare_metrics(const MetricList& first, const MetricList& other, Rank rank) {
  const auto words = [](const MetricList& list, std::size_t i) {
    return i < list.size() ? words_of(list[i].first, list[i].second) : std::string{"no more"};
  };
  for (std::size_t i = 0; i < std::max(first.size(), other.size()); ++i)
    if (words(first, i) != words(other, i))
      refuse_metric("ranks have different metrics: rank " + std::to_string(rank) + " has " +
                    words(other, i) + " where rank 0 has " + words(first, i));
}

/// All ranks' counts instead of the own ones.
void add_matrices(Communicator& world, Metrics& totals, const Metrics& own,
                  const Options& options) {
  std::vector<std::int64_t> counts;
  for (const auto& [name, metric] : own)
    counts.insert(counts.end(), metric.matrix.counts.begin(), metric.matrix.counts.end());
  if (counts.empty()) return;
  world.all_reduce(counts, sum, options);
  auto next = counts.begin();
  for (auto& [name, metric] : totals) {
    if (metric.kind != MetricKind::confusion) continue;
    metric.count = 0;
    const auto end =
        next + static_cast<std::ptrdiff_t>(metric.matrix.classes * metric.matrix.classes);
    metric.matrix.counts.assign(next, end);
    next = end;
  }
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
    refuse_metric("there is a " + words_of(name, found->second) + " already; it cannot be a " +
                  std::string{name_of_kind(kind)} + " too");
  return found->second;
}

void MetricReducer::add_sum(std::string_view name, double value) {
  add_to(name, metric(name, MetricKind::total), value, 0);
}

void MetricReducer::add_count(std::string_view name, std::int64_t count) {
  add_to(name, metric(name, MetricKind::count), 0, count);
}

void MetricReducer::add_mean(std::string_view name, double numbers, std::int64_t count) {
  add_to(name, metric(name, MetricKind::mean), numbers, count);
}

void MetricReducer::add_max(std::string_view name, double value) {
  add_to(name, metric(name, MetricKind::greatest), value, 0);
}

void MetricReducer::add_min(std::string_view name, double value) {
  add_to(name, metric(name, MetricKind::least), value, 0);
}

void MetricReducer::add_confusion(std::string_view name, std::size_t classes,
                                  std::span<const std::size_t> actual,
                                  std::span<const std::size_t> predicted) {
  const std::string where = "confusion matrix '" + std::string{name} + "'";
  if (actual.size() != predicted.size())
    refuse_metric(where + " got " + std::to_string(actual.size()) + " actual classes and " +
                  std::to_string(predicted.size()) + " predicted ones");
  for (const auto list : {actual, predicted})
    for (const std::size_t number : list)
      if (number >= classes)
        refuse_metric(where + " of " + std::to_string(classes) + " classes got class " +
                      std::to_string(number));
  ConfusionMatrix& matrix = metric(name, MetricKind::confusion).matrix;
  if (matrix.classes == 0 && matrix.counts.empty()) {
    matrix.counts.resize(classes * classes);
    matrix.classes = classes;
  }
  if (matrix.classes != classes)
    refuse_metric(where + " has " + std::to_string(matrix.classes) + " classes, not " +
                  std::to_string(classes));
  for (std::size_t i = 0; i < actual.size(); ++i)
    ++matrix.counts[actual[i] * classes + predicted[i]];
}

Metrics MetricReducer::reduce(Communicator& world, const Options& options) const {
  const Options own{.timeout = options.timeout};
  const std::vector<std::byte> encoded = encode_metrics(own_);
  const Gathered<std::byte> all = world.all_gatherv(encoded, with_counts, own);
  MetricList totals = decode_metrics(all[0]);
  for (Rank rank = 1; rank < world.size(); ++rank) {
    const MetricList others = decode_metrics(all[rank]);
    compare_metrics(totals, others, rank);
    for (std::size_t i = 0; i < totals.size(); ++i)
      add_to(totals[i].first, totals[i].second, others[i].second.number, others[i].second.count);
  }
  Metrics result{totals.begin(), totals.end()};
  add_matrices(world, result, own_, own);
  return result;
}

}  // namespace tutti::inline v0

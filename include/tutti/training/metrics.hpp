/// @file
/// Aids for training: samples of a rank, exact evaluation, checkpoints, and work to do once per
/// host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/communicator.hpp>
#include <tutti/export.hpp>
#include <tutti/raise.hpp>
#include <tutti/spi/occupancy.hpp>

namespace tutti::v0 {

/// How often samples of one class were predicted as another one. Exact.
struct ConfusionMatrix {
  std::size_t classes = 0;             ///< Number of classes.
  std::vector<std::int64_t> counts{};  ///< Element actual * classes + predicted.
  /// @return how often `actual` was predicted as `predicted`. Throws std::out_of_range.
  [[nodiscard]] std::int64_t at(std::size_t actual, std::size_t predicted) const {
    if (predicted >= classes) detail::raise_out_of_range("ConfusionMatrix: there is no such class");
    return counts.at(actual * classes + predicted);
  }
  /// @return the number of samples. Takes time in proportion to the matrix.
  [[nodiscard]] TUTTI_API std::int64_t total() const noexcept;
  /// @return the number of samples whose prediction was right.
  [[nodiscard]] TUTTI_API std::int64_t correct() const noexcept;
  /// @return correct() / total(); NaN without samples.
  [[nodiscard]] TUTTI_API double accuracy() const noexcept;
};

/// The kind of a metric: how values of ranks are combined.
enum class MetricKind : std::uint8_t {
  total,     ///< Numbers, added in the order of ranks.
  count,     ///< Integers, added exactly.
  mean,      ///< Sum and count, each added as above; divided at the end.
  greatest,  ///< The greatest number.
  least,     ///< The least number.
  confusion  ///< A ConfusionMatrix, added exactly.
};

/// A metric: the sum of its values.
struct Metric {
  MetricKind kind = MetricKind::total;  ///< Kind of the metric.
  double number = 0;                    ///< The sum, also of a mean; the greatest or least number.
  std::int64_t count = 0;               ///< For MetricKind::count and mean.
  ConfusionMatrix matrix{};             ///< For MetricKind::confusion.
  /// @return the number; for a mean number / count, NaN if nothing was counted; for a count the
  /// nearest number; for a matrix its accuracy.
  [[nodiscard]] TUTTI_API double value() const noexcept;
};

/// Metrics by name.
using Metrics = std::map<std::string, Metric, std::less<>>;

/// Sums the measurements of ranks, so that evaluation is exact if samples cannot be divided evenly:
/// with SamplePadding::none each sample counts once. The first call for a name defines the kind of
/// the metric. All ranks need the same metrics, so a rank without samples adds zero, or the least
/// (greatest) number to a maximum (minimum).
///
/// One thread at a time: a call while another thread is in one is Error{invalid_argument}, and does
/// not disturb that one. Copies are independent. A call whose name belongs to a metric of another
/// kind throws Error{invalid_argument}.
class TUTTI_API MetricReducer {
 public:
  /// Adds a value.
  void add_sum(std::string_view name, double value);
  /// Adds a count. Also throws if the sum exceeds 64 bits.
  void add_count(std::string_view name, std::int64_t count = 1);
  /// Adds to a mean. @param numbers the sum of some numbers, such as the losses of a batch, not
  /// their mean.
  /// @param count how many these are. Throws as add_count.
  void add_mean(std::string_view name, double numbers, std::int64_t count);
  /// Raises a maximum to a value. A NaN remains.
  void add_max(std::string_view name, double value);
  /// Lowers a minimum to a value. A NaN remains.
  void add_min(std::string_view name, double value);
  /// Adds samples to a confusion matrix.
  /// @param classes their number, equal in all calls. @param actual the class of each sample, 0 ..
  /// classes - 1.
  /// @param predicted the prediction for each sample. Also throws for other classes, or another
  /// number of them, and then adds nothing.
  void add_confusion(std::string_view name, std::size_t classes,
                     std::span<const std::size_t> actual, std::span<const std::size_t> predicted);

  /// @return the metrics of this rank.
  [[nodiscard]] const Metrics& own() const noexcept { return own_; }
  /// Combines the metrics of all ranks, in three small exchanges, and one all_reduce if there is a
  /// ConfusionMatrix. Collective. Own metrics remain; see clear.
  /// @param options only the timeout counts.
  /// @return the metrics of all ranks; equal in every bit on all of them. Throws Error;
  /// Error{invalid_argument} on all ranks, which leaves the communicator usable, for metrics that
  /// differ in name, kind or classes, and for an integer total that exceeds 64 bits.
  [[nodiscard]] Metrics reduce(Communicator& world, const Options& options = {}) const;
  /// Removes all metrics.
  void clear() noexcept { own_.clear(); }

 private:
  void add(std::string_view name, MetricKind kind, double number, std::int64_t count);
  [[nodiscard]] Metrics reduced(Communicator& world, const Options& own) const;
  Metric& metric(std::string_view name, MetricKind kind);
  Metrics own_;
  mutable detail::Occupancy occupancy_{};
};

}  // namespace tutti::v0

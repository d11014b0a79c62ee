/// @file
/// MetricReducer: exact evaluation on many ranks.
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

/// The number of samples of each class that were predicted as each class. Exact.
struct ConfusionMatrix {
  std::size_t classes = 0;             ///< How many there are.
  std::vector<std::int64_t> counts{};  ///< Element actual * classes + predicted.
  /// @param actual a class. @param predicted a class. @return the number of samples of the first
  /// one that were predicted as the second one. Throws std::out_of_range.
  [[nodiscard]] std::int64_t at(std::size_t actual, std::size_t predicted) const {
    if (predicted >= classes) detail::raise_out_of_range("ConfusionMatrix: there is no such class");
    return counts.at(actual * classes + predicted);
  }
  /// @return how many samples there were. Takes time in proportion to the matrix.
  [[nodiscard]] TUTTI_API std::int64_t total() const noexcept;
  /// @return the number of correct predictions.
  [[nodiscard]] TUTTI_API std::int64_t correct() const noexcept;
  /// @return correct() / total(), no number where there was no sample.
  [[nodiscard]] TUTTI_API double accuracy() const noexcept;
};

/// The kind of a metric, which decides how the values of ranks are combined.
enum class MetricKind : std::uint8_t {
  total,     ///< Numbers, added in the order of ranks.
  count,     ///< Integers, added exactly.
  mean,      ///< Sum and count, each added as above, and divided at the end.
  greatest,  ///< The greatest number.
  least,     ///< The least number.
  confusion  ///< A ConfusionMatrix, added exactly.
};

/// A metric by name: what was added to it.
struct Metric {
  MetricKind kind = MetricKind::total;  ///< What it is.
  double number = 0;                    ///< The sum, of a mean too; the greatest or least number.
  std::int64_t count = 0;               ///< Of MetricKind::count and mean.
  ConfusionMatrix matrix{};             ///< Of MetricKind::confusion.
  /// @return the number; of a mean number / count, no number where nothing was counted; of a count
  /// the nearest number; of a matrix its accuracy.
  [[nodiscard]] TUTTI_API double value() const noexcept;
};

/// Metrics by their names.
using Metrics = std::map<std::string, Metric, std::less<>>;

/// Adds up what ranks have measured, so that evaluation is exact where samples cannot be divided by
/// the ranks: with SamplePadding::none each sample counts once. Each metric has a name, and the
/// kind of its first call; all ranks need the same ones, so a rank without samples adds zero,
/// or the least (greatest) number to a maximum (minimum).
///
/// One thread at a time: a call that comes while another thread is in one is
/// Error{invalid_argument}, and does not touch that one. Copies are independent. Each call throws
/// Error{invalid_argument} where its name is that of another kind of metric.
class TUTTI_API MetricReducer {
 public:
  /// @param name of the metric. @param value is added to it.
  void add_sum(std::string_view name, double value);
  /// @param name of the metric. @param count is added to it. Throws also where that is too large
  /// for 64 bits.
  void add_count(std::string_view name, std::int64_t count = 1);
  /// @param name of the metric. @param numbers the sum of some, as the losses of a batch, not
  /// their mean. @param count how many they are. Throws as add_count.
  void add_mean(std::string_view name, double numbers, std::int64_t count);
  /// @param name of the metric. @param value the metric is at least this. A NaN remains.
  void add_max(std::string_view name, double value);
  /// @param name of the metric. @param value the metric is at most this. A NaN remains.
  void add_min(std::string_view name, double value);
  /// @param name of the metric. @param classes how many there are, equal in all calls.
  /// @param actual what each sample is, 0 .. classes - 1. @param predicted the class predicted for
  /// it; equally many. Throws also for other classes, or numbers of them, and adds nothing then.
  void add_confusion(std::string_view name, std::size_t classes,
                     std::span<const std::size_t> actual, std::span<const std::size_t> predicted);

  /// @return what was added on this rank.
  [[nodiscard]] const Metrics& own() const noexcept { return own_; }
  /// Puts together what ranks have added, in three small exchanges, and one all_reduce where there
  /// is a ConfusionMatrix. Collective. Own values stay; see clear. @param world whose ranks take
  /// part.
  /// @param options of which the timeout counts. @return what all ranks have added; equal in every
  /// bit on all of them. Throws Error; Error{invalid_argument} on all ranks, which leaves the
  /// communicator usable, for metrics that differ in name, kind or classes, and for a total of
  /// integers that is too large for 64 bits.
  [[nodiscard]] Metrics reduce(Communicator& world, const Options& options = {}) const;
  /// Forgets all metrics.
  void clear() noexcept { own_.clear(); }

 private:
  void add(std::string_view name, MetricKind kind, double number, std::int64_t count);
  [[nodiscard]] Metrics reduced(Communicator& world, const Options& own) const;
  Metric& metric(std::string_view name, MetricKind kind);
  Metrics own_;
  mutable detail::Occupancy occupancy_{};
};

}  // namespace tutti::v0

/// @file
/// Aids for training: samples of a rank, exact evaluation, checkpoints, and work to do once per
/// host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/communicator.hpp>
#include <tutti/export.hpp>
#include <tutti/gradient_sync.hpp>
#include <tutti/raise.hpp>
#include <tutti/spi/occupancy.hpp>

namespace tutti::v0 {

/// The treatment of an epoch whose samples cannot be divided evenly among the ranks.
enum class SamplePadding : std::uint8_t {
  /// Some samples come twice: the permutation is repeated until ranks have equally many.
  pad,
  /// The last samples of the permutation are left out, fewer than the number of ranks.
  drop,
  /// Each sample comes once: ranks differ by one. For evaluation, and GradientSync::join.
  none
};

/// Options of a DistributedSampler. Equal on all ranks, except warn.
struct SamplerOptions {
  std::uint64_t seed = 0;                      ///< Seed of the permutations.
  bool shuffle = true;                         ///< Whether to permute; else samples come in order.
  SamplePadding padding = SamplePadding::pad;  ///< See SamplePadding.
  /// A function that rank 0 calls once if DistributedSampler::indices is called at the end of an
  /// epoch. Empty: it prints the warning to standard error. A function that does nothing silences
  /// it.
  std::function<void(std::string_view)> warn{};
};

/// Position of a DistributedSampler in an epoch: equal on all ranks that have advanced equally far,
/// trivially copyable, and without a number of ranks, so that any number of ranks can resume from
/// it.
struct SamplerState {
  std::uint64_t samples = 0;                   ///< Samples of the data set.
  std::uint64_t seed = 0;                      ///< As SamplerOptions::seed.
  std::uint64_t epoch = 0;                     ///< As DistributedSampler::set_epoch.
  std::uint64_t consumed = 0;  ///< Samples of the epoch's permutation that all ranks have used.
  bool shuffle = true;                         ///< As SamplerOptions::shuffle.
  SamplePadding padding = SamplePadding::pad;  ///< As SamplerOptions::padding.
  /// Equality of all members.
  friend bool operator==(const SamplerState&, const SamplerState&) = default;
};

/// Divides a data set among ranks, anew in each epoch. It does not communicate: each rank computes
/// the same permutation. Rank r takes positions r, r + ranks, ... of it. So the samples that all
/// ranks have used after equally many steps are always its beginning, and a state is valid for
/// another number of ranks.
///
/// The permutation is a function of seed and epoch alone, equal on all machines: Fisher and Yates'
/// shuffle from the last position down, with numbers of SplitMix64 (Steele, Lea, Flood, OOPSLA
/// 2014) as a function of a counter, and rejection of those that would favour small ones.
///
/// One thread at a time. Copies are independent.
class TUTTI_API DistributedSampler {
 public:
  /// Starts at epoch 0.
  /// @param samples of the data set, may be 0. @param rank the own one, 0 .. ranks - 1. Throws
  /// Error{invalid_argument} for any other rank.
  DistributedSampler(std::size_t samples, int ranks, Rank rank, const SamplerOptions& options = {});
  /// Resumes from other ranks: the samples of this epoch that they had not used are divided among
  /// these ranks. No sample is lost, except those that SamplePadding::drop leaves out at the end,
  /// and none comes again, except those that SamplePadding::pad repeats at the end.
  /// @param state of any of the other ranks. @param ranks the current number. @param rank the own
  /// one. Throws Error{invalid_argument} as the constructor, and for a state with more samples
  /// consumed than there are.
  [[nodiscard]] static DistributedSampler resume(const SamplerState& state, int ranks, Rank rank,
                                                 std::function<void(std::string_view)> warn = {});

  /// Begins an epoch. The current epoch continues where it is, so that a loop over epochs can call
  /// it for the resumed one. @param epoch any; equal on all ranks.
  void set_epoch(std::uint64_t epoch) noexcept;
  /// @return the samples, 0 .. samples - 1, that this rank has left in this epoch, in their order.
  /// Takes time and memory in proportion to the samples of the data set. At the end of an epoch
  /// there are none until set_epoch is called. A loop that forgets that call would train on
  /// nothing, so this warns then, see SamplerOptions::warn.
  [[nodiscard]] std::vector<std::size_t> indices() const;
  /// @return the size of indices(). Takes constant time.
  [[nodiscard]] std::size_t size() const noexcept;
  /// Counts samples as used. @param count of this rank's, such as the size of a batch; equal on all
  /// ranks, also if one has fewer left: an excess over the rest of the epoch is ignored.
  void advance(std::size_t count) noexcept;
  /// @return the position of all ranks, if they have advanced equally far; see SamplerState.
  [[nodiscard]] SamplerState state() const noexcept;

 private:
  [[nodiscard]] std::uint64_t rounds() const noexcept;
  void warn_of_end() const;
  SamplerState start_;          // where these ranks have begun
  std::uint64_t ranks_;         // how many
  std::uint64_t rank_;          // the own one
  std::uint64_t advanced_ = 0;  // samples of each rank since then
  std::function<void(std::string_view)> warn_;
  mutable bool has_warned_ = false;
};

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

/// Saves arrays. If the process or the machine stops at any time, load_checkpoint finds either this
/// checkpoint or the one before, whole. Collective. Rank 0 writes its arrays to `path` with
/// ".partial" after it, has the disk store them, and renames the file; the others wait. Not for
/// several calls at the same time with the same path.
/// @param path of the file, on rank 0; its folder exists.
/// @param arrays rank 0's arrays, of any types but opaque.
/// @param extra rank 0's bytes of the program's own, such as a SamplerState.
/// @param options only the timeout counts, which includes the wait for the disk. Throws the same
/// Error on all ranks: transport if the system reports an error, and invalid_argument for arrays
/// that cannot be saved. The communicator stays usable, and the old file is unchanged. But if the
/// system could not store the folder after the renaming, a stop of the machine may leave either
/// file.
TUTTI_API void save_checkpoint(Communicator& world, const std::filesystem::path& path,
                               std::span<const Parameter> arrays,
                               std::span<const std::byte> extra = {}, const Options& options = {});

/// Loads the arrays of save_checkpoint on all ranks, at any number of ranks. Collective. Rank 0
/// reads the file twice, to check it before any array is touched, and needs no memory for it.
/// @param path as for save_checkpoint; only rank 0 needs the file.
/// @param arrays the destination: as many, in the same order, and of the same names, types and
/// counts as were saved.
/// @param options only the timeout counts, which includes the wait for the disk.
/// @return the extra bytes, on all ranks. Throws the same Error on all ranks, which names the fault
/// and leaves the communicator usable: invalid_argument for a file that was cut short or changed,
/// or is of another program or byte order, and for other arrays; transport if the system reports an
/// error. Arrays are then unchanged, unless the file was changed, or the disk failed, between the
/// two readings.
[[nodiscard]] TUTTI_API std::vector<std::byte> load_checkpoint(Communicator& world,
                                                               const std::filesystem::path& path,
                                                               std::span<const Parameter> arrays,
                                                               const Options& options = {});

/// Saves arrays as above, and with them data that is divided among ranks: arrays for the parts of
/// parameters that each rank owns, such as an optimizer's moments with GradientOptions::on_shard,
/// and the state of `sync`: the number of steps, an observed order, and the omitted part of
/// compression. Collective, between steps. The file has such arrays whole, in the order of
/// parameters. Rank 0 needs memory for a few MiB of them.
/// @param world the ranks of `sync`. @param path as above. @param arrays as above.
/// @param sync without GradientOptions::groups, since each rank of a group has parameters of its
/// own.
/// @param shards arrays in memory of the host, of any types but opaque, with an element for each
/// one of this rank's parts, one part after the other in the order of GradientSync::shards (see
/// ParameterShard::offset); equal on all ranks except data and count. In the file, the array of a
/// parameter has the name of the shard, a slash, and the parameter's name.
/// @param extra as above. @param options as above. Throws as above.
TUTTI_API void save_checkpoint(Communicator& world, const std::filesystem::path& path,
                               std::span<const Parameter> arrays, GradientSync& sync,
                               std::span<const Parameter> shards = {},
                               std::span<const std::byte> extra = {}, const Options& options = {});

/// Loads a file of the function above, at any number of ranks, and in any buckets. Each rank gets
/// its own parts. A run that continues with as many ranks and the same options has the same bits as
/// an uninterrupted one. The omitted part of compression returns to its rank. At another number of
/// ranks each gets an equal share of all of it, so that the mean (with GradientOptions::average,
/// otherwise the sum) is preserved; with another GradientOptions::compression than in the file it
/// is dropped. Collective, between steps, for example before the first. GradientSync::order() and
/// view may return other values afterwards.
/// @param path as above. @param arrays as above.
/// @param sync with parameters of the same names, types and counts.
/// @param shards the destination, as for the function above. @param options as above.
/// @return the extra bytes, on all ranks. Throws as above.
[[nodiscard]] TUTTI_API std::vector<std::byte> load_checkpoint(
    Communicator& world, const std::filesystem::path& path, std::span<const Parameter> arrays,
    GradientSync& sync, std::span<const Parameter> shards = {}, const Options& options = {});

/// Gathers, for each parameter, one whole array from all ranks' parts. Collective.
/// @param world the ranks of `sync`. @param sync as for save_checkpoint.
/// @param shards one shard array, as for save_checkpoint.
/// @param whole an array for each parameter, in their order, of as many elements and of the type of
/// `shards`.
/// @param options only the timeout counts. Throws the same Error{invalid_argument} on all ranks for
/// other arrays, and Error.
TUTTI_API void gather_shards(Communicator& world, const GradientSync& sync, const Parameter& shards,
                             std::span<const Parameter> whole, const Options& options = {});

/// Copies this rank's parts out of whole arrays: the reverse of gather_shards, without a message.
/// @param sync as for save_checkpoint. @param whole as for gather_shards, equal on all ranks.
/// @param shards the destination, as for save_checkpoint. Throws Error{invalid_argument} for other
/// arrays.
TUTTI_API void take_shards(const GradientSync& sync, std::span<const Parameter> whole,
                           const Parameter& shards);

/// Calls a function on the lowest rank of each host, and waits until all have returned: for work
/// that the ranks of a host share, such as downloading or unpacking files. Collective. Ranks are on
/// one host if name and boot of the system are equal; containers with names of their own count as
/// hosts. Other programs on the host may do the same work at the same time.
/// @param key for error texts, and equal on all ranks. @param function must not call world.
/// @param options only the timeout counts, which includes the wait for the function. Throws the
/// same Error on all ranks, which leaves the communicator usable: aborted if a function threw, with
/// its text and the lowest such rank as culprit; invalid_argument for keys that differ, before any
/// function is called.
TUTTI_API void once_per_node(Communicator& world, std::string_view key,
                             const std::function<void()>& function, const Options& options = {});

}  // namespace tutti::v0

/// @file
/// What surrounds training: which samples a rank sees, exact evaluation, checkpoints, and what is
/// to be done once on each host.
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

/// What becomes of an epoch whose samples cannot be divided by the ranks.
enum class SamplePadding : std::uint8_t {
  pad,   ///< Some samples come twice: the permutation starts again, until ranks have equally many.
  drop,  ///< The last samples of the permutation are left out, fewer than there are ranks.
  none   ///< Each sample comes once: ranks differ by one. For evaluation, and GradientSync::join.
};

/// How a DistributedSampler takes samples. Equal on all ranks, but for warn.
struct SamplerOptions {
  std::uint64_t seed = 0;                      ///< Of the permutations.
  bool shuffle = true;                         ///< Whether to permute; else samples come in order.
  SamplePadding padding = SamplePadding::pad;  ///< See SamplePadding.
  /// Told once, on rank 0, where DistributedSampler::indices is called at the end of an epoch. An
  /// empty function prints the warning to standard error; one that does nothing silences it.
  std::function<void(std::string_view)> warn{};
};

/// Where a DistributedSampler is within an epoch: equal on all ranks that have advanced by equally
/// many, trivially copyable, and without a number of ranks, so that others can go on from there.
struct SamplerState {
  std::uint64_t samples = 0;                   ///< Of the data set.
  std::uint64_t seed = 0;                      ///< As SamplerOptions::seed.
  std::uint64_t epoch = 0;                     ///< As DistributedSampler::set_epoch.
  std::uint64_t consumed = 0;                  ///< Of the epoch's permutation, by all ranks.
  bool shuffle = true;                         ///< As SamplerOptions::shuffle.
  SamplePadding padding = SamplePadding::pad;  ///< As SamplerOptions::padding.
  /// Equality of all members.
  friend bool operator==(const SamplerState&, const SamplerState&) = default;
};

/// Divides a data set among ranks, anew in each epoch. It does not communicate: ranks get parts of
/// one permutation since each computes it. Rank r takes positions r, r + ranks, ... of it, so that
/// what all ranks have seen after equally many samples is always its beginning; this is what makes
/// a state good for another number of ranks.
///
/// The permutation is a function of seed and epoch alone, equal on all machines: Fisher and Yates'
/// shuffle from the last position down, with numbers of SplitMix64 (Steele, Lea, Flood, OOPSLA
/// 2014) as a function of a counter, and rejection of those that would favour small ones.
///
/// One thread at a time. Copies are independent.
class TUTTI_API DistributedSampler {
 public:
  /// Of epoch 0. @param samples of the data set, may be 0. @param ranks how many there are.
  /// @param rank the own one, 0 .. ranks - 1. @param options see SamplerOptions.
  /// Throws Error{invalid_argument} for a rank that is none of them.
  DistributedSampler(std::size_t samples, int ranks, Rank rank, const SamplerOptions& options = {});
  /// Goes on where others were: what they had not seen in this epoch is divided among these ranks.
  /// No sample is lost, but for those that SamplePadding::drop leaves out at the end, and none
  /// comes again, but for those that SamplePadding::pad repeats at the end.
  /// @param state of any rank of the others. @param ranks how many there are now. @param rank the
  /// own one. @param warn as SamplerOptions::warn. @return the sampler. Throws
  /// Error{invalid_argument} as the constructor, and for a state with more samples consumed than
  /// there are.
  [[nodiscard]] static DistributedSampler resume(const SamplerState& state, int ranks, Rank rank,
                                                 std::function<void(std::string_view)> warn = {});

  /// Begins an epoch. That which is under way already goes on where it is, so that a loop over
  /// epochs can call it for the one that was resumed. @param epoch any; equal on all ranks.
  void set_epoch(std::uint64_t epoch) noexcept;
  /// @return the samples, 0 .. samples - 1, that this rank has still to see in this epoch, in their
  /// order. Takes time and memory in proportion to the samples of the data set. After the end of an
  /// epoch there are none until set_epoch is called; since a loop that forgets that would train on
  /// nothing, this warns then, see SamplerOptions::warn.
  [[nodiscard]] std::vector<std::size_t> indices() const;
  /// @return how many indices() has. Takes constant time.
  [[nodiscard]] std::size_t size() const noexcept;
  /// Counts samples as seen. @param count of this rank's, such as the size of a batch; equal on all
  /// ranks, also where one has fewer left: what is more than the rest of the epoch is ignored.
  void advance(std::size_t count) noexcept;
  /// @return where all ranks are, if they have advanced by equally many; see SamplerState.
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

/// How often samples of one class were taken for another one. Exact.
struct ConfusionMatrix {
  std::size_t classes = 0;             ///< How many there are.
  std::vector<std::int64_t> counts{};  ///< Element actual * classes + predicted.
  /// @param actual a class. @param predicted a class. @return how often the first one was taken for
  /// the second one. Throws std::out_of_range.
  [[nodiscard]] std::int64_t at(std::size_t actual, std::size_t predicted) const {
    if (predicted >= classes) detail::raise_out_of_range("ConfusionMatrix: there is no such class");
    return counts.at(actual * classes + predicted);
  }
  /// @return how many samples there were. Takes time in proportion to the matrix.
  [[nodiscard]] TUTTI_API std::int64_t total() const noexcept;
  /// @return how many were taken for what they are.
  [[nodiscard]] TUTTI_API std::int64_t correct() const noexcept;
  /// @return correct() / total(), no number where there was no sample.
  [[nodiscard]] TUTTI_API double accuracy() const noexcept;
};

/// What a metric is, and so how ranks' values of it are put together.
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
/// the ranks: with SamplePadding::none each sample counts once. Each metric has a name, and is what
/// the first call for it says; all ranks need the same ones, so a rank without samples adds zero,
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
  /// @param actual what each sample is, 0 .. classes - 1. @param predicted for what it was taken;
  /// equally many. Throws also for other classes, or numbers of them, and adds nothing then.
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

/// Saves arrays, so that load_checkpoint finds either them or what was there before, whole, also
/// where the process or the machine stops at any time. Collective. Rank 0 writes its arrays to
/// `path` with ".partial" behind it, has the disk store them, and renames the file; others wait.
/// Not for several calls at the same time with the same path.
/// @param world whose ranks take part. @param path of the file; its folder exists. What rank 0 says
/// counts. @param arrays what to save, of any types but opaque; rank 0's count. @param extra bytes
/// of the program's own, such as a SamplerState; rank 0's count. @param options of which the
/// timeout counts, in which the others wait for the disk.
/// Throws the same Error on all ranks: transport where the system refused something, and
/// invalid_argument for arrays that cannot be saved. The communicator stays usable then, and the
/// old file is as it was; but where the system could not store the folder, after the renaming,
/// either file may be found after a stop of the machine.
TUTTI_API void save_checkpoint(Communicator& world, const std::filesystem::path& path,
                               std::span<const Parameter> arrays,
                               std::span<const std::byte> extra = {}, const Options& options = {});

/// Gives all ranks the arrays that save_checkpoint saved, at whatever number of ranks. Collective.
/// Rank 0 reads the file twice, to check it before any array is touched, and needs no memory for
/// it.
/// @param world whose ranks take part. @param path as of save_checkpoint; only rank 0 needs the
/// file. @param arrays where to load; as many, in the same order, and of the same names, types and
/// counts as were saved. @param options of which the timeout counts, in which the others wait for
/// the disk. @return the extra bytes, on all ranks.
/// Throws the same Error on all ranks, which says what is wrong and leaves the communicator usable:
/// invalid_argument for a file that was cut short or changed, or is of another program or byte
/// order, and for other arrays; transport where the system refused something. Arrays are as they
/// were then, unless the file was changed, or the disk failed, between the two readings.
[[nodiscard]] TUTTI_API std::vector<std::byte> load_checkpoint(Communicator& world,
                                                               const std::filesystem::path& path,
                                                               std::span<const Parameter> arrays,
                                                               const Options& options = {});

/// Saves arrays as above, and with them what is divided among ranks: arrays with the parts of
/// parameters that each rank owns, such as an optimizer's moments with GradientOptions::on_shard,
/// and what `sync` keeps from step to step: the number of steps, the order that it observed, and
/// what its compression has left out so far. Collective, between steps. In the file such arrays are
/// whole, and in the order of parameters. Rank 0 needs memory for a few MiB of them.
/// @param world whose ranks take part, those of `sync`. @param path as above. @param arrays as
/// above. @param sync without GradientOptions::groups, of whose parameters each rank has its own.
/// @param shards arrays in memory of the host, of any types but opaque, with an element for each
/// one of this rank's parts, one part behind the other as GradientSync::shards lists them (see
/// ParameterShard::offset); equal on all ranks but for data and count. In the file, the array of a
/// parameter has the name of the shard, a slash, and the parameter's name.
/// @param extra as above. @param options as above. Throws as above.
TUTTI_API void save_checkpoint(Communicator& world, const std::filesystem::path& path,
                               std::span<const Parameter> arrays, GradientSync& sync,
                               std::span<const Parameter> shards = {},
                               std::span<const std::byte> extra = {}, const Options& options = {});

/// Gives ranks what the function above saved, at whatever number of ranks, and in whatever buckets.
/// Each rank gets its own parts. A run that goes on with as many ranks and the same options has the
/// same bits as one that was not interrupted. What compression has left out goes to the rank that
/// has left it out; at another number of ranks each gets an equal share of all of it, so that their
/// mean (with GradientOptions::average, else their sum) goes on; and with another
/// GradientOptions::compression than that of the file nothing was left out. Collective, between
/// steps, such as before the first. What GradientSync::order() and view returned is asked again
/// afterwards.
/// @param world as above. @param path as above. @param arrays as above. @param sync of parameters
/// of the same names, types and counts. @param shards as of the function above, where to load.
/// @param options as above. @return the extra bytes, on all ranks. Throws as above.
[[nodiscard]] TUTTI_API std::vector<std::byte> load_checkpoint(
    Communicator& world, const std::filesystem::path& path, std::span<const Parameter> arrays,
    GradientSync& sync, std::span<const Parameter> shards = {}, const Options& options = {});

/// Gives all ranks a whole array of what each has for its parts of parameters. Collective.
/// @param world whose ranks take part, those of `sync`. @param sync as of save_checkpoint. @param
/// shards as one of save_checkpoint. @param whole an array for each parameter, in their order, of
/// as many elements and of the type of `shards`. @param options of which the timeout counts.
/// Throws the same Error{invalid_argument} on all ranks for other arrays, and Error.
TUTTI_API void gather_shards(Communicator& world, const GradientSync& sync, const Parameter& shards,
                             std::span<const Parameter> whole, const Options& options = {});

/// The reverse of gather_shards, without a message. @param sync as of save_checkpoint. @param whole
/// as of gather_shards, equal on all ranks. @param shards where this rank's parts of it go, as of
/// save_checkpoint. Throws Error{invalid_argument} for other arrays.
TUTTI_API void take_shards(const GradientSync& sync, std::span<const Parameter> whole,
                           const Parameter& shards);

/// Calls a function on one rank of each host, the lowest one there, and waits until all have
/// returned: for what ranks of a host share, such as files to download or unpack. Collective. Ranks
/// are on one host where name and boot of the system are equal; containers with names of their own
/// count as hosts. Other programs on the host are not kept from doing the same.
/// @param world whose ranks take part. @param key for error texts, and equal on all ranks.
/// @param function what to do; must not call world. @param options of which the timeout counts, in
/// which the others wait for the function.
/// Throws the same Error on all ranks, which leaves the communicator usable: aborted where a
/// function threw, with its text and the lowest such rank as culprit; invalid_argument for keys
/// that differ, before any function is called.
TUTTI_API void once_per_node(Communicator& world, std::string_view key,
                             const std::function<void()>& function, const Options& options = {});

}  // namespace tutti::v0

/// @file
/// GradientSync: reduces the gradients of a model over ranks while others are still computed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tutti/communicator.hpp>
#include <tutti/export.hpp>
#include <tutti/gradient_enumerators.hpp>

namespace tutti::v0 {

namespace detail {
class SyncAccess;
}  // namespace detail

/// An array of the program that GradientSync reduces, or makes equal.
struct Parameter {
  std::string name{};  ///< For error texts; equal on all ranks.
  /// The gradient; null with GradientStorage::views. With GradientOptions::stream in memory of a
  /// GPU.
  void* data = nullptr;
  std::size_t count = 0;          ///< Elements.
  Datatype type = Datatype::f32;  ///< f16, bf16, f32 or f64.
  std::uint32_t group = 0;        ///< 0: all ranks; k: GradientOptions::groups[k - 1].
  std::uint64_t layout = 0;       ///< A number for shape and strides, which all ranks compare.
  /// Rows of the array as a row-major matrix, for compression to a low rank; 0: no matrix.
  std::size_t rows = 0;
  /// Whether data is memory of Communicator::allocate that peers see; equal on all ranks. Peers
  /// then read and write it in place, with GradientStorage::flat and, from
  /// GradientOptions::in_place_bytes on, with GradientStorage::copies.
  bool visible = false;
  /// With GradientOptions::on_shard: where all ranks store the result of on_shard, such as the
  /// updated weights; null: over the gradient. Same number and type of elements.
  void* result = nullptr;
  /// Whether this is a second name of an array before it in the list, as with tied weights: both
  /// have the same data, count, type and group. The array is reduced once, when ready was called
  /// for all of its names, and is unused if it was called for none; buckets() and callbacks have
  /// the index of the first name. Arrays of a list that overlap otherwise are an
  /// Error{invalid_argument} that names both. Not with GradientStorage::views. Equal on all ranks.
  bool tied = false;
  /// @param elements the gradient.
  template <MutableElements R>
  [[nodiscard]] static Parameter of(std::string name, R&& elements) {
    Parameter parameter{.name = std::move(name),
                        .data = std::ranges::data(elements),
                        .count = std::ranges::size(elements),
                        .type = datatype_of<ElementOf<R>>()};
    if constexpr (requires { elements.is_visible(); }) parameter.visible = elements.is_visible();
    return parameter;
  }
};

/// A bucket that has been reduced.
struct ReducedBucket {
  std::size_t index = 0;                      ///< Position in the order in which buckets start.
  std::span<const std::size_t> parameters{};  ///< The parameters in it.
  bool is_last = false;                       ///< Whether it is the last of this step.
  Stream stream{};  ///< With GradientOptions::stream: the stream that reduces it.
};

/// A part of a parameter that one rank owns, as reduce_scatter divides the bucket.
struct ParameterShard {
  std::size_t parameter = 0;  ///< Index of the parameter.
  std::size_t first = 0;      ///< First element of the parameter in this part.
  std::size_t count = 0;      ///< Number of elements.
  /// The reduced gradient of this part. on_shard replaces it by the values that all ranks get; null
  /// in GradientSync::shards.
  void* data = nullptr;
  /// With GradientOptions::stream: the stream for that work; none in GradientSync::shards.
  Stream stream{};
  /// Elements before this part in an array with all parts of this rank, one after the other, in the
  /// order of GradientSync::shards: for moments, see gather_shards.
  std::size_t offset = 0;
};

/// How gradients are reduced. Equal on all ranks, except on_bucket and on_shard.
struct GradientOptions {
  /// Value of bucket_bytes: one bucket for each type and group, reduced when all gradients are
  /// ready.
  static constexpr std::size_t kFlat = ~std::size_t{0};
  /// Most bytes of a bucket of several parameters. 0: each parameter by itself.
  std::size_t bucket_bytes = std::size_t{4} << 20;
  /// Most bytes of the first bucket, which starts early if it is small.
  std::size_t first_bucket_bytes = std::size_t{1} << 20;
  /// With GradientStorage::copies: a parameter of this size and more is a bucket by itself and
  /// reduced in place, since two copies cost more than larger buckets gain. This holds for all
  /// parameters if ranks see no memory of each other, as over a network, and otherwise for those
  /// with Parameter::visible in memory of the host. Not with UnusedGradients::detect, nor with
  /// kFlat.
  std::size_t in_place_bytes = std::size_t{1} << 20;
  GradientOrder order = GradientOrder::automatic;  ///< See GradientOrder.
  /// Order of an earlier run, from GradientSync::order(), so that this run continues with the same
  /// bits; empty: from last to first. If it is given, no order is observed.
  std::vector<std::size_t> known_order{};
  GradientStorage storage = GradientStorage::copies;  ///< See GradientStorage.
  UnusedGradients unused = UnusedGradients::error;    ///< See UnusedGradients.
  /// Whether the result is the mean over the ranks that take part, or the sum.
  bool average = true;
  /// Whether a gradient that is infinite or not a number makes the step void: an Error on all
  /// ranks, whose culprit is the rank that computed it; see StepReport::not_finite. Costs one more
  /// pass over the own gradients.
  bool check_finite = false;
  bool norm = false;  ///< Whether to compute StepReport::norm.
  /// The largest 2-norm of all reduced gradients together, for clipping. If theirs is larger, all
  /// ranks multiply them by max_norm / norm; StepReport::norm is the norm before. 0: no limit. If
  /// the norm is infinite or not a number nothing is multiplied; check_finite makes such a step
  /// void. It costs a small all_reduce when all buckets are reduced, and on_bucket is called only
  /// then. With on_shard all parts wait for the last bucket, so that computing hides only the first
  /// halves of reductions. Not with `stream`, where ranks would wait for their GPUs.
  double max_norm = 0;
  bool hash = false;  ///< Whether to compute StepReport::hash, to find where two runs differ.
  /// Format of gradients in messages, see kGradientCompressions; empty: their own. Sums are in f32.
  /// "f16" and "bf16"; "int8" (one scale for 256 elements; "int8:64" for 64); "one_bit" (sign and
  /// mean size of blocks of 1024 elements); "power_sgd" (matrices as products of rank 2); "top_k"
  /// (the largest 0.01 of all elements). A number after a colon changes the default. See
  /// docs/training.md for errors. Formats from one_bit on add the omitted part to the gradients of
  /// the next step.
  std::string compression{};
  /// The number of first steps that are not compressed. Gradients are large and change fast in
  /// them, and the omissions of one_bit and top_k may harm them.
  int compression_after = 0;
  /// Every `verify_every` steps ranks compare hashes of their results and of `state`. 0: never.
  int verify_every = 0;
  /// Every `resync_every` steps, `state` is broadcast from rank 0. 0: never.
  int resync_every = 0;
  /// Arrays that are equal on all ranks when wait is called, such as weights and moments, for
  /// verify_every and resync_every. Equal on all ranks except data, like parameters.
  std::vector<Parameter> state{};
  /// Sets of ranks that share parameters, if a model is divided. They must live.
  std::vector<Communicator*> groups{};
  int in_flight = 2;  ///< Most buckets that are reduced at the same time; 1 or more.
  /// Deadline of a bucket, and of the end of a step; zero: the communicator's.
  Duration timeout{0};
  /// As Options::algorithm of all_reduce, for buckets that one all_reduce reduces; empty: tutti
  /// chooses. The two halves of on_shard and compression always choose.
  std::string algorithm{};
  /// A function that GradientSync's thread calls for each reduced bucket, in their order, so that
  /// an optimizer runs while others are under way. An exception makes the step void. The function
  /// may have seen gradients of a step that later becomes void. With `stream` it is called when the
  /// reduction is enqueued, so no data is reduced yet; work that it enqueues on
  /// ReducedBucket::stream runs after the reduction, and the GPU is the thread's current one.
  std::function<void(const ReducedBucket&)> on_bucket{};
  /// A function that GradientSync's thread calls for the part of each bucket that this rank owns,
  /// when it is reduced. An optimizer replaces the gradients by updated weights, with moments for
  /// its own part only, and then all ranks get these (ZeRO stage 1: Rajbhandari et al., SC 2020).
  /// An exception makes the step void: weights in Parameter::result are unchanged, except those of
  /// other buckets, which may have been updated.
  ///
  /// With max_norm or check_finite it is called when all buckets are reduced and ranks have agreed
  /// that the step is good. So it never runs in a step that gradients make void, and all weights in
  /// Parameter::result are unchanged.
  ///
  /// Neither with GradientOrder::observed, nor with compression. With `stream` it enqueues the
  /// replacement on ParameterShard::stream, as on_bucket.
  std::function<void(std::span<const ParameterShard>)> on_shard{};
  /// The number of last steps that GradientSync::write_trace writes; 0: none.
  std::size_t record = 0;
  /// The stream of a GPU on which the program computes gradients; none: they lie in memory of the
  /// host. Parameters and buckets lie in memory of the GPU that tutti::cuda::attach attached to the
  /// communicator. A second stream of GradientSync reduces them while this one computes. The stream
  /// must outlive the GradientSync. All ranks have one, or none. See docs/gradients.md. With norm,
  /// hash, check_finite and verify_every each such step waits until the GPU has reduced it. Not
  /// with compression other than f16 and bf16, nor with on_shard and check_finite together. Buckets
  /// are reduced one after the other; in_flight has no effect.
  Stream stream{};
};

/// Reads options from a file of save_gradient_options, or of `tutti gradients --settings`: a JSON
/// object with a member for each option, and comments that begin with //.
/// @param options values for options that the file lacks.
/// @return the options. Throws Error{invalid_argument} that names the file, the option and the
/// expected value.
[[nodiscard]] TUTTI_API GradientOptions load_gradient_options(const std::string& path,
                                                              GradientOptions options = {});
/// Writes the options that a file can have, such as sizes, order, storage, in_flight, algorithm and
/// compression. Throws Error.
TUTTI_API void save_gradient_options(const std::string& path, const GradientOptions& options);

/// Reduced gradients that are infinite or not a number. Equal on all ranks.
struct NotFinite {
  std::uint64_t count = 0;    ///< Their number; 0: all are finite.
  std::size_t parameter = 0;  ///< The first parameter with one.
  std::size_t bucket = 0;     ///< Its bucket.
  /// The lowest rank whose own gradients were not finite before the reduction. -1: all ranks' were
  /// finite and their sum overflowed, or gradients lie on a GPU, where only sums are checked.
  Rank rank = -1;
};

/// Report of a step, by default of the own rank.
struct StepReport {
  std::uint64_t step = 0;  ///< Number of the step, from one.
  int active = 0;          ///< Ranks that took part, see GradientSync::join.
  Duration computing{0};   ///< Time from the end of the step before to wait.
  Duration exposed{0};     ///< Time in wait without `waiting`: communication that was not hidden.
  Duration waiting{0};     ///< Time in wait until the last rank called it, see `last`.
  Duration communicating{0};  ///< Time with at least one bucket under way, without `waiting`.
  /// The share of communication that computing has hidden, 0 .. 1.
  double hidden = 1;
  Duration skew{0};  ///< Time between the first and the last rank's call of wait.
  Rank last = 0;     ///< The rank that called wait last.
  /// The 2-norm of all gradients after the reduction, with norm or max_norm.
  double norm = 0;
  /// With GradientOptions::hash a hash of all gradients after the reduction, otherwise 0; equal on
  /// all ranks. Norm and hash are taken before max_norm changes gradients. Compare two runs with as
  /// many ranks, the same options and the same plan_hash(): equal gradients have equal hashes,
  /// different ones different hashes except in one case of about 2^32. Other numbers of ranks,
  /// other plans and GPUs give other hashes for the same gradients. Unused gradients count as
  /// zeros.
  std::uint32_t hash = 0;
  /// With GradientOptions::check_finite: the reason of a void step, for loss scaling. wait throws
  /// Error{invalid_argument} as for other reasons, for which the count is 0.
  NotFinite not_finite{};
  /// Bytes of gradients that this rank sent, for an algorithm that sends none twice.
  std::uint64_t sent_bytes = 0;
  std::uint64_t plain_bytes = 0;  ///< The bytes without compression.
};

/// Times of a bucket in a step, counted from the begin of the step.
struct BucketReport {
  Duration begun{0};      ///< Start: its gradients are ready, and it is its turn.
  Duration ended{0};      ///< End: it has all ranks' gradients.
  std::size_t bytes = 0;  ///< Size of the bucket.
};

/// Reduces the gradients of a model over the ranks of a communicator (data parallelism: Li et al.,
/// "PyTorch Distributed", VLDB 2020). Buckets group the parameters, by a plan that is a pure
/// function of the parameters and that ranks compare at the start. A thread of GradientSync reduces
/// a bucket as soon as all its gradients are ready and all buckets before it have started, while
/// the program computes others. All ranks get the same bits.
///
/// Ranks synchronise at three points: broadcast_state before the first step, average_buffers before
/// the steps that need it, and each step: ready for each complete gradient, then wait. A program
/// that accumulates gradients calls neither in the earlier parts, but accumulated for gradients
/// that the last part may not use. If ranks call different things, or a rank's gradients are wrong,
/// the step is void: wait throws the same Error{invalid_argument} on all ranks, and the next step
/// may follow. Other Errors leave it failed, as for a Communicator.
///
/// Any thread may call ready. One thread at a time calls the others, and, except wait, not between
/// the first ready of a step and its wait. These are Error{invalid_argument} and disturb no other
/// call: a call of a second thread, one between ready and wait, one by on_bucket or on_shard, and
/// one in a forked child. on_bucket and on_shard may call view, and the functions that report on
/// the plan and the last step. If they destroy the GradientSync the step is void. Move-only.
class TUTTI_API GradientSync {
 public:
  /// Collective.
  /// @param world the ranks; its own calls are not disturbed.
  /// @param parameters equal on all ranks except data; copied. Throws Error{invalid_argument} for
  /// arguments that are wrong by themselves, and, on all ranks, for parameters or options that
  /// differ; the culprit is a rank in the minority.
  GradientSync(Communicator& world, std::span<const Parameter> parameters,
               const GradientOptions& options = {});
  /// Moves the object. `other` is then empty: no method of it may be called.
  GradientSync(GradientSync&& other) noexcept;
  /// Ends the own object and moves the other; `other` is then empty.
  GradientSync& operator=(GradientSync&& other) noexcept;
  /// A step without its wait fails on the other ranks. Within on_bucket and on_shard the end takes
  /// effect when these have returned. With GradientOptions::stream it waits until enqueued work is
  /// done, for the communicator's timeout at most.
  ~GradientSync();

  /// Makes arrays equal, such as parameters before the first step. Collective. With
  /// GradientOptions::stream it and average_buffers take memory of the GPU, and enqueue on the
  /// stream.
  /// @param arrays equal on all ranks except data. @param root whose values count. Throws Error.
  void broadcast_state(std::span<const Parameter> arrays, Rank root = 0);
  /// Compares arrays that should be equal, such as parameters. Collective.
  /// @param arrays equal on all ranks except data. Throws Error{invalid_argument} on all ranks,
  /// which names the first array that differs and a rank in the minority; broadcast_state then
  /// makes the arrays equal again.
  void verify_state(std::span<const Parameter> arrays);
  /// Makes arrays the mean of all ranks', such as running means of batches. Collective.
  /// @param arrays equal on all ranks except data. Throws Error.
  void average_buffers(std::span<const Parameter> arrays);

  /// @return the gradient of a parameter, with GradientStorage::views.
  [[nodiscard]] void* view(std::size_t parameter) const noexcept;

  /// Marks a gradient as used by a part of an accumulating step, so that more may be added to it
  /// before it is ready. If ready is not called for it, it is ready when wait is called. Without
  /// this call such a gradient is unused, and UnusedGradients::zeros loses what was accumulated.
  /// From any thread; wait-free. wait reports an invalid index.
  void accumulated(std::size_t parameter) noexcept;
  /// Marks a gradient as complete; it belongs to GradientSync until wait returns. With
  /// GradientOptions::stream: its computation is enqueued there, and work enqueued after wait runs
  /// after its reduction. Wait-free: about 20 ns, and a system call if it completes a bucket and
  /// the thread sleeps, or the driver's time to record an event. wait reports an invalid index, and
  /// a gradient that was ready before.
  void ready(std::size_t parameter) noexcept;
  /// Waits until all gradients are reduced. With GradientOptions::stream: until the reductions are
  /// enqueued on all ranks. The stream waits for them, the host does not; times in reports are
  /// those of enqueuing, and a later call, or synchronize, throws errors of the GPU. A stream in
  /// the capture of a graph ends GradientSync on all ranks. Throws Error, see above.
  /// @return the report of the step.
  const StepReport& wait();
  /// Waits, between steps, until GradientOptions::stream has done all enqueued work, as
  /// tutti::cuda::wait does for other calls. Only then gradients are known to be right, since a
  /// rank that dies may leave others with data that it has not sent. On an error, work under way is
  /// aborted, so that the stream continues, and GradientSync has failed. Without
  /// GradientOptions::stream it returns at once. Throws Error{invalid_argument, timeout, peer_dead,
  /// transport}.
  void synchronize(Duration timeout = std::chrono::seconds{300});
  /// Takes part in the steps of others with zeros, which do not count for the mean, until no rank
  /// has data left. Collective over the ranks without data. Not with on_bucket, on_shard, groups or
  /// state, nor between ready and the wait of a step, which then is void. Throws as wait.
  /// @return the number of such steps.
  std::uint64_t join();

  /// @return the report of the last step.
  [[nodiscard]] const StepReport& last_step() const noexcept;
  /// @return the report of its buckets, in the order of buckets() before that step: an observed
  /// order changes them after the first step.
  [[nodiscard]] const std::vector<BucketReport>& last_buckets() const noexcept;
  /// @return the parameters of each bucket, in the order in which buckets start.
  [[nodiscard]] std::vector<std::vector<std::size_t>> buckets() const;
  /// @return a number that is equal for equal plans.
  [[nodiscard]] std::uint64_t plan_hash() const noexcept;
  /// @return the order of parameters in buckets, for GradientOptions::known_order.
  [[nodiscard]] std::vector<std::size_t> order() const;
  /// @return the parts that on_shard gets on this rank, by bucket.
  [[nodiscard]] std::vector<std::vector<ParameterShard>> shards() const;
  /// Writes the times of the recorded steps of all ranks in the format of Chrome's traces, which
  /// ui.perfetto.dev shows and `tutti gradients` replays. Clocks of other hosts are aligned by
  /// messages. Collective, between steps. Rank 0 writes the file. Throws Error, the same on all
  /// ranks.
  void write_trace(const std::string& path);

 private:
  friend class detail::SyncAccess;
  class [[gnu::visibility("hidden")]] State;
  std::shared_ptr<State> state_;
};

}  // namespace tutti::v0

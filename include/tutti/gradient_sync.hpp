/// @file
/// GradientSync: the gradients of a model, reduced over ranks while they are still computed.
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

/// An array of the program's that GradientSync reduces, or makes equal.
struct Parameter {
  std::string name{};  ///< For error texts; equal on all ranks.
  /// Its gradient; null where GradientStorage::views. With GradientOptions::stream in memory of a
  /// GPU.
  void* data = nullptr;
  std::size_t count = 0;          ///< Elements.
  Datatype type = Datatype::f32;  ///< f16, bf16, f32 or f64.
  std::uint32_t group = 0;        ///< 0: all ranks; k: GradientOptions::groups[k - 1].
  std::uint64_t layout = 0;       ///< A number for shape and strides, which all ranks compare.
  /// Rows of the matrix that it is, in row-major order, for compression to a low rank; 0: it is
  /// none.
  std::size_t rows = 0;
  /// Whether data is memory of Communicator::allocate that peers see; equal on all ranks. Then
  /// they read and write it where it lies, with GradientStorage::flat and, from
  /// GradientOptions::in_place_bytes on, with GradientStorage::copies.
  bool visible = false;
  /// With GradientOptions::on_shard: where all ranks store what was made of the gradient, such as
  /// the updated weights; null: where the gradient lies. As many elements of the same type.
  void* result = nullptr;
  /// Whether it is one parameter with an array before it in the list, under another name, as tied
  /// weights are: both have the same data, count, type and group. It is reduced once, when ready
  /// was called for all of its names, and is unused where it was called for none; it has the index
  /// of the first name in buckets() and in callbacks. Arrays of a list that overlap otherwise are
  /// an Error{invalid_argument} that names both. Not with GradientStorage::views. Equal on all
  /// ranks.
  bool tied = false;
  /// @param name for error texts. @param elements the gradient. @return the parameter.
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
  std::size_t index = 0;                      ///< In the order in which buckets start.
  std::span<const std::size_t> parameters{};  ///< Which lie in it.
  bool is_last = false;                       ///< Of this step.
  Stream stream{};  ///< With GradientOptions::stream: the one on which it is reduced.
};

/// A part of a parameter that one rank owns: of the bucket, as reduce_scatter divides it.
struct ParameterShard {
  std::size_t parameter = 0;  ///< Its index.
  std::size_t first = 0;      ///< Of its elements the first one in this part.
  std::size_t count = 0;      ///< Elements.
  /// The reduced gradient of them, to be replaced by what all ranks are to get; null in
  /// GradientSync::shards.
  void* data = nullptr;
  /// With GradientOptions::stream: on which to enqueue that; none in GradientSync::shards.
  Stream stream{};
  /// Elements in front of this part in an array that has all parts of this rank one behind the
  /// other, as GradientSync::shards lists them: for moments, see gather_shards.
  std::size_t offset = 0;
};

/// The options of a GradientSync. Equal on all ranks, but for on_bucket and on_shard.
struct GradientOptions {
  /// As bucket_bytes: one bucket for each type and group, which is reduced when all are ready.
  static constexpr std::size_t kFlat = ~std::size_t{0};
  /// Bytes of a bucket at most, but one of a single parameter. 0: each parameter by itself.
  std::size_t bucket_bytes = std::size_t{4} << 20;
  /// The same of the first bucket, which starts early where it is small.
  std::size_t first_bucket_bytes = std::size_t{1} << 20;
  /// With GradientStorage::copies: a parameter of this size in bytes or more is a bucket by itself,
  /// and is reduced in its own memory, since two copies cost more than larger buckets gain. This
  /// holds for all parameters if ranks see no memory of each other, as over a network, and else for
  /// those with Parameter::visible in memory of the host. Not with UnusedGradients::detect, nor
  /// with kFlat.
  std::size_t in_place_bytes = std::size_t{1} << 20;
  GradientOrder order = GradientOrder::automatic;  ///< See GradientOrder.
  /// An order that GradientSync::order() returned, so that a run continues with the same bits;
  /// empty: from last to first. With it none is observed.
  std::vector<std::size_t> known_order{};
  GradientStorage storage = GradientStorage::copies;  ///< See GradientStorage.
  UnusedGradients unused = UnusedGradients::error;    ///< See UnusedGradients.
  bool average = true;  ///< Whether ranks get the mean over the active ranks, or the sum.
  /// Whether a gradient that is infinite or no number makes the step void: an Error on all ranks,
  /// whose culprit is the rank that computed such a gradient; see StepReport::not_finite. Costs one
  /// more pass over the own gradients.
  bool check_finite = false;
  bool norm = false;  ///< Whether StepReport::norm is wanted.
  /// The largest 2-norm of all reduced gradients together, for clipping: if theirs is larger, all
  /// ranks multiply them by max_norm / norm. 0: no limit. StepReport::norm is the norm before. If
  /// it is infinite or no number nothing is multiplied; check_finite makes such a step void. Costs
  /// a small all_reduce when all buckets are reduced. on_bucket is called only then. With on_shard
  /// all parts wait for the last bucket, so that computing hides the first halves of reductions
  /// only. Not with `stream`, where ranks would wait for their GPUs.
  double max_norm = 0;
  bool hash = false;  ///< Whether StepReport::hash is wanted, to find where two runs differ.
  /// The format in which gradients are sent, see kGradientCompressions; empty: their own. Sums are
  /// of f32 then. "f16" and "bf16"; "int8" (one scale for 256 elements; "int8:64" for 64);
  /// "one_bit" (sign and mean size of 1024 elements, or of the number behind a colon); "power_sgd"
  /// (matrices as products of rank 2, or of that number); "top_k" (the largest 0.01 of all
  /// elements, or that share). docs/training.md has their errors. one_bit, power_sgd and top_k add
  /// the elements that they left out to the gradients of the next step.
  std::string compression{};
  /// The first `compression_after` steps are not compressed. Gradients are large and change fast in
  /// these steps, which one_bit and top_k may spoil.
  int compression_after = 0;
  /// Every `verify_every` steps, ranks compare hashes of reduced gradients and of `state`. 0
  /// disables this.
  int verify_every = 0;
  /// Every `resync_every` steps, `state` is broadcast from rank 0. 0 disables this.
  int resync_every = 0;
  /// Arrays that are equal on all ranks when wait is called, such as weights and moments, for
  /// verify_every and resync_every. Equal on all ranks but for data, as parameters are.
  std::vector<Parameter> state{};
  /// Other sets of ranks that share parameters, as where a model is divided. They must live.
  std::vector<Communicator*> groups{};
  int in_flight = 2;    ///< Buckets that are reduced at the same time, at most; 1 or more.
  Duration timeout{0};  ///< Of a bucket, and of the step's end; zero: the communicator's.
  /// As Options::algorithm of all_reduce, for buckets that are reduced by one; empty chooses. Two
  /// halves, as with on_shard and compression, choose their own.
  std::string algorithm{};
  /// Called by GradientSync's thread for each bucket that has been reduced, in their order, so that
  /// an optimizer runs while others are reduced. An exception makes the step void. It may see
  /// gradients of a step that becomes void later. With `stream` it is called when the reduction is
  /// enqueued, so that nothing has been reduced yet, and work that it enqueues on
  /// ReducedBucket::stream runs after the reduction; the GPU is the thread's current one.
  std::function<void(const ReducedBucket&)> on_bucket{};
  /// Called by GradientSync's thread for the part of each bucket that this rank owns, when it is
  /// reduced: an optimizer replaces the gradients by updated weights, with moments for its own part
  /// only, and then all ranks get these weights (ZeRO stage 1: Rajbhandari et al., SC 2020). An
  /// exception makes the step void: weights in Parameter::result keep their values, but for those
  /// of other buckets, which may have been updated by then. With max_norm or check_finite it is
  /// called when all buckets are reduced and ranks have agreed that the step is good: never in a
  /// step that is void because of gradients, so that all weights in Parameter::result keep their
  /// values. Neither with GradientOrder::observed, nor with compression. With `stream`: as
  /// on_bucket, it enqueues what replaces the gradients on ParameterShard::stream.
  std::function<void(std::span<const ParameterShard>)> on_shard{};
  /// The number of last steps that GradientSync::write_trace writes.
  std::size_t record = 0;
  /// The stream of a GPU on which the program computes gradients; none: they lie in memory of the
  /// host. Parameters lie in memory of the GPU that tutti::cuda::attach attached to the
  /// communicator, buckets too, and a stream of GradientSync's own reduces them beside this one,
  /// which lives as long as the GradientSync. All ranks have one, or none. See docs/gradients.md.
  /// With norm, hash, check_finite and verify_every each such step waits until the GPU has reduced
  /// it. Not with compression other than f16 and bf16, nor with on_shard and check_finite both;
  /// buckets follow each other whatever in_flight.
  Stream stream{};
};

/// @param path of a file that save_gradient_options, or `tutti gradients --settings`, wrote: an
/// object in JSON with a member for each option, and comments that begin with //. @param options
/// the values of options that the file does not name. @return the options. Throws
/// Error{invalid_argument} that names the file, the option and what was expected.
[[nodiscard]] TUTTI_API GradientOptions load_gradient_options(const std::string& path,
                                                              GradientOptions options = {});
/// Writes the options that a file can have: sizes, order, storage, in_flight, algorithm,
/// compression and the like. @param path of the file. @param options what to write. Throws Error.
TUTTI_API void save_gradient_options(const std::string& path, const GradientOptions& options);

/// Reduced gradients that are infinite or no numbers. Equal on all ranks.
struct NotFinite {
  std::uint64_t count = 0;    ///< How many; 0 means that all are finite.
  std::size_t parameter = 0;  ///< The first parameter that has one.
  std::size_t bucket = 0;     ///< Its bucket.
  /// The lowest rank whose own gradients were not finite before the reduction; -1: all ranks' were,
  /// and their sum overflowed, or gradients lie on a GPU, where only sums are checked.
  Rank rank = -1;
};

/// The report of a step. Times and bytes are those of the own rank.
struct StepReport {
  std::uint64_t step = 0;     ///< Counted from one.
  int active = 0;             ///< Ranks with gradients of their own, see GradientSync::join.
  Duration computing{0};      ///< From the end of the step before to wait.
  Duration exposed{0};        ///< What wait took beside `waiting`: communication not hidden.
  Duration waiting{0};        ///< Of wait: until the last rank called it, see `last`.
  Duration communicating{0};  ///< While at least one bucket was reduced, without `waiting`.
  /// The share of communication that computing has hidden, 0 .. 1.
  double hidden = 1;
  Duration skew{0};  ///< By how much later than the first rank the last one called wait.
  Rank last = 0;     ///< The rank that called wait last: others have waited for it.
  /// The 2-norm of all gradients after the reduction, where norm or max_norm was wanted.
  double norm = 0;
  /// A hash of all gradients after the reduction, where it was wanted, else 0; equal on all ranks.
  /// Both are of gradients as they are before max_norm.
  /// The hashes of two runs with the same number of ranks, options and plan_hash() are equal if
  /// every bit of the gradients is, and else differ but for one case in 2^32 or so. Other numbers
  /// of ranks, other plans and GPUs make other hashes of the same gradients. Unused gradients count
  /// as zeros.
  std::uint32_t hash = 0;
  /// With GradientOptions::check_finite: what made the step void, for loss scaling. wait throws
  /// Error{invalid_argument}, as it does for other reasons; for those the count is 0.
  NotFinite not_finite{};
  /// Bytes of gradients that this rank sent, as an algorithm does that sends none twice.
  std::uint64_t sent_bytes = 0;
  std::uint64_t plain_bytes = 0;  ///< The same without compression.
};

/// When a bucket was reduced in a step, counted from the step's beginning.
struct BucketReport {
  Duration begun{0};      ///< Its gradients were ready, and its turn had come.
  Duration ended{0};      ///< All ranks' gradients were in it.
  std::size_t bytes = 0;  ///< Its size.
};

/// Reduces the gradients of a model over the ranks of a communicator (data parallelism: Li et al.,
/// "PyTorch Distributed", VLDB 2020). Parameters are put together in buckets, by a plan that is a
/// pure function of what they are and that ranks compare at the start. A bucket is reduced by a
/// thread of GradientSync's own as soon as all its gradients are ready and all buckets before it
/// have started, while the program computes others. All ranks get the same bits.
///
/// Ranks communicate at three points of a program: broadcast_state before the first step,
/// average_buffers before the steps that need it, and the steps themselves: ready for each
/// parameter when its gradient is done, wait when all are. For steps that only accumulate gradients
/// a program calls neither, and accumulated for those that the last one may not use. What a rank
/// calls differently, or what is wrong with the gradients of one, makes the step void: wait throws
/// the same Error{invalid_argument} on all ranks, and the next step may follow. Other Errors leave
/// it failed, as of a Communicator.
///
/// ready may be called from any threads; the others from one at a time, and but for wait not
/// between the first ready of a step and its wait. A call of a second thread, one between ready
/// and wait, one by on_bucket or on_shard, and one in a forked child is Error{invalid_argument},
/// and disturbs no other call; but view and the calls that return the plan and the last step may be
/// called by on_bucket and on_shard. If one of these destroys the GradientSync, the step is void.
/// Move-only.
class TUTTI_API GradientSync {
 public:
  /// Collective. @param world whose ranks take part; calls of its own are not disturbed.
  /// @param parameters equal on all ranks but for data; kept. @param options see GradientOptions.
  /// Throws Error{invalid_argument} for what is wrong by itself, and, on all ranks, for parameters
  /// or options that differ, with the rank that has others than most.
  GradientSync(Communicator& world, std::span<const Parameter> parameters,
               const GradientOptions& options = {});
  /// @param other is empty afterwards, and no method of it may be called.
  GradientSync(GradientSync&& other) noexcept;
  /// Ends the own state. @param other is empty afterwards. @return this.
  GradientSync& operator=(GradientSync&& other) noexcept;
  /// A step that has begun and was not waited for fails on the other ranks. Within on_bucket and
  /// on_shard it takes effect when these have returned. With GradientOptions::stream it waits until
  /// what was enqueued is done, for the communicator's timeout at most.
  ~GradientSync();

  /// Makes arrays equal, such as parameters before the first step. Collective. With
  /// GradientOptions::stream this and average_buffers need memory of the GPU, and enqueue.
  /// @param arrays equal on all ranks but for data. @param root whose values count. Throws Error.
  void broadcast_state(std::span<const Parameter> arrays, Rank root = 0);
  /// Compares arrays that should be equal, such as parameters. Collective.
  /// @param arrays equal on all ranks but for data. Throws Error{invalid_argument} on all ranks
  /// that names the first array that differs and a rank that has others than most; then
  /// broadcast_state makes them equal again.
  void verify_state(std::span<const Parameter> arrays);
  /// Makes arrays the mean of all ranks', such as running means of batches. Collective.
  /// @param arrays equal on all ranks but for data. Throws Error.
  void average_buffers(std::span<const Parameter> arrays);

  /// @param parameter an index. @return where its gradient lies, with GradientStorage::views.
  [[nodiscard]] void* view(std::size_t parameter) const noexcept;

  /// A gradient was written by a step that only accumulates, so that more may be added to it before
  /// it is ready: it is used in this step, and if ready is not called for it, since what follows
  /// does not use it, it is ready when wait is called. Without this call such a gradient is an
  /// unused one, and what was accumulated is lost with UnusedGradients::zeros. From any thread;
  /// wait-free. wait reports an index that is none. @param parameter an index.
  void accumulated(std::size_t parameter) noexcept;
  /// A gradient is done, and is GradientSync's until wait returns. With GradientOptions::stream:
  /// what makes it is enqueued there, and what is enqueued after wait comes after its reduction.
  /// Wait-free: some 20 ns, and a system call where it completes a bucket and the thread sleeps, or
  /// the driver's time to record an event. An index that is none, and one that is ready already,
  /// are told by wait. @param parameter an index.
  void ready(std::size_t parameter) noexcept;
  /// Waits until all are reduced. With GradientOptions::stream: until that is enqueued on all
  /// ranks, and the stream waits for it, but the host does not; times in reports are those of
  /// enqueuing, and what fails on the GPU is thrown by a later call, or by synchronize. A stream
  /// that is captured in a graph ends GradientSync on all ranks. Throws Error, see above.
  /// @return how the step went.
  const StepReport& wait();
  /// Waits, between steps, until GradientOptions::stream has done all that was enqueued on it, as
  /// tutti::cuda::wait does for calls of the program's own: only then gradients are known to be
  /// right, since a rank that dies may leave others with what it has not sent. Where that fails all
  /// that is enqueued is aborted, so that the stream continues, and GradientSync has failed.
  /// Without GradientOptions::stream there is nothing to wait for. @param timeout how long to wait.
  /// Throws Error{invalid_argument, timeout, peer_dead, transport}.
  void synchronize(Duration timeout = std::chrono::seconds{300});
  /// Joins the steps of other ranks with zeros, which do not count for the mean, until no rank
  /// has data any more: for ranks that run out of data earlier. Collective over those that have.
  /// Not with on_bucket, on_shard, groups or state, nor between ready and the step's wait: that
  /// step is void.
  /// Throws as wait. @return how many steps of others there were.
  std::uint64_t join();

  /// @return how the last step went.
  [[nodiscard]] const StepReport& last_step() const noexcept;
  /// @return how its buckets went, in the order of buckets() before that step: an order that is
  /// observed changes them after the first one.
  [[nodiscard]] const std::vector<BucketReport>& last_buckets() const noexcept;
  /// @return the buckets of the plan: which parameters lie in each, in the order in which they
  /// start.
  [[nodiscard]] std::vector<std::vector<std::size_t>> buckets() const;
  /// @return a number that is equal where plans are.
  [[nodiscard]] std::uint64_t plan_hash() const noexcept;
  /// @return the order of parameters in buckets, for GradientOptions::known_order.
  [[nodiscard]] std::vector<std::size_t> order() const;
  /// @return the parts of parameters whose gradients on_shard gets on this rank, by bucket.
  [[nodiscard]] std::vector<std::vector<ParameterShard>> shards() const;
  /// Writes the times of the steps that were recorded, of all ranks, in the format of Chrome's
  /// traces, which ui.perfetto.dev shows, and `tutti gradients` replays. Clocks of other hosts are
  /// set by messages. Collective, between steps. @param path of the file, which rank 0 writes.
  /// Throws Error, the same on all ranks.
  void write_trace(const std::string& path);

 private:
  friend class detail::SyncAccess;
  class [[gnu::visibility("hidden")]] State;
  std::shared_ptr<State> state_;
};

}  // namespace tutti::v0

/// @file
/// GradientSync: the gradients of a model, reduced over ranks while they are still computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tutti/communicator.hpp>
#include <tutti/export.hpp>

namespace tutti::inline v0 {

/// An array of the program's that GradientSync reduces, or makes equal.
struct Parameter {
  std::string name{};             ///< For error texts; equal on all ranks.
  void* data = nullptr;           ///< Its gradient; null where GradientStorage::views.
  std::size_t count = 0;          ///< Elements.
  Datatype type = Datatype::f32;  ///< f16, bf16, f32 or f64.
  std::uint32_t group = 0;        ///< 0: all ranks; k: GradientOptions::groups[k - 1].
  std::uint64_t layout = 0;       ///< A number for shape and strides, which all ranks compare.
  /// @param name for error texts. @param elements the gradient. @return the parameter.
  template <MutableElements R>
  [[nodiscard]] static Parameter of(std::string name, R&& elements) {
    return {.name = std::move(name),
            .data = std::ranges::data(elements),
            .count = std::ranges::size(elements),
            .type = datatype_of<ElementOf<R>>()};
  }
};

/// In which order buckets are filled and reduced.
enum class GradientOrder : std::uint8_t {
  reversed,  ///< Parameters from last to first, as backward goes through most models.
  observed   ///< So at first; from the second step on as they became ready on rank 0 in the first.
};

/// Where gradients lie.
enum class GradientStorage : std::uint8_t {
  copies,  ///< In the program's arrays; buckets are copies, in memory that peers see.
  views,   ///< In the buckets: GradientSync::view says where. Not with GradientOrder::observed.
  flat     ///< In one array of the program's, in the order of parameters, with nothing between
           ///< them; buckets are parts of it. Not with GradientOrder::observed.
};

/// What becomes of gradients that are not ready when wait is called.
enum class UnusedGradients : std::uint8_t {
  error,  ///< The step ends in an Error that names one, on all ranks.
  zeros,  ///< They count as zeros.
  detect  ///< They count as zeros, and stay as they are where no rank has them. Not with flat.
};

/// A bucket that has been reduced.
struct ReducedBucket {
  std::size_t index = 0;                      ///< In the order in which buckets start.
  std::span<const std::size_t> parameters{};  ///< Which lie in it.
  bool is_last = false;                       ///< Of this step.
};

/// How gradients are reduced. Equal on all ranks, but for on_bucket.
struct GradientOptions {
  /// As bucket_bytes: one bucket for each type and group, which is reduced when all are ready.
  static constexpr std::size_t kFlat = ~std::size_t{0};
  /// Bytes of a bucket at most, but one of a single parameter. 0: each parameter by itself.
  std::size_t bucket_bytes = std::size_t{25} << 20;
  /// The same of the first bucket, which starts early where it is small.
  std::size_t first_bucket_bytes = std::size_t{1} << 20;
  GradientOrder order = GradientOrder::observed;      ///< See GradientOrder.
  GradientStorage storage = GradientStorage::copies;  ///< See GradientStorage.
  UnusedGradients unused = UnusedGradients::error;    ///< See UnusedGradients.
  bool average = true;  ///< Whether ranks get the mean over those that take part, or the sum.
  /// Whether a gradient that is infinite or no number makes the step void: an Error on all ranks.
  bool check_finite = false;
  bool norm = false;  ///< Whether StepReport::norm is wanted, for clipping.
  /// Every so many steps ranks compare hashes of what they got; 0 never.
  int verify_every = 0;
  /// Other sets of ranks that share parameters, as where a model is divided. They must live.
  std::vector<Communicator*> groups{};
  /// Buckets that are reduced at the same time, at most; 1 or more. One with check_finite or norm.
  int in_flight = 2;
  Duration timeout{0};      ///< Of a bucket, and of the step's end; zero takes the communicator's.
  std::string algorithm{};  ///< As Options::algorithm, for buckets; empty chooses.
  /// Called by GradientSync's thread for each bucket that has been reduced, in their order, so that
  /// an optimizer runs while others are under way. What it throws makes the step void. Gradients of
  /// a step that is void may have been seen by it.
  std::function<void(const ReducedBucket&)> on_bucket{};
};

/// How a step went. Of the own rank where nothing else is said.
struct StepReport {
  std::uint64_t step = 0;     ///< Counted from one.
  int active = 0;             ///< Ranks that took part, see GradientSync::join.
  Duration computing{0};      ///< From the end of the step before to wait.
  Duration exposed{0};        ///< What wait took: communication that was not hidden.
  Duration communicating{0};  ///< While at least one bucket was under way.
  /// The share of communication that computing has hidden, 0 .. 1.
  double hidden = 1;
  Duration skew{0};  ///< By how much wait took longer on the first rank than on the last.
  Rank last = 0;     ///< The rank whose wait was the shortest: others have waited for it.
  double norm = 0;   ///< The 2-norm of all gradients after the reduction, where it was wanted.
};

/// Reduces the gradients of a model over the ranks of a communicator (data parallelism: Li et al.,
/// "PyTorch Distributed", VLDB 2020). Parameters are put together in buckets, by a plan that is a
/// pure function of what they are and that ranks compare at the start. A bucket is reduced by a
/// thread of GradientSync's own as soon as all its gradients are ready and all buckets before it
/// have started, while the program computes others. All ranks get the same bits.
///
/// There are three points of a program where ranks meet: broadcast_state before the first step,
/// sync_buffers before the steps that need it, and the steps themselves: ready for each parameter
/// when its gradient is done, wait when all are. For steps that only accumulate gradients a program
/// calls neither. What a rank calls differently, or what is wrong with the gradients of one, makes
/// the step void: wait throws the same Error{invalid_argument} on all ranks, and the next step may
/// follow. Other Errors leave it failed, as of a Communicator.
///
/// ready may be called from any threads; the others from one at a time. Move-only.
class TUTTI_API GradientSync {
 public:
  /// Collective. @param world whose ranks take part; calls of its own are not disturbed.
  /// @param parameters equal on all ranks but for data; kept. @param options see GradientOptions.
  /// Throws Error{invalid_argument} for what is wrong by itself, and, on all ranks, for parameters
  /// or options that differ, with the rank that has others than most.
  GradientSync(Communicator& world, std::span<const Parameter> parameters,
               const GradientOptions& options = {});
  /// Takes it over. @param other is empty afterwards, and no method of it may be called.
  GradientSync(GradientSync&& other) noexcept;
  /// Takes the other over and ends its own. @param other is empty afterwards. @return this.
  GradientSync& operator=(GradientSync&& other) noexcept;
  /// A step that has begun and was not waited for fails on the other ranks.
  ~GradientSync();

  /// Makes arrays equal, such as parameters before the first step. Collective.
  /// @param arrays equal on all ranks but for data. @param root whose values count. Throws Error.
  void broadcast_state(std::span<const Parameter> arrays, Rank root = 0);
  /// Makes arrays the mean of all ranks', such as running means of batches. Collective.
  /// @param arrays equal on all ranks but for data. Throws Error.
  void average_buffers(std::span<const Parameter> arrays);

  /// @param parameter an index. @return where its gradient lies, with GradientStorage::views.
  [[nodiscard]] void* view(std::size_t parameter) const noexcept;

  /// A gradient is done, and is GradientSync's until wait returns. Wait-free: some 20 ns, and a
  /// system call where it completes a bucket and the thread sleeps. An index that is none, and one
  /// that is ready already, are told by wait. @param parameter an index.
  void ready(std::size_t parameter) noexcept;
  /// Waits until all are reduced. Throws Error, see above.
  /// @return how the step went.
  const StepReport& wait();
  /// Takes part in the steps of others with zeros, which do not count for the mean, until no rank
  /// has data any more: for ranks that run out of data earlier. Collective over those that have.
  /// Throws as wait. @return how many steps of others there were.
  std::uint64_t join();

  /// @return how the last step went.
  [[nodiscard]] const StepReport& last_step() const noexcept;
  /// @return the buckets of the plan: which parameters lie in each, in the order in which they
  /// start.
  [[nodiscard]] std::vector<std::vector<std::size_t>> buckets() const;
  /// @return a number that is equal where plans are.
  [[nodiscard]] std::uint64_t plan_hash() const noexcept;

 private:
  class [[gnu::visibility("hidden")]] State;
  std::unique_ptr<State> state_;
};

}  // namespace tutti::inline v0

/// @file
/// What stands behind a GradientSync.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <tutti/gradient_sync.hpp>
#include <tutti/spi/fork_guard.hpp>
#include <tutti/spi/occupancy.hpp>
#include <tutti/spi/sole_caller.hpp>

#include "bucket_reduction.hpp"
#include "gradient_plan.hpp"
#include "gradient_streams.hpp"
#include "kept_state.hpp"

namespace tutti::v0 {

namespace detail {

/// When a bucket was reduced.
struct BucketTimes {
  using Time = std::chrono::steady_clock::time_point;
  Time begun{};   ///< Its copying in, then its first collective.
  Time middle{};  ///< The end of that.
  Time ended{};   ///< It has its result.
};

/// When a step was taken.
struct StepTimes {
  using Time = BucketTimes::Time;
  std::uint64_t step = 0;  ///< Counted from one.
  Time began{};
  Time waited{};                       ///< When wait was called.
  Time ended{};                        ///< When it returned.
  std::vector<Time> ready{};           ///< By parameter; the epoch where it was not.
  std::vector<BucketTimes> buckets{};  ///< By bucket.
};

}  // namespace detail

/// The program's thread marks gradients as ready and waits for the end of the step; a thread of its
/// own fills buckets, reduces them, and ends the step. In between they share atomic words only.
class GradientSync::State {
 public:
  /// A call of the program's: of one thread at a time, in the process that made the GradientSync,
  /// and by none of its callbacks.
  class Call;

  /// Collective. See GradientSync. @return it, whose thread runs until end.
  [[nodiscard]] static std::shared_ptr<State> make(Communicator& world,
                                                   std::span<const Parameter> parameters,
                                                   const GradientOptions& options);
  State(Communicator& world, std::span<const Parameter> parameters, const GradientOptions& options);
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() = default;

  // For checkpoints: gradient_kept.cpp.
  [[nodiscard]] std::vector<Parameter> kept_parameters() const;
  [[nodiscard]] const Communicator& world() const noexcept { return groups_[0]; }
  [[nodiscard]] bool has_groups() const noexcept { return !options_.groups.empty(); }
  [[nodiscard]] detail::KeptState kept();
  void restore(const std::shared_ptr<State>& self, std::uint64_t step,
               std::span<const std::size_t> order);
  void check_between_steps(const char* call) const;

 private:
  friend class GradientSync;
  using Clock = std::chrono::steady_clock;
  /// A bucket, from when its reduction starts.
  struct Flight {
    std::unique_ptr<detail::BucketReduction> reduction{};
    Request request{};
    detail::BucketTimes times{};
  };
  /// How far a step is: so many buckets of the sequence have got there.
  struct Reached {
    std::size_t begun = 0;   // their first collective has started
    std::size_t seen = 0;    // it has ended, and they were looked at
    std::size_t middle = 0;  // their second has, where there is one
    std::size_t ended = 0;   // they have their result
  };
  /// The agreement of ranks when all gradients are reduced, and none is used yet.
  struct Verdict {
    bool is_there = false;
    bool is_good = true;  // else the step is void
    double factor = 1;    // of gradients
  };
  /// What ranks tell each other at the end of a step, as sums.
  struct Ending;
  /// Ranks that do not have what most have.
  struct Difference {
    std::string text{};
    Rank rank = -1;  // of all ranks, or -1 where no single one differs from most
  };

  // By the program's thread: gradient_sync.cpp, gradient_calls.cpp, gradient_arrays.cpp.
  [[nodiscard]] static const std::shared_ptr<State>& checked(const std::shared_ptr<State>& state);
  void run_between_steps(const char* call, const std::function<void()>& collectives);
  void agree_on(const std::function<void()>& part);
  void end() noexcept;
  static void end(std::shared_ptr<State> state) noexcept;
  [[nodiscard]] bool is_own_thread() const noexcept { return own_of_thread == this; }
  [[nodiscard]] std::vector<Parameter> checked_arrays(std::span<const Parameter> arrays);
  void accumulated(std::size_t parameter) noexcept;
  void ready(std::size_t parameter) noexcept;
  const StepReport& wait(bool is_active);
  void synchronize(Duration timeout);
  void begin(Communicator& world, const std::shared_ptr<State>& self);
  void connect(Communicator& world);
  [[nodiscard]] bool is_ours(const detail::Bucket& bucket) const noexcept {
    return options_.storage != GradientStorage::flat && !bucket.is_in_place;
  }
  [[nodiscard]] std::vector<Buffer<std::byte>> make_buffers();
  [[nodiscard]] std::vector<Buffer<std::byte>> make_buffers_on_gpu();
  void count_down(std::size_t bucket) noexcept;
  void adopt(std::span<const std::size_t> order);
  [[nodiscard]] detail::BucketContext context_of(std::size_t bucket);
  [[nodiscard]] bool is_visible(std::size_t bucket) const;
  void call_on_shard(std::size_t bucket, const detail::Block& block, std::byte* own);
  [[nodiscard]] std::vector<ParameterShard> parts_of(std::size_t bucket, const detail::Block& block,
                                                     std::byte* own) const;
  void make_reductions();
  void prepare_next(bool is_good);
  void start(std::shared_ptr<State> self);
  void rebuild();
  void reset() noexcept;
  void check_join() noexcept;
  void finish_missing(bool is_active) noexcept;
  void broadcast_arrays(std::span<const Parameter> arrays, Rank root);
  void record_step() noexcept;
  void check_failure() const;
  void fail(const Error& cause) noexcept {
    try {
      failure_ = cause;
    } catch (...) {
      failure_.emplace(cause.code(), "out of memory");  // which is short enough to need none
    }
    has_failed_.store(true, std::memory_order_release);
  }
  void end_as_caught() noexcept;
  /// Something is wrong with this step, which is void then, on this rank. @param words makes the
  /// text.
  template <class Words>
  requires std::is_invocable_v<Words>
  void note(Words words) noexcept { note_of(groups_[0].rank(), words); }
  /// The same, where another rank is at fault. @param culprit it, or -1.
  template <class Words>
  void note_of(Rank culprit, Words words) noexcept {
    const std::lock_guard lock{mutex_};
    if (problem_.empty()) try {
        culprit_ = culprit;
        problem_ = words();
      } catch (...) {
        problem_ = "out of memory";  // which is short enough to need none
      }
  }
  void note_unmarked(const Error& cause) noexcept;
  [[nodiscard]] std::string problem() {
    const std::lock_guard lock{mutex_};
    return problem_;
  }
  void wake() noexcept {
    signal_.fetch_add(1, std::memory_order_release);
    signal_.notify_one();
  }

  // By the own thread, while gradients are reduced: gradient_step.cpp.
  void run() noexcept;
  [[nodiscard]] bool reduce_all(std::uint32_t step);
  void check_callbacks() const;
  [[nodiscard]] bool advance(Reached& reached);
  void sequence();
  void negotiate();
  void abort_streams(const Error& cause) noexcept {
    if (streams_) streams_->abort(cause);
  }
  [[nodiscard]] bool is_ready_for_sequence(std::size_t bucket) const noexcept;
  [[nodiscard]] bool is_waiting_for_gradients() const noexcept;
  template <class Condition>
  [[nodiscard]] bool await(Condition condition) noexcept;
  void begin(std::size_t bucket);
  void end(std::size_t bucket);
  void copy_in(std::size_t bucket);
  void keep(std::size_t parameter);
  void copy(std::byte* to, const std::byte* from, std::size_t bytes);
  void clear(std::byte* to, std::size_t bytes);
  void store(std::size_t parameter);
  template <class Function>
  bool guarded(const char* name, Function function) noexcept;
  void call_back(std::size_t bucket, std::span<const std::size_t> parameters) noexcept;

  // By the own thread, when all gradients are reduced: gradient_verdict.cpp.
  void agree_on_use();
  void add_findings() noexcept;
  void clip();
  /// Whether buckets that are reduced wait until ranks have agreed on all of them.
  [[nodiscard]] bool is_clipping() const noexcept {
    return options_.max_norm > 0 && !options_.on_shard;
  }
  [[nodiscard]] bool is_holding() const noexcept {
    return detail::holds_shards(options_) && !verdict_.is_there;
  }

  // By the own thread, at the end of a step: gradient_ending.cpp.
  void end_step();
  void prepare_reports();
  void check_stream() noexcept;
  void agree_on_cut();
  void read_findings();
  void report_step(Ending& ending);
  [[nodiscard]] Duration communicating_within(Clock::time_point begin, Clock::time_point end) const;
  void agree_on_used();
  void keep_unused();
  void verify_gradients();
  void rescale(double factor);
  [[nodiscard]] std::optional<Difference> difference_in(Communicator& ranks,
                                                        std::span<const std::byte> bytes);

  // Errors of a step, for all ranks: gradient_errors.cpp.
  [[nodiscard]] std::optional<Error> agreed_problem(double problems, double not_finite);
  [[nodiscard]] Error agreed_not_finite(double count);
  [[nodiscard]] std::size_t first_not_finite(std::size_t bucket);
  [[nodiscard]] Error located(Error cause) const noexcept;
  [[nodiscard]] std::string name_of_parameter(std::size_t parameter) const {
    return std::to_string(parameter) + " '" + parameters_[parameter].name + "'";
  }

  [[nodiscard]] bool is_every(int steps) const noexcept {
    return steps > 0 && report_.step % static_cast<std::uint64_t>(steps) == 0;
  }
  [[nodiscard]] std::span<std::byte> memory_of(std::size_t bucket) noexcept;
  /// Where a parameter lies in its bucket.
  [[nodiscard]] std::byte* place_of(std::size_t parameter) noexcept {
    return memory_of(plan_.places[parameter].bucket).data() + plan_.places[parameter].offset;
  }
  [[nodiscard]] Communicator& ranks_of(std::size_t bucket) noexcept {
    return groups_[plan_.buckets[bucket].group];
  }
  [[nodiscard]] Options call_options() const noexcept { return {.timeout = options_.timeout}; }
  /// On which buckets are reduced, or none.
  [[nodiscard]] Stream stream() const noexcept { return streams_ ? streams_->own() : Stream{}; }
  [[nodiscard]] bool is_detecting() const noexcept {
    return options_.unused == UnusedGradients::detect;
  }
  [[nodiscard]] bool is_negotiating() const noexcept {
    return options_.order == GradientOrder::negotiated;
  }

  /// In the own thread of one it is that one.
  static inline thread_local const State* own_of_thread = nullptr;

  std::vector<Parameter> parameters_;
  GradientOptions options_;
  std::vector<Communicator> groups_{};     // copies of the program's; the first has all ranks
  std::vector<Communicator> seconds_{};    // and of these, for second collectives
  std::optional<Communicator> control_{};  // for GradientOrder::negotiated
  std::unique_ptr<detail::GradientStreams> streams_{};  // or null
  const Operator operator_;
  const ForkGuard guard_{};
  detail::Occupancy occupancy_{};
  detail::GradientPlan plan_{};
  bool is_observing_ = false;
  std::vector<Buffer<std::byte>> buffers_{};  // by bucket, where they are ours
  std::vector<std::size_t> shard_offsets_{};  // by bucket: as ParameterShard::offset
  // By bucket: gradients that are not ready, and on a GPU its mark.
  std::vector<std::atomic<std::uint32_t>> missing_;
  // By parameter: 0 where it is not ready; numbers grow in the order of ready, where it is
  // observed.
  std::vector<std::atomic<std::uint32_t>> arrivals_;
  std::vector<std::atomic<std::uint8_t>> is_accumulated_;  // by parameter: since the last step
  std::vector<std::uint8_t> is_used_;  // by parameter in a bucket: whether this rank has written it
  std::vector<std::uint8_t> is_used_somewhere_{};  // likewise, by a rank of its group
  std::vector<std::shared_ptr<std::byte>> kept_;   // by parameter: what an unused one was
  std::vector<std::uint8_t> is_missing_;      // by parameter: whether it was not, as wait found it
  std::vector<std::uint32_t> missing_names_;  // by parameter in a bucket: how many of its names
  std::atomic<std::uint32_t> arrived_{0};
  std::atomic<std::uint32_t> signal_{0};  // changes where the own thread has something to do
  std::atomic<std::uint32_t> begun_{1};   // steps for which gradients may be ready
  std::atomic<std::uint32_t> asked_{0};   // steps for which wait was called
  std::atomic<std::uint32_t> ended_{0};   // steps whose result is there
  std::atomic<std::uint32_t> is_over_{0};
  bool is_active_ = true;
  bool is_destroyed_ = false;  // by a callback, so by the own thread
  bool is_restoring_ = false;  // the own thread ends, and another one goes on

  std::mutex mutex_{};  // of the next two
  std::string problem_{};
  Rank culprit_ = -1;                    // of the problem
  std::optional<Error> step_error_{};    // of the last step: it is void
  std::optional<Error> failure_{};       // why there can be no more steps
  std::atomic<bool> has_failed_{false};  // then failure_ does not change
  std::vector<Flight> flights_{};        // by bucket
  std::vector<std::size_t> sequence_{};  // buckets of this step, in the order in which they start
  std::vector<std::uint8_t> is_in_sequence_{};  // by bucket
  std::vector<std::uint8_t> agreeing_{};        // by bucket: whether it is ready
  Request agreement_{};                         // on them
  bool is_agreeing_ = false;
  bool is_cut_short_ = false;   // a bucket of this step was not marked, so the rest is not reduced
  Clock::time_point agreed_{};  // when ranks last found no bucket ready on all of them
  Clock::time_point last_finished_{};             // when the last bucket was finished
  std::optional<std::size_t> awaited_{};          // the bucket that is waited for, if one is
  std::optional<std::size_t> own_not_finite_{};   // the first own gradient that is not finite
  detail::Findings findings_{};                   // of this step
  std::vector<detail::Findings> own_findings_{};  // by bucket
  Verdict verdict_{};                             // of this step
  StepReport report_{};
  StepReport next_report_{};  // of the step that is under way
  std::vector<BucketReport> bucket_reports_{};
  std::vector<std::atomic<Clock::rep>> ready_times_;  // by parameter, where steps are recorded
  std::deque<detail::StepTimes> recorded_{};
  bool is_recording_ = false;  // whether the last of them is this step's
  Clock::time_point step_began_ = Clock::now();
  Clock::time_point wait_began_{};
  Clock::time_point synchronized_{};  // when ranks last agreed, which they find at the same time
  std::thread thread_{};
};

class GradientSync::State::Call {
 public:
  /// Throws Error{invalid_argument} where this is no such call. @param state what is called, which
  /// lives at least as long.
  explicit Call(const std::shared_ptr<State>& state);
  [[nodiscard]] State* operator->() const noexcept { return state_.get(); }
  [[nodiscard]] const std::shared_ptr<State>& state() const noexcept { return state_; }

 private:
  std::shared_ptr<State> state_;
  detail::Occupied occupied_;
};

}  // namespace tutti::v0

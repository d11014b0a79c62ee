/// @file
/// What stands behind a GradientSync.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <tutti/gradient_sync.hpp>

#include "gradient_plan.hpp"

namespace tutti::inline v0 {

/// The program's thread marks gradients as ready and waits for the end of the step; a thread of its
/// own fills buckets, reduces them, and ends the step. In between they share atomic words only.
class GradientSync::State {
 public:
  State(Communicator& world, std::span<const Parameter> parameters, const GradientOptions& options);
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  void broadcast_state(std::span<const Parameter> arrays, Rank root);
  void average_buffers(std::span<const Parameter> arrays);
  [[nodiscard]] void* view(std::size_t parameter) const noexcept;
  void ready(std::size_t parameter) noexcept;
  const StepReport& wait(bool is_active);
  std::uint64_t join();
  [[nodiscard]] const StepReport& last_step() const noexcept { return report_; }
  [[nodiscard]] const detail::GradientPlan& plan() const noexcept { return plan_; }

 private:
  using Clock = std::chrono::steady_clock;
  /// A bucket that is being reduced.
  struct Reduction {
    Request request{};
    Clock::time_point begun{};
  };
  /// What ranks tell each other at the end of a step, as sums.
  struct Ending;

  // By the program's thread: gradient_sync.cpp.
  void adopt(const detail::GradientPlan& plan);
  void rebuild();
  void reset() noexcept;
  void finish_missing(bool is_active);
  void check_failure() const;
  void fail(const Error& cause) noexcept {
    failure_ = cause;
    has_failed_.store(true, std::memory_order_release);
  }
  void note(std::string problem) noexcept;
  void wake() noexcept {
    signal_.fetch_add(1, std::memory_order_release);
    signal_.notify_one();
  }

  // By the own thread: gradient_step.cpp.
  void run() noexcept;
  [[nodiscard]] bool reduce_all(std::uint32_t step);
  template <class Condition>
  [[nodiscard]] bool await(Condition condition) noexcept;
  void launch(std::size_t bucket);
  void finish(Request& request);
  void finish_bucket(std::size_t bucket);
  void copy_in(std::size_t bucket) noexcept;
  void copy_out(std::size_t bucket);
  void call_back(std::size_t bucket) noexcept;
  void pass_midpoint(std::size_t bucket);
  void end_step();
  void report_step(const Ending& ending);
  void verify();
  void rescale(double factor);
  [[nodiscard]] std::optional<Error> agreed_problem(double problems, double not_finite);
  [[nodiscard]] std::span<std::byte> memory_of(std::size_t bucket) noexcept;
  [[nodiscard]] Communicator& ranks_of(std::size_t bucket) noexcept {
    return groups_[plan_.buckets[bucket].group];
  }
  [[nodiscard]] Call call_on(std::size_t bucket, Collective collective) noexcept;
  [[nodiscard]] Options call_options() const noexcept {
    return {.algorithm = options_.algorithm, .timeout = options_.timeout};
  }
  [[nodiscard]] bool has_midpoint() const noexcept {
    return options_.norm || options_.check_finite;
  }
  [[nodiscard]] bool is_detecting() const noexcept {
    return options_.unused == UnusedGradients::detect;
  }

  std::vector<Parameter> parameters_;
  GradientOptions options_;
  std::vector<Communicator> groups_;  // copies of the program's; the first has all ranks
  const Operator operator_;
  detail::GradientPlan plan_{};
  bool is_observing_ = false;
  std::vector<Buffer<std::byte>> buffers_{};          // by bucket, where they are ours
  std::vector<std::vector<std::size_t>> blocks_{};    // elements per rank, by bucket
  std::vector<std::atomic<std::uint32_t>> missing_;   // by bucket: gradients that are not ready
  std::vector<std::atomic<std::uint8_t>> is_ready_;   // by parameter
  std::vector<std::uint8_t> is_used_{};               // by parameter: whether ready was called
  std::vector<std::atomic<std::uint32_t>> arrivals_;  // parameters, in the order of ready
  std::atomic<std::uint32_t> arrived_{0};
  std::atomic<std::uint32_t> signal_{0};  // changes where the own thread has something to do
  std::atomic<std::uint32_t> begun_{1};   // steps for which gradients may be ready
  std::atomic<std::uint32_t> asked_{0};   // steps for which wait was called
  std::atomic<std::uint32_t> ended_{0};   // steps whose result is there
  std::atomic<std::uint32_t> is_over_{0};
  bool is_active_ = true;

  std::mutex mutex_{};  // of the next
  std::string problem_{};
  std::optional<Error> step_error_{};    // of the last step: it is void
  std::optional<Error> failure_{};       // why there can be no more steps
  std::atomic<bool> has_failed_{false};  // then failure_ does not change
  std::vector<Reduction> reductions_{};  // by bucket
  Clock::time_point last_finished_{};    // when the last bucket was finished
  Duration communicating_{0};
  double norm_squared_ = 0;
  double not_finite_ = 0;
  StepReport report_{};
  Clock::time_point step_began_ = Clock::now();
  Clock::time_point wait_began_{};
  std::thread thread_{};
};

}  // namespace tutti::inline v0

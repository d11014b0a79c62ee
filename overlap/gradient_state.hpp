/// @file
/// The implementation of GradientSync.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <tutti/gradient_sync.hpp>
#include <tutti/spi/fork_guard.hpp>
#include <tutti/spi/occupancy.hpp>
#include <tutti/spi/sole_caller.hpp>

#include "gradient_buckets.hpp"
#include "gradient_step.hpp"
#include "kept_state.hpp"
#include "readiness.hpp"
#include "step_checks.hpp"
#include "step_handover.hpp"
#include "step_problem.hpp"
#include "step_reporter.hpp"
#include "sync_setup.hpp"

namespace tutti::v0 {

/// The program's thread marks gradients as ready and waits for the end of the step; a thread of its
/// own fills buckets, reduces them, and ends the step. In between they share atomic words only.
class GradientSync::State {
 public:
  /// A call of the program: by one thread at a time, in the process that made the GradientSync, and
  /// not inside one of its callbacks.
  class Call;

  /// Collective. See GradientSync. @return an object whose thread runs until end.
  [[nodiscard]] static std::shared_ptr<State> make(Communicator& world,
                                                   std::span<const Parameter> parameters,
                                                   const GradientOptions& options);
  State(Communicator& world, std::span<const Parameter> parameters, const GradientOptions& options)
      : setup_{world, parameters, options} {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() = default;

 private:
  friend class GradientSync;
  friend class detail::SyncAccess;

  // For the program's thread.
  [[nodiscard]] static const std::shared_ptr<State>& checked(const std::shared_ptr<State>& state);
  void begin(Communicator& world, const std::shared_ptr<State>& self);
  void adopt(std::span<const std::size_t> order);
  void make_reductions();
  void reset() noexcept;
  void start(std::shared_ptr<State> self);
  void check_between_steps(const char* call) const;
  void run_between_steps(const char* call, const std::function<void()>& collectives);
  const StepReport& wait(bool is_active);
  void prepare_next(bool is_good);
  void rebuild();
  void synchronize(Duration timeout);
  [[nodiscard]] std::vector<Parameter> checked_arrays(std::span<const Parameter> arrays);
  void broadcast_arrays(std::span<const Parameter> arrays, Rank root);
  void end() noexcept;
  static void end(std::shared_ptr<State> state) noexcept;

  // For checkpoints: gradient_kept.cpp.
  [[nodiscard]] std::vector<Parameter> kept_parameters() const;
  [[nodiscard]] detail::KeptState kept();
  void restore(const std::shared_ptr<State>& self, std::uint64_t step,
               std::span<const std::size_t> order);

  // For the own thread.
  void run() noexcept;
  void end_step();
  [[nodiscard]] bool is_own_thread() const noexcept { return own_of_thread == this; }

  // Failure, after which there are no more steps.
  void check_failure() const;
  void fail(const Error& cause) noexcept;
  void fail_as_caught_here() noexcept;
  void abort_streams(const Error& cause) noexcept {
    if (setup_.streams) setup_.streams->abort(cause);
  }
  [[nodiscard]] Error located(Error cause) const noexcept;

  /// The State of a GradientSync in its own thread, and null in other threads.
  static inline thread_local const State* own_of_thread = nullptr;

  detail::SyncSetup setup_;
  const ForkGuard guard_{};
  detail::Occupancy occupancy_{};
  detail::StepProblem problem_{setup_.all_ranks().rank()};
  detail::StepHandover handover_{};
  detail::GradientBuckets buckets_{setup_};
  detail::Readiness readiness_{setup_, buckets_.plan(), problem_, handover_};
  detail::StepReporter reporter_{setup_};
  detail::GradientStep step_{setup_, buckets_, readiness_, handover_, problem_, reporter_};
  detail::StepChecks checks_{setup_, buckets_, problem_};
  bool is_restoring_ = false;            // the own thread ends, and another one begins
  std::optional<Error> step_error_{};    // the error of the last step, if that is void
  std::optional<Error> failure_{};       // the error after which there are no more steps
  std::atomic<bool> has_failed_{false};  // once set, failure_ does not change
  std::thread thread_{};
};

class GradientSync::State::Call {
 public:
  /// Throws Error{invalid_argument} if the call is not allowed.
  explicit Call(const std::shared_ptr<State>& state);
  [[nodiscard]] State* operator->() const noexcept { return state_.get(); }
  [[nodiscard]] const std::shared_ptr<State>& state() const noexcept { return state_; }

 private:
  std::shared_ptr<State> state_;
  detail::Occupied occupied_;
};

}  // namespace tutti::v0

// Passes items through stages, without blocking.
#include <tutti/attempt.hpp>
#include <tutti/spi/fork_guard.hpp>
#include <tutti/spi/occupancy.hpp>
#include <tutti/spi/service_thread.hpp>
#include <tutti/training/pipeline.hpp>

#include <algorithm>
#include <exception>
#include <optional>

#include "stage_thread.hpp"

namespace tutti::v0::detail {
namespace {

using PipelineClock = std::chrono::steady_clock;

constexpr Occupancy::Words kPipelineWords{.object = "the Pipeline",
                                          .callbacks = "a function of a stage or a source",
                                          .instead = "",
                                          .otherwise = ""};

/// Number of items whose times are stored, to suggest a depth.
constexpr std::size_t kTimedItems = 64;
/// A run sleeps at least this long, so that tests of operations leave the processor to others.
constexpr Duration kShortestStageNap = std::chrono::microseconds{20};
/// A run sleeps at most this long while a stage is a function that must be polled.
constexpr Duration kLongestStageNap = std::chrono::milliseconds{1};
/// A run sleeps at most this long while all stages are threads, which wake it.
constexpr Duration kLongestThreadNap = std::chrono::milliseconds{100};

/// Call it in a handler. @return an Error with the handled exception nested in it.
std::exception_ptr error_of_stage(const std::string& where, std::uint64_t item) {
  try {
    ErrorCode code = ErrorCode::aborted;
    Rank culprit = -1;
    std::string text = "an exception without a text";
    try {
      throw;
    } catch (const Error& error) {
      code = error.code();
      culprit = error.culprit();
      text = error.what();
    } catch (const std::exception& error) {
      text = error.what();
    } catch (...) {  // the text stays
    }
    std::throw_with_nested(
        Error{code, "Pipeline: " + where + " failed at item " + std::to_string(item) + ": " + text,
              culprit});
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace

/// Item i is in slot i modulo depth. Stages process items in order, so the number of items that a
/// stage has done is the number of its current or next item.
class PipelineCore::State {
 public:
  /// A call of the program, in the process that made the threads.
  class Call {
   public:
    explicit Call(const std::shared_ptr<State>& state)
        : state_{state}, occupied_{(state->check_process(), state->occupancy_), kPipelineWords} {}
    [[nodiscard]] State* operator->() const noexcept { return state_.get(); }

   private:
    std::shared_ptr<State> state_;  // a function of a stage may drop the other handles
    Occupied occupied_;
  };

  State(std::vector<StageCalls> stages, std::size_t depth, std::shared_ptr<void> slots)
      : slots_{std::move(slots)}, depth_{depth} {
    if (stages.empty() || depth == 0)
      throw Error{ErrorCode::invalid_argument, "Pipeline: " + std::to_string(stages.size()) +
                                                   " stages, depth " + std::to_string(depth) +
                                                   "; expected 1 or more of each"};
    times_.assign(kTimedItems + depth, std::vector<Duration>(stages.size()));
    for (StageCalls& calls : stages) {
      LineStage& stage = stages_.emplace_back();
      stage.calls = std::move(calls);
      stage.report.name = stage.calls.name;
      if (stage.calls.kind != StageKind::thread) continue;
      if (!guard_) guard_.emplace();
      stage.thread = std::make_unique<StageThread>(
          [this, function = stage.calls.start](std::size_t slot, std::uint64_t item) {
            stage_of_thread = this;
            function(slot, item);
          },
          bell_);
    }
  }

  /// Waits for threads and functions, since they use the slots. An operation is dropped, like any
  /// Request without a wait: the other ranks may never start it.
  ~State() {
    const auto is_at_work = [](const LineStage& stage) {
      return stage.is_busy && stage.calls.kind != StageKind::request;
    };
    for (finish_all(); std::ranges::any_of(stages_, is_at_work); finish_all()) bell_.wait(nap());
  }

  /// Ends the last handle, which may be in a function of a stage.
  static void end(std::shared_ptr<State> state) noexcept {
    if (state->guard_ && state->guard_->is_forked()) {  // the threads are the parent's
      static_cast<void>(new auto(std::move(state)));
      return;
    }
    state->is_destroyed_ = true;
    state->bell_.ring();
    if (stage_of_thread != state.get()) return;
    // This thread cannot wait for its own end. If no other thread can start, the state is not
    // freed.
    static_cast<void>(attempt([&] {
      auto* const last = new auto(std::move(state));
      start_thread([last] { delete last; }).detach();
    }));
  }

  [[nodiscard]] bool is_called() const noexcept { return occupancy_.is_in(); }

  void start(Source source) {
    if (error_) std::rethrow_exception(error_);
    if (is_running_)
      throw Error{ErrorCode::invalid_argument,
                  "Pipeline: start was called within a run, after " +
                      std::to_string(stages_.back().report.items) +
                      " items; expected it when poll has returned true"};
    source_ = std::move(source);
    has_more_ = is_running_ = true;
    began_ = changed_ = PipelineClock::now();
    longest_poll_ = Duration{0};
    for (LineStage& stage : stages_) stage.report = {.name = stage.calls.name};
  }

  bool poll() {
    const auto begin = PipelineClock::now();
    finish_all();
    check_destroyed();
    // Last stage first, so that the first stage can use the slot that the last one frees.
    for (std::size_t i = stages_.size(); i-- > 0 && !error_; check_destroyed()) begin_next(i);
    if (is_running_ && (error_ || !has_more_) && !is_busy()) {
      is_running_ = false;
      elapsed_ = PipelineClock::now() - began_;
    }
    longest_poll_ = std::max<Duration>(longest_poll_, PipelineClock::now() - begin);
    if (error_ && !is_busy()) std::rethrow_exception(error_);
    return !is_running_;
  }

  void run() {
    for (auto before = changed_; !poll(); before = changed_)
      if (before == changed_) bell_.wait(nap());
  }

  [[nodiscard]] PipelineReport report() const {
    PipelineReport report{.items = stages_.back().report.items,
                          .elapsed = is_running_ ? PipelineClock::now() - began_ : elapsed_,
                          .longest_poll = longest_poll_};
    for (const LineStage& stage : stages_) report.stages.push_back(stage.report);
    return report;
  }

  [[nodiscard]] std::size_t suggested_depth() const {
    const std::uint64_t done = stages_.back().report.items;
    if (done == 0) return depth_;
    std::vector<std::vector<Duration>> last;
    for (std::uint64_t item = done - std::min<std::uint64_t>(done, kTimedItems); item < done;
         ++item)
      last.push_back(times_[item % times_.size()]);
    return tutti::suggested_depth(last);
  }

 private:
  struct LineStage {
    StageCalls calls{};
    std::unique_ptr<StageThread> thread{};
    bool is_busy = false;
    PipelineClock::time_point began{};
    StageReport report{};  // its items are the ones done
  };

  void check_process() const {
    if (guard_) guard_->check("a Pipeline whose stages have threads");
  }
  void check_destroyed() {
    if (is_destroyed_ && !error_)
      error_ = std::make_exception_ptr(
          Error{ErrorCode::aborted, "Pipeline: it was destroyed within a run"});
  }
  [[nodiscard]] std::string name_of_stage(std::size_t index) const {
    return "stage '" + stages_[index].calls.name + "'";
  }
  [[nodiscard]] bool is_busy() const {
    return std::ranges::any_of(stages_, [](const LineStage& stage) { return stage.is_busy; });
  }
  /// Calls a function of the program. @return its result, or nothing if it throws. The first error
  /// is stored.
  template <class Function>
  std::optional<bool> guarded(const std::string& where, std::uint64_t item, Function function) {
    try {
      return function();
    } catch (...) {
      if (!error_) error_ = error_of_stage(where, item);
      changed_ = PipelineClock::now();
      return {};
    }
  }

  void finish_all() {
    for (std::size_t i = 0; i < stages_.size(); ++i)
      if (stages_[i].is_busy) finish(i);
  }

  void finish(std::size_t index) {
    LineStage& stage = stages_[index];
    const std::uint64_t item = stage.report.items;
    const auto outcome = guarded(name_of_stage(index), item, [&] {
      return stage.thread ? stage.thread->is_finished()
                          : stage.calls.is_finished(item % depth_, item);
    });
    if (outcome == false) return;
    stage.is_busy = false;
    if (!outcome) return;
    changed_ = PipelineClock::now();
    const Duration time = changed_ - stage.began;
    times_[item % times_.size()][index] = time;
    stage.report.busy += time;
    stage.report.longest = std::max(stage.report.longest, time);
    ++stage.report.items;
  }

  /// Whether there is an item for a stage.
  bool has_next(std::size_t index) {
    const std::uint64_t item = stages_[index].report.items;
    if (index > 0) return item < stages_[index - 1].report.items;
    if (!has_more_ || item - stages_.back().report.items >= depth_) return false;
    has_more_ = guarded("the source", item, [&] { return source_(item % depth_, item); }) == true;
    return has_more_;
  }

  void begin_next(std::size_t index) {
    LineStage& stage = stages_[index];
    if (stage.is_busy || !has_next(index)) return;
    const std::uint64_t item = stage.report.items;
    stage.began = PipelineClock::now();
    const auto outcome = guarded(name_of_stage(index), item, [&] {
      if (stage.thread) stage.thread->start(item % depth_, item);
      else stage.calls.start(item % depth_, item);
      return true;
    });
    if (!outcome) return;
    stage.is_busy = true;
    changed_ = PipelineClock::now();
  }

  /// The sleep is proportional to the wait so far, so that it adds little. Threads end it by the
  /// bell.
  [[nodiscard]] Duration nap() const {
    Duration nap = kLongestThreadNap;
    for (const LineStage& stage : stages_) {
      if (!stage.is_busy || stage.calls.kind == StageKind::thread) continue;
      const Duration most =
          stage.calls.kind == StageKind::request ? kShortestStageNap : kLongestStageNap;
      const Duration waited = PipelineClock::now() - changed_;
      nap = std::min(nap, std::clamp(waited / 16, kShortestStageNap, most));
    }
    return nap;
  }

  static inline thread_local const State* stage_of_thread = nullptr;

  std::shared_ptr<void> slots_;     // must outlive the stages
  std::optional<ForkGuard> guard_;  // if there are threads
  Occupancy occupancy_;
  std::atomic<bool> is_destroyed_ = false;
  std::size_t depth_;
  StageBell bell_;  // outlives the threads that ring it
  std::vector<LineStage> stages_;
  Source source_;
  bool has_more_ = false;  // of the source's items
  bool is_running_ = false;
  std::exception_ptr error_;
  PipelineClock::time_point began_{}, changed_{};
  Duration elapsed_{0};
  Duration longest_poll_{0};
  std::vector<std::vector<Duration>> times_;  // of the last items, by item, then by stage
};

PipelineCore::PipelineCore(std::vector<StageCalls> stages, std::size_t depth,
                           std::shared_ptr<void> slots)
    : state_{std::make_shared<State>(std::move(stages), depth, std::move(slots))} {}
PipelineCore::~PipelineCore() {
  State::end(std::move(state_));
}
void PipelineCore::start(Source source) {
  State::Call {
    state_
    } -> start(std::move(source));
}
bool PipelineCore::poll() {
  return State::Call {
    state_
    } -> poll();
}
void PipelineCore::run() {
  State::Call {
    state_
    } -> run();
}
PipelineReport PipelineCore::report() const {
  if (state_->is_called()) return state_->report();
  return State::Call {
    state_
    } -> report();
}
std::size_t PipelineCore::suggested_depth() const {
  if (state_->is_called()) return state_->suggested_depth();
  return State::Call {
    state_
    } -> suggested_depth();
}

}  // namespace tutti::v0::detail

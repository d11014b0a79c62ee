/// @file
/// Progress: the operations of a communicator that are under way. They start in the order of the
/// calls, go on whenever somebody polls, and are looked after meanwhile.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <vector>

#include <tutti/spi/communicator.hpp>

#include "call_order.hpp"
#include "execution.hpp"
#include "failures.hpp"
#include "program_cache.hpp"
#include "progress_hook.hpp"
#include "task.hpp"

namespace tutti::v0::detail {

/// Called by the thread that is in the communicator's engine.
class Progress {
 public:
  using CachedExecution = ProgramCache::CachedExecution;
  /// What it works with. All of it lives longer.
  struct Parts {
    Transport& transport;
    CallOrder& order;
    CallCounter& calls;  ///< Tells the other ranks.
    Failures& failures;
    const CommunicatorOptions& options;
  };
  explicit Progress(const Parts& parts);
  /// Nothing goes on any more. What peers may still write into is never freed.
  void end() noexcept;

  /// @return executions that are lent, the one acquired last first.
  [[nodiscard]] std::list<CachedExecution>& in_use() noexcept { return in_use_; }
  /// @return those that wait for their start, in the order of the calls.
  [[nodiscard]] std::list<CachedExecution>& held() noexcept { return held_; }
  /// @return tasks that have not ended.
  [[nodiscard]] const std::vector<std::shared_ptr<Task>>& tasks() const noexcept { return tasks_; }
  /// @return where an execution is in a list, or its end.
  [[nodiscard]] static std::list<CachedExecution>::iterator find(
      std::list<CachedExecution>& held, const Execution& execution) noexcept;
  /// @return whether anything is pending, and may come to an end.
  [[nodiscard]] bool has_anything_pending() const noexcept;

  /// @param wanted how many collectives. @return whether they may start now.
  [[nodiscard]] bool has_room(std::uint64_t wanted) noexcept {
    return waiting_.empty() && is_within_window(wanted);
  }
  /// Starts an execution, where has_room. Throws the first failure. @param timeout more than zero.
  void begin(Execution& execution, const void* in, void* out, Duration timeout);
  /// Starts it when older operations have made room. @param timeout as begin.
  void hold(Execution& execution, const void* in, void* out, Duration timeout);
  /// Starts an execution at a turn that was kept. Its buffers are not checked.
  void start_later(Execution& execution, const void* in, void* out, Duration timeout,
                   Execution::Turn turn);
  /// Starts a task, and keeps it while it is under way: it goes on in whatever test or wait. Throws
  /// as the calls that it makes.
  void start(const std::shared_ptr<Task>& task);
  /// Whether no task that began before has to receive first.
  [[nodiscard]] bool is_next(const Task& task) const noexcept;

  /// A plan that is not running will never run again: what is left over of it is looked for.
  void end_plan(Execution& execution) noexcept;

  /// Polls the transport once, and tells executions what is done. Throws the first failure.
  /// @return how many transfers completed.
  std::size_t poll();
  /// Tasks go on. Throws the first failure.
  void advance_tasks();
  /// Polls once for a pending operation. Throws the first failure. @return whether anything moved.
  bool step(const Execution& execution);
  /// Likewise, of a call that blocks in a batch that has started.
  bool step_awaited(const Execution& execution);
  /// Likewise, for nothing in particular.
  bool step_for_progress();
  /// Makes progress on all operations. Throws the first failure. @return whether this one is done.
  bool test(const Execution& execution);
  /// @copydoc test(const Execution&)
  bool test(const Task& task);
  /// Waits for one operation. Throws the first failure.
  void wait(const Execution& execution);
  /// Waits until something is so. Throws the first failure. @param is_met whether it is.
  void wait_until(const std::function<bool()>& is_met);
  /// Others had the core: the next poll looks at the clock.
  void wake() noexcept {
    polls_until_clock_ = 1;
    end_yield();
  }
  /// Others had the core: CommunicatorOptions::progress is due.
  void end_yield() noexcept { hook_.end_yield(); }
  /// @return whether there is a CommunicatorOptions::progress.
  [[nodiscard]] bool drives_others() const noexcept { return hook_.exists(); }
  /// Calls it where that is due, in a wait for something else. Throws the first failure.
  void drive_others() {
    if (hook_.exists()) help_others(transport_.now());
  }

  /// What is done now and then while a call waits that has no execution. Throws the first failure.
  void look_after(Duration now) {
    check_deadlines(nullptr, true, now);
    help_others(now);
  }
  /// The other ranks are told no more of waits that are over.
  void end_told_waits() noexcept;
  /// An operation is done, and is about to be reported. Throws the first failure.
  void end(const Execution& execution) {
    const Binding& binding = execution.binding();
    if (execution.is_ordered() &&
        (transport_.has_unexpected() || (unmatched_are_likely_ && binding.awaits_all)))
      find_unmatched_after(execution);
  }

 private:
  /// What starts when older operations have ended, in the order of the calls.
  struct Waiting {
    Execution* execution = nullptr;  // or:
    std::shared_ptr<Task> task{};
    const void* in = nullptr;
    void* out = nullptr;
    Duration timeout{0};
  };
  /// The oldest collective that has not ended, or the next one.
  struct Oldest {
    std::uint64_t sequence;
    std::uint64_t summary = 0;  // as in make_fingerprint, if it is known
  };
  [[nodiscard]] Oldest oldest_pending() const noexcept;
  [[nodiscard]] const Execution* oldest_started() const noexcept;
  [[nodiscard]] const Execution* oldest_plan() const noexcept;
  [[nodiscard]] bool has_pending() const noexcept;
  [[nodiscard]] bool is_within_window(std::uint64_t wanted) noexcept {
    return order_.has_room(wanted, [this] { return oldest_pending().sequence; });
  }
  [[nodiscard]] Execution::Turn turn_of(const Execution& execution);
  void start_waiting();
  std::size_t deliver();
  void look_back() noexcept;
  void find_unmatched(bool thoroughly);
  void find_unmatched_after(const Execution& execution);
  void find_unmatched_of(const Execution& plan);
  template <class Pending>
  bool poll_for(const Pending& pending, bool blocks);
  template <class Pending>
  void test_for(const Pending& pending);
  template <class Pending>
  void wait_for(const Pending& pending);
  void check_deadlines(const Execution* first, bool blocks, Duration now);
  void ask_awaited(Duration now);
  void tell_waits(const Execution* first, bool blocks, Duration now) noexcept;
  void help_others(Duration now);

  Transport& transport_;
  CallOrder& order_;
  CallCounter& calls_;
  Failures& failures_;
  const CommunicatorOptions& options_;
  std::list<CachedExecution> in_use_{};
  std::list<CachedExecution> held_{};
  std::deque<Waiting> waiting_{};
  std::vector<std::shared_ptr<Task>> tasks_{};
  bool has_looked_ = false;         // for strays, since the last poll
  bool unmatched_are_likely_ = false;  // a call may have left some, and none waited for all since
  int polls_per_clock_;
  int polls_until_clock_;
  Duration thorough_look_{0};  // when the next one is due
  Duration next_question_{0};  // when the awaited rank may next be asked what it does
  ProgressHook hook_;
  Duration next_word_{0};  // when the others may next be told of waits
  bool has_told_waits_ = false;
  std::byte token_{1};  // what a barrier reduces
};

}  // namespace tutti::v0::detail

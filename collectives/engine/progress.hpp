/// @file
/// Progress: starts the operations of a communicator in the order of the calls, and polls for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include <tutti/spi/communicator.hpp>

#include "collectives/binding/active_calls.hpp"
#include "collectives/diagnosis/diagnosis.hpp"
#include "collectives/diagnosis/unmatched_search.hpp"
#include "collectives/diagnosis/wait_monitor.hpp"
#include "collectives/execution/call_order.hpp"
#include "collectives/execution/task.hpp"

#include "idle_backoff.hpp"
#include "progress_hook.hpp"

namespace tutti::v0::detail {

/// Starts operations, and advances all of them whenever a thread tests or waits for one. Called by
/// the thread that is in the communicator's engine.
class Progress {
 public:
  /// All of them live longer.
  Progress(Transport& transport, Diagnosis& diagnosis, const CommunicatorOptions& options);
  /// Nothing is advanced any more. Memory that peers may still write into is never freed.
  void end() noexcept;

  [[nodiscard]] Transport& transport() noexcept { return transport_; }
  [[nodiscard]] const CommunicatorOptions& options() const noexcept { return options_; }
  [[nodiscard]] ActiveCalls& active() noexcept { return active_; }
  /// @return tasks that have not ended.
  [[nodiscard]] const std::vector<std::shared_ptr<Task>>& tasks() const noexcept { return tasks_; }
  /// @return whether anything is pending, and may come to an end.
  [[nodiscard]] bool has_anything_pending() const noexcept {
    return !failures_.has_failed() &&
           (!tasks_.empty() || !waiting_.empty() || active_.has_started());
  }
  [[nodiscard]] UnmatchedSearch& unmatched() noexcept { return unmatched_; }

  /// @param wanted how many collectives. @return whether they may start now.
  [[nodiscard]] bool has_room(std::uint64_t wanted) noexcept {
    return waiting_.empty() && is_within_window(wanted);
  }
  /// Starts an execution, where has_room. Throws the first failure. @param timeout more than zero.
  void begin(Execution& execution, const void* in, void* out, Duration timeout);
  /// Starts it when older operations have made room. @param timeout as begin.
  void queue(Execution& execution, const void* in, void* out, Duration timeout);
  /// Starts an execution at a position that was kept. Its buffers are not checked.
  void start_later(Execution& execution, const void* in, void* out, Duration timeout,
                   Execution::CallPosition position);
  /// Starts a task, and keeps it while it is under way: it advances in whatever test or wait.
  /// Throws as the calls that it makes.
  void start(const std::shared_ptr<Task>& task);
  /// As Task::precede_receive, of all tasks.
  void precede_receive(Rank from, int tag) {
    for (const auto& task : tasks_) task->precede_receive(from, tag);
  }
  /// Whether no task that began before has to receive first.
  [[nodiscard]] bool is_next(const Task& task) const noexcept;

  /// Polls the transport once, and advances what is done. Throws the first failure.
  /// @return how many transfers completed.
  std::size_t poll();
  /// Advances tasks. Throws the first failure.
  void advance_tasks();
  /// Polls once for a pending operation. Throws the first failure. @return whether anything moved.
  bool step(const Execution& execution);
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
  /// Pauses after a step in which nothing moved. @param backoff of this wait. @param wakes whether
  /// what is awaited ends Transport::idle_wait.
  void pause(IdleBackoff& backoff, bool wakes = true);
  /// Calls it where that is due, in a wait for something else. Throws the first failure.
  void drive_others() {
    if (hook_.exists()) call_hook(transport_.now());
  }
  /// Does now and then what a wait without an execution needs. Throws the first failure.
  void look_after(Duration now) {
    monitor_.look(nullptr, true, now);
    call_hook(now);
  }
  /// Withdraws reports of waits that are over.
  void end_reports() noexcept { monitor_.end_reports(); }

 private:
  /// What starts when older operations have ended, in the order of the calls.
  struct Waiting {
    Execution* execution = nullptr;  // or:
    std::shared_ptr<Task> task{};
    const void* in = nullptr;
    void* out = nullptr;
    Duration timeout{0};
  };
  [[nodiscard]] bool is_within_window(std::uint64_t wanted) noexcept {
    return order_.has_room(wanted, [this] { return active_.oldest_collective().sequence; });
  }
  [[nodiscard]] Execution::CallPosition position_of(const Execution& execution);
  void start_waiting();
  std::size_t deliver();
  template <class Pending>
  bool poll_for(const Pending& pending, bool blocks);
  template <class Pending>
  void test_for(const Pending& pending);
  template <class Pending>
  void wait_for(const Pending& pending);
  void call_hook(Duration now);

  Transport& transport_;
  CallOrder& order_;
  CallCounter& calls_;
  Failures& failures_;
  const CommunicatorOptions& options_;
  ActiveCalls active_;
  UnmatchedSearch unmatched_;
  WaitMonitor monitor_;
  std::deque<Waiting> waiting_{};
  std::vector<std::shared_ptr<Task>> tasks_{};
  int polls_per_clock_;
  int polls_until_clock_;
  ProgressHook hook_;
  CoreContention contention_{};
  std::byte token_{1};  // what a barrier reduces
};

}  // namespace tutti::v0::detail

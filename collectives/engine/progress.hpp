/// @file
/// Starts the operations of a communicator in the order of the calls, and polls for them.
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
  /// All arguments outlive this.
  Progress(Transport& transport, Diagnosis& diagnosis, const CommunicatorOptions& options);
  /// Stops all operations. Memory into which peers may still write is never freed.
  void end() noexcept;

  [[nodiscard]] Transport& transport() noexcept { return transport_; }
  [[nodiscard]] const CommunicatorOptions& options() const noexcept { return options_; }
  [[nodiscard]] ActiveCalls& active() noexcept { return active_; }
  /// @return tasks that have not ended.
  [[nodiscard]] const std::vector<std::shared_ptr<Task>>& tasks() const noexcept { return tasks_; }
  /// @return whether anything is pending, and the communicator has not failed.
  [[nodiscard]] bool has_anything_pending() const noexcept {
    return !failures_.has_failed() &&
           (!tasks_.empty() || !waiting_.empty() || active_.has_started());
  }
  [[nodiscard]] UnmatchedSearch& unmatched() noexcept { return unmatched_; }

  /// @param wanted number of collectives. @return whether they may start now.
  [[nodiscard]] bool has_room(std::uint64_t wanted) noexcept {
    return waiting_.empty() && is_within_window(wanted);
  }
  /// Starts an execution. Needs has_room(1) if it is ordered. Throws the first failure.
  /// @param timeout more than zero.
  void begin(Execution& execution, const void* in, void* out, Duration timeout);
  /// Starts an execution when older operations have made room. @param timeout as begin().
  void queue(Execution& execution, const void* in, void* out, Duration timeout);
  /// Starts an execution at a position that was kept. Its buffers are not checked.
  void start_later(Execution& execution, const void* in, void* out, Duration timeout,
                   Execution::CallPosition position);
  /// Starts a task, and keeps it until it ends. It advances in every test and wait. Throws as the
  /// calls that it makes.
  void start(const std::shared_ptr<Task>& task);
  /// Calls Task::precede_receive of all tasks.
  void precede_receive(Rank from, int tag) {
    for (const auto& task : tasks_) task->precede_receive(from, tag);
  }
  /// Whether no older task still receives messages of the same source and tag.
  [[nodiscard]] bool is_next(const Task& task) const noexcept;

  /// Polls the transport once, and continues after completed transfers. Throws the first failure.
  /// @return the number of completed transfers.
  std::size_t poll();
  /// Advances tasks. Throws the first failure.
  void advance_tasks();
  /// Polls once for a pending operation. Throws the first failure. @return whether anything moved.
  bool step(const Execution& execution);
  /// Polls once without an operation to wait for. Throws the first failure. @return whether
  /// anything moved.
  bool step_for_progress();
  /// Polls once for all operations. Throws the first failure. @return whether this one is done.
  bool test(const Execution& execution);
  /// @copydoc test(const Execution&)
  bool test(const Task& task);
  /// Waits for one operation. Throws the first failure.
  void wait(const Execution& execution);
  /// Waits until a condition is met. Throws the first failure.
  void wait_until(const std::function<bool()>& is_met);
  /// Pauses after a step in which nothing moved. @param backoff of this wait. @param wakes whether
  /// the awaited event ends Transport::idle_wait.
  void pause(IdleBackoff& backoff, bool wakes = true);
  /// Calls CommunicatorOptions::progress if that is due, in a wait for something else. Throws the
  /// first failure.
  void drive_others() {
    if (hook_.exists()) call_hook(transport_.now());
  }
  /// Checks deadlines, reports waits and calls CommunicatorOptions::progress, in a wait without an
  /// execution. Throws the first failure.
  void look_after(Duration now) {
    monitor_.look(nullptr, true, now);
    call_hook(now);
  }
  /// Withdraws reports of waits that are over.
  void end_reports() noexcept { monitor_.end_reports(); }

 private:
  /// An execution or a task that starts when older operations have made room.
  struct Waiting {
    Execution* execution = nullptr;  // null for a task
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
  std::byte token_{1};  // the element that a barrier reduces
};

}  // namespace tutti::v0::detail

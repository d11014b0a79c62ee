/// @file
/// What stands behind a Communicator: shapes bound so far, operations under way, the first failure.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <tutti/communicator.hpp>
#include <tutti/spi/communicator.hpp>

#include "call_order.hpp"
#include "execution.hpp"
#include "failures.hpp"
#include "occupancy.hpp"
#include "payload_memory.hpp"
#include "program_cache.hpp"
#include "progress_hook.hpp"
#include "progress_thread.hpp"
#include "selector.hpp"
#include "task.hpp"

namespace tutti::inline v0::detail {

/// Called by the thread that is in it, see Use; but for what never changes, which any may ask for.
class Engine {
 public:
  Engine(Footing footing, std::shared_ptr<Memory> memory, const CommunicatorOptions& options);
  ~Engine();

  [[nodiscard]] Transport& transport() noexcept { return *transport_; }
  [[nodiscard]] const std::shared_ptr<Memory>& memory() const noexcept { return memory_; }
  [[nodiscard]] const CommunicatorOptions& options() const noexcept { return options_; }
  [[nodiscard]] bool has_group() const noexcept { return group_ != nullptr; }
  /// Whether ranks outnumber the cores that they have; the same on all ranks.
  [[nodiscard]] bool shares_cores() const noexcept { return selector_.shares_cores(); }
  /// What the ranks can make among themselves. Throws Error{invalid_argument} if nothing.
  [[nodiscard]] Group& group() const;

  /// An idle execution for this shape, taken from the cache or made. Throws Error{invalid_argument}
  /// for wrong arguments, and the first failure of a failed communicator.
  [[nodiscard]] Execution* acquire(const Call& call, const Options& options);
  /// A call that blocks. Throws as acquire, and the first failure.
  void run(const Call& call, const Options& options);
  /// Starts an execution that acquire gave, or has it wait until the window has room for it.
  /// `timeout` zero takes the communicator's.
  void start(Execution& execution, const void* in, void* out, Duration timeout);
  /// Starts it at once, where the window is known to have room. `timeout` is more than zero.
  void begin(Execution& execution, const void* in, void* out, Duration timeout);
  /// How a call of a batch runs: how long, and whether the batch waits for it, and owns it.
  struct Enlistment {
    Duration timeout{0};
    bool blocks = false;
  };
  /// Notes that a call will start with others. Throws where its start would be refused.
  void enlist(Execution& execution, const void* in, void* out, const Enlistment& how);
  /// Starts what was enlisted. Throws the first failure.
  void start_enlisted();
  /// Whether a call that blocks is pending, and may come to an end.
  [[nodiscard]] bool has_awaited() const noexcept;
  /// Polls for such calls once. Throws the first failure. @return whether anything moved.
  bool step_awaited();
  /// Others had the core: the next poll looks at the clock.
  void wake() noexcept { polls_until_clock_ = 1; }
  /// Waits for all of them. Throws the first failure.
  void wait_awaited();
  /// Takes back what was enlisted and not started, and gives back the calls that blocked.
  void end_batch() noexcept;
  std::shared_ptr<Engine> next_in_batch{};  ///< Of the batch's list.

  /// Polls once for a pending operation. Throws the first failure. @return whether anything moved.
  bool step(const Execution& execution);
  /// An operation is done, and is about to be reported. Throws the first failure.
  void end(const Execution& execution) { end_call(execution); }
  /// Makes progress on all operations. Throws the first failure. @return whether this one is done.
  bool test(const Execution& execution);
  /// Waits for one operation. Throws the first failure.
  void wait(const Execution& execution);
  /// Takes the next turn for an operation that starts later, or never: between turns taken before
  /// and after on all ranks, whenever each of them comes to it.
  [[nodiscard]] Execution::Turn keep_turn();
  /// Starts an execution at a turn that was kept. Its buffers are not checked.
  void start_later(Execution& execution, const void* in, void* out, Duration timeout,
                   Execution::Turn turn);
  /// Nothing will start at a turn that was kept.
  void give_up_turn(Execution::Turn turn) noexcept { order_.end_keeping(turn); }
  /// Starts a task, and keeps it while it is under way: it goes on in whatever test or wait. Throws
  /// as acquire and start do.
  void start(const std::shared_ptr<Task>& task);
  /// Whether no task that began before has to receive first.
  [[nodiscard]] bool is_next(const Task& task) const noexcept;
  /// Memory for tasks.
  [[nodiscard]] PayloadMemory& payloads() noexcept { return payloads_; }
  /// Does a part of an operation. What that throws fails the communicator.
  template <class Part>
  std::invoke_result_t<Part> attempt(Part part) {
    failures_.check();
    try {
      return part();
    } catch (...) {
      failures_.fail_as_caught();
    }
  }
  /// @copydoc test(const Execution&)
  bool test(const Task& task);
  /// Waits until something is so. Throws the first failure. @param is_met whether it is.
  void wait_until(const std::function<bool()>& is_met);
  /// Gives an execution back. If it is pending, the communicator fails.
  void release(Execution* execution) noexcept;
  /// The communicator fails, since something is not waited for any more. @param what it is.
  void give_up(const std::string& what) noexcept;
  /// Looks for a message that nobody receives yet. @param from its sender, or any_rank. @param tag
  /// the user's. @return what it is, if one has come. Throws the first failure.
  [[nodiscard]] std::optional<Arrival> probe(Rank from, int tag);
  /// Waits for such a message. @param timeout zero takes the communicator's. Throws also
  /// Error{timeout}, of which the communicator fails.
  [[nodiscard]] Arrival await_message(Rank from, int tag, Duration timeout);

  /// This thread begins a call, or throws Error{invalid_argument}. See Occupancy.
  void enter() {
    if (!occupancy_.try_enter()) enter_after_progress();
  }
  /// The call ends.
  void leave() noexcept {
    if (has_dropped_) release_dropped();
    const bool is_left_pending = progress_thread_ && has_anything_pending();
    occupancy_.leave();
    if (is_left_pending) progress_thread_->wake();
  }
  /// What the progress thread found.
  enum class Progress : std::uint8_t {
    none,     ///< Nothing is pending, or another thread is in a call.
    pending,  ///< Something is, and does not get on.
    moved     ///< Something has got on.
  };
  /// Goes on with what is pending, by the progress thread. @param may_doze whether it may sleep in
  /// the transport where nothing moves, until something does or another thread wants to enter.
  [[nodiscard]] Progress go_on(bool may_doze) noexcept;
  /// As Occupancy::keep.
  void keep() noexcept { occupancy_.keep(); }
  /// As Occupancy::let_go.
  void let_go() noexcept { occupancy_.let_go(); }
  /// As release, of a handle that ends: by any thread, after another one's call, and, within a call
  /// of its own, when that ends.
  void drop(Execution* execution) noexcept;
  /// Likewise.
  void drop(std::shared_ptr<Task> task) noexcept;
  /// What a call would run, and why.
  [[nodiscard]] std::string explain(const Call& call, const Options& options);

 private:
  using Shape = ProgramCache::Shape;
  using Held = ProgramCache::Held;
  /// What starts when older operations have ended, in the order of the calls.
  struct Waiting {
    Execution* execution = nullptr;  // or:
    std::shared_ptr<Task> task{};
    const void* in = nullptr;
    void* out = nullptr;
    Duration timeout{0};
  };
  struct Enlisted {
    Execution* execution;
    const void* in;
    void* out;
    Enlistment how;
  };
  Shape& shape_for(const Call& call, const Options& options);
  Held& ready_for(const Call& call, const Options& options);
  void run_later(Shape& shape, const Call& call, const Options& options);
  [[nodiscard]] std::shared_ptr<const Binding> bind_shape(const Call& call, const Options& options);
  /// Polls once. @return how many transfers completed.
  std::size_t progress();
  std::size_t deliver();
  /// The oldest collective that has not ended, or the next one.
  struct Oldest {
    std::uint64_t sequence;
    std::uint64_t summary = 0;  // as in make_fingerprint, if it is known
  };
  [[nodiscard]] Oldest oldest_pending() const noexcept;
  void check_start(const Execution& execution, const void* in, const void* out);
  [[nodiscard]] bool is_within_window(std::uint64_t wanted) noexcept {
    return order_.has_room(wanted, [this] { return oldest_pending().sequence; });
  }
  [[nodiscard]] bool has_room(std::uint64_t wanted) noexcept {
    return waiting_.empty() && is_within_window(wanted);
  }
  [[nodiscard]] static std::list<Held>::iterator find_held(std::list<Held>& held,
                                                           const Execution& execution) noexcept;
  void start_waiting();
  void strike(Execution& execution) noexcept;
  void release_dropped() noexcept;
  void enter_after_progress();
  [[nodiscard]] bool enter_when_free() noexcept;
  [[nodiscard]] bool step_for_progress();
  void end_told_waits() noexcept;
  [[nodiscard]] bool has_anything_pending() const noexcept;
  [[nodiscard]] Execution::Turn turn_of(const Execution& execution);
  [[nodiscard]] bool has_pending() const noexcept;
  void look_back() noexcept;
  void find_strays(bool thoroughly);
  void find_strays_after(const Execution& execution);
  /// A collective has ended, and is about to be reported.
  void end_call(const Execution& execution) {
    const Binding& binding = execution.binding();
    if (binding.is_collective &&
        (transport_->has_unclaimed() || (strays_are_likely_ && binding.awaits_all)))
      find_strays_after(execution);
  }
  template <class Pending>
  bool poll_for(const Pending& pending, bool blocks);
  template <class Pending>
  void test_for(const Pending& pending);
  template <class Pending>
  void wait_for(const Pending& pending);
  void advance_tasks();
  [[nodiscard]] const Execution& oldest_started() const noexcept;
  void check_deadlines(const Execution* first, bool blocks, Duration now);
  void tell_waits(const Execution* first, bool blocks, Duration now) noexcept;
  void help_others(Duration now);

  Occupancy occupancy_;
  std::atomic<int> callers_{0};   // that want to enter while the progress thread is in
  bool has_dropped_ = false;      // whether a handle ended within a call
  std::shared_ptr<Group> group_;  // outlives the transport
  std::shared_ptr<CallCounter> calls_;
  std::unique_ptr<Transport> transport_;
  Outbox outbox_;
  std::shared_ptr<Memory> memory_;
  CommunicatorOptions options_;
  Selector selector_;
  Scratch scratch_;
  ProgramCache cache_;
  CallOrder order_;
  Failures failures_;
  std::list<Held> in_use_;  // the one acquired last first
  std::list<Held> held_;    // those that wait for their start, in the order of the calls
  std::vector<Enlisted> enlisted_;
  std::deque<Waiting> waiting_;
  std::vector<Execution*> awaited_;  // by a batch
  bool has_looked_ = false;          // for strays, since the last poll
  bool strays_are_likely_ = false;   // a call may have left some, and none waited for all since
  PayloadMemory payloads_;
  std::vector<std::shared_ptr<Task>> tasks_;  // under way
  int polls_per_clock_ = 1;
  int polls_until_clock_ = 1;
  Duration thorough_look_{0};  // when the next one is due
  ProgressHook hook_;
  Duration next_word_{0};  // when the others may next be told of waits
  bool has_told_waits_ = false;
  std::byte token_{1};                                 // what a barrier reduces
  std::shared_ptr<ProgressThread> progress_thread_{};  // or null
};

[[noreturn]] void refuse_empty();

/// @param engine of a communicator, which has none after it was moved from. @return it. Throws
/// Error{invalid_argument}.
[[nodiscard]] inline Engine& engine_of(const std::shared_ptr<Engine>& engine) {
  if (engine == nullptr) refuse_empty();
  return *engine;
}

/// A call of this thread, in an engine as long as it lives.
class Use {
 public:
  /// Throws Error{invalid_argument} as engine_of, and where another thread is in a call, or this
  /// one.
  explicit Use(const std::shared_ptr<Engine>& engine) : engine_{engine_of(engine)} {
    engine_.enter();
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  ~Use() { engine_.leave(); }

 private:
  Engine& engine_;
};

}  // namespace tutti::inline v0::detail

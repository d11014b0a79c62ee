/// @file
/// What stands behind a Communicator, in parts: the programs of its calls (program_cache.hpp),
/// their order (call_order.hpp), what is under way (progress.hpp) and why it failed (failures.hpp).
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tutti/communicator.hpp>
#include <tutti/spi/communicator.hpp>
#include <tutti/spi/occupancy.hpp>
#include <tutti/spi/streams.hpp>

#include "call_fields.hpp"
#include "call_order.hpp"
#include "check_call.hpp"
#include "execution.hpp"
#include "failures.hpp"
#include "payload_memory.hpp"
#include "program_cache.hpp"
#include "progress.hpp"
#include "progress_thread.hpp"
#include "selector/selectors.hpp"
#include "stream_calls.hpp"
#include "task.hpp"

namespace tutti::v0::detail {

/// Called by the thread that is in it, see Use; but for what never changes, which any may ask for.
class Engine {
 public:
  Engine(CommunicatorParts communicator_parts, std::shared_ptr<Memory> memory,
         const CommunicatorOptions& options);
  ~Engine();

  [[nodiscard]] Transport& transport() noexcept { return *transport_; }
  [[nodiscard]] const std::shared_ptr<Memory>& memory() const noexcept { return memory_; }
  [[nodiscard]] const CommunicatorOptions& options() const noexcept { return options_; }
  /// As CommunicatorParts::hosts.
  [[nodiscard]] const std::vector<int>& hosts() const noexcept { return hosts_; }
  [[nodiscard]] bool has_group() const noexcept { return group_ != nullptr; }
  /// Whether ranks outnumber the cores that they have; the same on all ranks.
  [[nodiscard]] bool shares_cores() const noexcept { return selectors_.shares_cores(); }
  /// What the ranks can make among themselves. Throws Error{invalid_argument} if nothing.
  [[nodiscard]] Group& group() const;

  /// An idle execution for this shape, taken from the cache or made. Throws Error{invalid_argument}
  /// for wrong arguments, and the first failure of a failed communicator.
  [[nodiscard]] Execution* acquire(const Call& call, const Options& options);
  /// The same for a plan, which is numbered. Throws as acquire.
  [[nodiscard]] Execution* acquire_plan(const Call& call, const Options& options);
  /// A call that blocks. Throws as acquire, and the first failure.
  void run(const Call& call, const Options& options);
  /// Takes calls with Options::stream from now on. @param streams what they are enqueued on.
  /// @param compares whether ranks compare what they call first.
  void attach_streams(std::shared_ptr<StreamTransport> streams, bool compares);
  /// Those, or null.
  [[nodiscard]] std::shared_ptr<StreamTransport> streams() const noexcept {
    return streamed_ ? streamed_->transport() : nullptr;
  }
  /// Whether ranks compare what they call on streams first.
  [[nodiscard]] bool compares_streamed() const noexcept { return compares_streamed_; }
  /// Refuses a call of the host on memory of a GPU. Throws Error{invalid_argument}.
  void check_on_host(const Call& call) const {
    if (!streamed_) return;
    const Rank self = transport_->self();
    streamed_->check_on_host(reads_input(call, self) ? call.in : nullptr,
                             writes_output(call, self) ? call.out : nullptr);
  }
  /// The same of a plan. @param layout of its buffers.
  void check_on_host(const Layout& layout, const void* in, const void* out) const {
    if (!streamed_ || layout.contract().collective == Collective::barrier) return;
    streamed_->check_on_host(layout.in_total() > 0 ? in : nullptr,
                             layout.out_total() > 0 ? out : nullptr);
  }
  /// What is attached. Throws Error{invalid_argument} where nothing is.
  [[nodiscard]] StreamCalls& streamed() const;
  /// Chooses and lowers such a call. Throws as acquire.
  [[nodiscard]] std::shared_ptr<StreamedCall> bind_streamed(const Call& call, Options options);
  /// Enqueues it. Throws Error, and what failed since the last one.
  void start_streamed(StreamedCall& call);
  /// Waits until a stream has done all that is enqueued on it. Throws likewise, and
  /// Error{timeout}.
  void wait_for_stream(Stream stream, Duration timeout);
  /// Notes that it starts with others. @param blocks whether their batch waits for it.
  void enlist_streamed(std::shared_ptr<StreamedCall> call, bool blocks);
  /// A call that is enqueued on Options::stream, or has ended on a stream of our own.
  void run_streamed(const Call& call, const Options& options);
  /// Starts an execution that acquire gave, or has it wait until the window has room for it.
  /// `timeout` zero takes the communicator's.
  void start(Execution& execution, const void* in, void* out, Duration timeout);
  /// How a call of a batch runs: how long, and whether the batch waits for it, and owns it.
  struct Enlistment {
    Duration timeout{0};
    bool blocks = false;
  };
  /// Notes that a call will start with others. Throws where its start would be refused.
  void enlist(Execution& execution, const void* in, void* out, const Enlistment& how);
  /// Calls a function of each execution that is enlisted, and of the bytes that it will touch.
  template <class Function>
  void for_each_enlisted(Function function) const {
    for (const Enlisted& call : enlisted_) {
      const Binding& binding = call.execution->binding();
      function(*call.execution,
               touched_bytes(binding.layout(), binding.element_bytes, call.in, call.out));
    }
  }
  /// Starts what was enlisted. Throws the first failure.
  void start_enlisted();
  /// Whether a call that blocks is pending, and may come to an end.
  [[nodiscard]] bool has_awaited() const noexcept;
  /// Polls for such calls once. Throws the first failure. @return whether anything moved.
  bool step_awaited();
  /// Waits for all of them. Throws the first failure.
  void wait_awaited();
  /// Likewise for those on streams.
  void wait_awaited_streamed() {
    if (streamed_) streamed_->wait_awaited();
  }
  /// Takes back what was enlisted and not started, and gives back the calls that blocked.
  void end_batch() noexcept;
  std::shared_ptr<Engine> next_in_batch{};  ///< Of the batch's list.

  /// What is under way.
  [[nodiscard]] Progress& progress() noexcept { return progress_; }
  /// Takes the next turn for an operation that starts later, or never: between turns taken before
  /// and after on all ranks, whenever each of them comes to it.
  [[nodiscard]] Execution::Turn keep_turn() { return order_.keep(); }
  /// Nothing will start at a turn that was kept.
  void give_up_turn(Execution::Turn turn) noexcept { order_.end_keeping(turn); }
  /// Memory for tasks.
  [[nodiscard]] PayloadMemory& payloads() noexcept { return payloads_; }
  [[nodiscard]] Failures& failures() noexcept { return failures_; }
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
    const bool is_left_pending = progress_thread_ && progress_.has_anything_pending();
    const bool is_abandoned = is_abandoned_;
    occupancy_.leave();
    if (is_abandoned) delete this;
    else if (is_left_pending) progress_thread_->wake();
  }
  /// The last handle of it has ended: it is deleted, and within a call of its own, as by an
  /// operator, when that ends. @param engine that none can reach any more.
  static void end(Engine* engine) noexcept {
    if (engine->occupancy_.is_in()) engine->is_abandoned_ = true;
    else delete engine;
  }
  /// What the progress thread found.
  enum class Advance : std::uint8_t {
    none,     ///< Nothing is pending, or another thread is in a call.
    pending,  ///< Something is, and does not get on.
    moved     ///< Something has got on.
  };
  /// Goes on with what is pending, by the progress thread. @param may_wait_idle whether it may
  /// sleep in the transport where nothing moves, until something does or another thread wants to
  /// enter.
  [[nodiscard]] Advance advance(bool may_wait_idle) noexcept;
  /// As Occupancy::keep.
  void keep() noexcept { occupancy_.keep(); }
  /// As Occupancy::let_go.
  void let_go() noexcept { occupancy_.let_go(); }
  /// As release, of a handle that ends: by any thread, after another one's call, and, within a call
  /// of its own, when that ends.
  void drop(Execution* execution) noexcept;
  /// Likewise.
  void drop(std::shared_ptr<Task> task) noexcept;
  /// What a collective would run, and why. @param call what. @param options of it.
  [[nodiscard]] Selection select(const Call& call, const Options& options);
  /// The same in words, of any call.
  [[nodiscard]] std::string explain(const Call& call, const Options& options);

 private:
  using Shape = ProgramCache::Shape;
  using CachedExecution = ProgramCache::CachedExecution;
  struct Enlisted {
    Execution* execution;
    const void* in;
    void* out;
    Enlistment how;
  };
  [[nodiscard]] Problem problem_of(const Call& call, const Options& options) const;
  void compare(const Binding& binding);
  Shape& shape_for(const Call& call, const Options& options);
  CachedExecution& ready_for(const Call& call, const Options& options);
  void run_later(Shape& shape, const Call& call, const Options& options);
  [[nodiscard]] std::shared_ptr<const Binding> bind_shape(const Call& call, const Options& options);
  void check_start(const Execution& execution, const void* in, const void* out);
  void strike(Execution& execution) noexcept;
  void release_dropped() noexcept;
  void enter_after_progress();
  [[nodiscard]] bool enter_when_free() noexcept;

  Occupancy occupancy_;
  std::atomic<int> callers_{0};   // that want to enter while the progress thread is in
  bool has_dropped_ = false;      // whether a handle ended within a call
  bool is_abandoned_ = false;     // whether the last one did
  std::shared_ptr<Group> group_;  // outlives the transport
  std::shared_ptr<CallCounter> calls_;
  std::unique_ptr<Transport> transport_;
  Outbox outbox_;
  std::shared_ptr<Memory> memory_;
  CommunicatorOptions options_;
  std::vector<int> hosts_;  // of ranks
  Selectors selectors_;
  Scratch scratch_;
  ProgramCache cache_;
  CallOrder order_;
  Failures failures_;
  std::vector<Enlisted> enlisted_;
  std::vector<Execution*> awaited_;  // by a batch
  PayloadMemory payloads_;
  std::unique_ptr<StreamCalls> streamed_{};            // or null
  bool compares_streamed_ = false;                     // whether ranks compare those
  Progress progress_;                                  // whose tasks have memory of payloads_
  std::shared_ptr<ProgressThread> progress_thread_{};  // or null
};

[[noreturn]] void reject_empty();

/// @param engine of a communicator, which has none after it was moved from. @return it. Throws
/// Error{invalid_argument}.
[[nodiscard]] inline Engine& engine_of(const std::shared_ptr<Engine>& engine) {
  if (engine == nullptr) reject_empty();
  return *engine;
}

/// A call of this thread, in an engine as long as it lives.
class CallGuard {
 public:
  /// Throws Error{invalid_argument} as engine_of, and where another thread is in a call, or this
  /// one.
  explicit CallGuard(const std::shared_ptr<Engine>& engine) : engine_{engine_of(engine)} {
    engine_.enter();
  }
  CallGuard(const CallGuard&) = delete;
  CallGuard& operator=(const CallGuard&) = delete;
  ~CallGuard() { engine_.leave(); }

 private:
  Engine& engine_;
};

}  // namespace tutti::v0::detail

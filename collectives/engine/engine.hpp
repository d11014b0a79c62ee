/// @file
/// The parts behind a Communicator, and the threads that may be in them.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include <tutti/communicator.hpp>
#include <tutti/spi/communicator.hpp>
#include <tutti/spi/occupancy.hpp>

#include "collectives/execution/payload_memory.hpp"
#include "collectives/execution/task.hpp"

#include "batch_calls.hpp"
#include "host_calls.hpp"
#include "progress_thread.hpp"
#include "stream_calls.hpp"

namespace tutti::v0::detail {

/// Owns the parts of a communicator, and lets one thread at a time into them: a caller's, the
/// progress thread between calls, or one that destroys a handle. Any thread may read constant
/// members.
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
  /// @return the group of the ranks. Throws Error{invalid_argument} if there is none.
  [[nodiscard]] Group& group() const;

  [[nodiscard]] CallBinder& binder() noexcept { return binder_; }
  [[nodiscard]] HostCalls& calls() noexcept { return calls_; }
  [[nodiscard]] BatchCalls& batch() noexcept { return batch_; }
  [[nodiscard]] Progress& progress() noexcept { return progress_; }
  [[nodiscard]] CallOrder& order() noexcept { return diagnosis_.order(); }
  [[nodiscard]] Failures& failures() noexcept { return diagnosis_.failures(); }
  [[nodiscard]] CallCounter& counter() noexcept { return diagnosis_.counter(); }
  /// @return memory for tasks.
  [[nodiscard]] PayloadMemory& payloads() noexcept { return payloads_; }
  /// Lets calls have Options::stream from now on. @param compares whether ranks compare their calls
  /// first.
  void attach_streams(std::shared_ptr<StreamTransport> streams, bool compares);
  [[nodiscard]] bool has_streams() const noexcept { return streamed_ != nullptr; }
  /// @return the calls on streams. Throws Error{invalid_argument} if no streams are attached.
  [[nodiscard]] StreamCalls& streamed() const;
  /// @return the status of the latest call, as for other ranks. Any thread may call this.
  [[nodiscard]] CallStatus call_status() const { return diagnosis_.counter().status_of(0); }
  /// Rejects a call of the host on memory of a GPU. Throws Error{invalid_argument}.
  void check_on_host(const Call& call) const {
    if (streamed_) streamed_->check_on_host(call, transport_->self());
  }

  /// Begins a call of this thread. Throws Error{invalid_argument}, see Occupancy.
  void enter() {
    if (!occupancy_.try_enter()) enter_after_progress();
  }
  /// Ends the call of this thread.
  void leave() noexcept {
    if (has_dropped_) release_dropped();
    if (has_notices_) send_notices();
    ProgressThread* const thread = progress_thread_.load(std::memory_order_relaxed);
    const bool is_left_pending =
        thread != nullptr && wants_progress() && progress_.has_anything_pending();
    const bool is_abandoned = is_abandoned_;
    occupancy_.leave();
    if (is_abandoned) delete this;
    else if (is_left_pending) thread->wake();
  }
  /// Deletes an engine whose last handle was destroyed. If that was inside a call of the engine,
  /// for example by an operator, it is deleted after the call.
  static void end(Engine* engine) noexcept {
    if (engine->occupancy_.is_in()) engine->is_abandoned_ = true;
    else delete engine;
  }
  /// The result of a poll by the progress thread.
  enum class Advance : std::uint8_t {
    none,     ///< Nothing is pending, or another thread is in a call.
    pending,  ///< Something is pending, and nothing has advanced.
    moved     ///< Something has advanced.
  };
  /// Polls for pending operations, on the progress thread. @param may_wait_idle whether it may
  /// sleep in the transport if nothing moves, until something does or another thread wants to
  /// enter.
  [[nodiscard]] Advance advance(bool may_wait_idle) noexcept;
  /// As Request::notify. Throws Error{invalid_argument}. @param notice of an operation that the
  /// engine keeps. @param is_done whether it has ended. @param function the caller's name.
  void notify(Notice& notice, bool is_done, int eventfd, const char* function);
  /// As Occupancy::keep.
  void keep() noexcept { occupancy_.keep(); }
  /// As Occupancy::let_go.
  void let_go() noexcept { occupancy_.let_go(); }
  /// Releases the execution of a destroyed handle. Any thread may call this: it waits for the call
  /// of another thread; inside a call of this thread, the release follows after that call.
  void drop(Execution* execution) noexcept;
  /// Drops the task of a destroyed handle, in the same way.
  void drop(std::shared_ptr<Task> task) noexcept;

  std::shared_ptr<Engine> next_in_batch{};  ///< The next engine in the batch's list.

 private:
  void check_options();
  void check_threads(const char* wish) const;
  void start_progress_thread();
  /// @return whether the progress thread has to advance operations.
  [[nodiscard]] bool wants_progress() const noexcept {
    return options_.progress_thread || has_notices_;
  }
  void send_notices() noexcept;
  void release(Execution& execution) noexcept;
  void release_dropped() noexcept;
  void enter_after_progress();
  [[nodiscard]] bool enter_when_free() noexcept;

  Occupancy occupancy_;
  std::atomic<int> callers_{0};   // threads that want to enter while the progress thread is in
  bool has_dropped_ = false;      // whether a handle was destroyed inside a call
  bool has_notices_ = false;      // whether an operation has an eventfd
  bool is_abandoned_ = false;     // whether the last handle was destroyed inside a call
  std::shared_ptr<Group> group_;  // outlives the transport
  std::unique_ptr<Transport> transport_;
  std::shared_ptr<Memory> memory_;
  CommunicatorOptions options_;
  std::vector<int> hosts_;  // by rank
  Diagnosis diagnosis_;
  CallBinder binder_;
  PayloadMemory payloads_;
  Progress progress_;  // its tasks have memory of payloads_
  HostCalls calls_;
  BatchCalls batch_;
  std::unique_ptr<StreamCalls> streamed_{};                // or null
  std::shared_ptr<ProgressThread> shared_thread_{};        // or null
  std::atomic<ProgressThread*> progress_thread_{nullptr};  // for threads that are not in
};

[[noreturn]] void reject_empty();

/// @param engine of a communicator; null if the communicator was moved from. Throws
/// Error{invalid_argument} then.
[[nodiscard]] inline Engine& engine_of(const std::shared_ptr<Engine>& engine) {
  if (engine == nullptr) reject_empty();
  return *engine;
}

/// Keeps this thread in an engine during a call.
class CallGuard {
 public:
  /// Throws Error{invalid_argument} as engine_of, and if another thread or this one is in a call.
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

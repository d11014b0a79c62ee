/// @file
/// Handles of operations under way, and of prepared operations.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include <tutti/call.hpp>
#include <tutti/error.hpp>
#include <tutti/export.hpp>

namespace tutti::v0 {

namespace detail {
class Engine;
class Execution;
struct Requests;
class StreamExecution;
}  // namespace detail

/// A message that has come, or is announced, and was not received yet.
struct Arrival {
  Rank from = -1;         ///< The sender.
  int tag = 0;            ///< The tag.
  std::size_t bytes = 0;  ///< The length.

  /// @return the number of elements of type T.
  template <class T>
  [[nodiscard]] std::size_t count() const noexcept {
    return bytes / sizeof(T);
  }
};

/// An operation under way. Memory alone bounds their number. The oldest 64 collectives of a
/// communicator make progress; the others start in the order of their calls, as older ones end.
///
/// Move-only. Dropping a pending one fails its communicator, since the other ranks wait for
/// messages that will never come. Its calls are calls of the communicator: one thread at a time.
/// Until it has ended, no other call may write to memory that it reads or writes, nor read memory
/// that it writes: results would depend on timing, and no rank detects that.
///
/// For a call on a stream of a GPU it reports the progress of the stream. Dropping it changes
/// nothing: enqueued work runs, and a call of a batch starts with the others.
class [[nodiscard]] TUTTI_API Request {
 public:
  /// No operation: test() is true.
  Request() noexcept = default;
  /// Moves the operation; `other` is then empty.
  Request(Request&& other) noexcept;
  /// Drops the own operation and moves the other's; `other` is then empty.
  Request& operator=(Request&& other) noexcept;
  /// Fails the communicator if the operation is pending. Blocks only while another thread is in a
  /// call of the communicator.
  ~Request();

  /// @return whether there is no operation, or a call has found it done.
  [[nodiscard]] bool is_empty() const noexcept {
    return execution_ == nullptr && streamed_ == nullptr;
  }
  /// Makes progress. Throws the communicator's Error, in this and all later calls.
  /// @return whether the operation is done.
  bool test();
  /// Waits for the end. Throws as test.
  void wait();
  /// Waits for the end, for a time at most. A call that takes longer continues, and may be waited
  /// for again: unlike Options::timeout, this fails nothing. @param time from now on. @return
  /// whether the operation is done. Throws as test.
  bool wait_for(Duration time);
  /// Adds one to an eventfd when the operation ends or fails, or when this handle ends, so that an
  /// event loop waits for it; test then does not wait. If the operation has ended, adds it at once.
  /// Until then a thread of tutti makes progress: the first such call of a communicator without
  /// CommunicatorOptions::progress_thread starts that thread. Not for calls on a stream.
  /// @param eventfd open until that time, and non-blocking. It replaces that of the call before;
  /// less than zero: none. Throws as test, and Error{invalid_argument}.
  void notify(int eventfd);
  /// As test. @return whether the operation is done, or the Error.
  [[nodiscard]] Result<bool> try_test() noexcept;
  /// As wait.
  [[nodiscard]] Result<void> try_wait() noexcept;

 private:
  friend class Async;
  friend struct detail::Requests;
  Request(std::shared_ptr<detail::Engine> engine, detail::Execution* execution) noexcept;
  Request(std::shared_ptr<detail::Engine> engine,
          std::shared_ptr<detail::StreamExecution> call) noexcept;
  std::shared_ptr<detail::Engine> engine_;
  detail::Execution* execution_ = nullptr;
  std::shared_ptr<detail::StreamExecution> streamed_;  // in its place, or null
};

/// Waits for all. When all have ended, throws the first Error.
/// @param requests of one communicator or several, which all make progress; empty ones count as
/// done.
TUTTI_API void wait_all(std::span<Request> requests);
/// Waits for one. @param requests as above.
/// @return the index of a request that has ended and is now empty; nothing if all were empty.
/// Throws the Error of that request.
TUTTI_API std::optional<std::size_t> wait_any(std::span<Request> requests);
/// Makes progress. @param requests as above. @return whether all have ended. Throws as wait_any.
[[nodiscard]] TUTTI_API bool test_all(std::span<Request> requests);
/// Makes progress. @param requests as above.
/// @return the index of a request that has ended and is now empty, if there is one. Throws as
/// wait_any.
[[nodiscard]] TUTTI_API std::optional<std::size_t> test_any(std::span<Request> requests);

/// A prepared operation that can run again and again: schedule, addresses and scratch are bound.
/// Move-only. One run at a time. Its calls are calls of the communicator: one thread at a time.
///
/// Plans of collectives match by the order in which they were made, as persistent collectives of
/// MPI 4: all ranks of a communicator make the same plans in the same order, and start each equally
/// often, in any order and between any other calls. A run matches runs of the same plan, and no
/// other call.
///
/// On a stream of a GPU runs follow each other, so the one before need not be over. test and wait
/// report on the last one, and dropping the plan changes nothing. Ranks must start such plans in
/// the same order.
class [[nodiscard]] TUTTI_API Plan {
 public:
  /// Moves the plan; `other` is then empty.
  Plan(Plan&& other) noexcept;
  /// Drops the own run and moves the other plan. `other` is then empty: it has no run, no start(),
  /// no algorithm() and no segment().
  Plan& operator=(Plan&& other) noexcept;
  /// Fails the communicator if a run is pending. Blocks as ~Request.
  ~Plan();

  /// Starts a run on the buffers of the plan. Throws Error.
  void start();
  /// Starts a run on other buffers of the same sizes. Throws Error.
  void start(const void* in, void* out);
  /// Makes progress. Throws the communicator's Error, in this and all later calls.
  /// @return whether no run is pending.
  bool test();
  /// Waits for the end of the run. Throws as test.
  void wait();
  /// As Request::wait_for. @param time from now on. @return whether no run is pending. Throws as
  /// test.
  bool wait_for(Duration time);
  /// As start.
  [[nodiscard]] Result<void> try_start() noexcept;
  /// As start.
  [[nodiscard]] Result<void> try_start(const void* in, void* out) noexcept;
  /// As test. @return whether no run is pending, or the Error.
  [[nodiscard]] Result<bool> try_test() noexcept;
  /// As wait.
  [[nodiscard]] Result<void> try_wait() noexcept;
  /// @return the algorithm with parameters, such as "knomial:k=4"; empty after a move.
  [[nodiscard]] const std::string& algorithm() const noexcept;
  /// @return bytes per segment, or 0 if the vector runs as a whole.
  [[nodiscard]] std::size_t segment() const noexcept;

 private:
  friend class Plans;
  Plan(std::shared_ptr<detail::Engine> engine, detail::Execution* execution, const void* in,
       void* out, Duration timeout) noexcept;
  Plan(std::shared_ptr<detail::Engine> engine,
       std::shared_ptr<detail::StreamExecution> call) noexcept;
  void start_streamed(const void* in, void* out);
  [[nodiscard]] bool is_empty() const noexcept;
  std::shared_ptr<detail::Engine> engine_;
  detail::Execution* execution_ = nullptr;
  std::shared_ptr<detail::StreamExecution> streamed_;  // in its place, or null
  const void* in_ = nullptr;
  void* out_ = nullptr;
  Duration timeout_{0};
};

}  // namespace tutti::v0

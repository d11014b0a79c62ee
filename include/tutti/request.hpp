/// @file
/// Handles of operations under way and of operations prepared.
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

/// A message that has come, or is announced, and waits to be received.
struct Arrival {
  Rank from = -1;         ///< Its sender.
  int tag = 0;            ///< Its tag.
  std::size_t bytes = 0;  ///< How many it has.

  /// @tparam T type of its elements. @return how many it has.
  template <class T>
  [[nodiscard]] std::size_t count() const noexcept {
    return bytes / sizeof(T);
  }
};

/// An operation under way. There may be as many as memory holds; of the collectives of a
/// communicator the oldest 64 make progress, and the others start in the order of their calls, as
/// soon as older ones have ended. Move-only. Dropping a pending one fails its communicator: the
/// other ranks wait for messages that will never come. A call of it is one of its communicator,
/// which serves one thread at a time. Until it has ended, no other call may write to memory that it
/// reads or writes, nor read what it writes: results would depend on timing, and ranks do not
/// notice.
///
/// Of a call on a stream of a GPU it says how far the stream is. Dropping it changes nothing: what
/// is enqueued runs, and what is in a batch starts with the others.
class [[nodiscard]] TUTTI_API Request {
 public:
  /// No operation: test() is true.
  Request() noexcept = default;
  /// Takes the operation over. @param other is empty afterwards.
  Request(Request&& other) noexcept;
  /// Drops its own operation and takes the other's over. @param other is empty afterwards.
  /// @return this.
  Request& operator=(Request&& other) noexcept;
  /// Fails the communicator if the operation is pending. Does not block, but where another thread
  /// is in a call of the communicator: until that ends.
  ~Request();

  /// @return whether there is no operation, or it has been found to be done.
  [[nodiscard]] bool is_empty() const noexcept {
    return execution_ == nullptr && streamed_ == nullptr;
  }
  /// Makes progress. Throws the communicator's Error, in this and all later calls.
  /// @return whether the operation is done.
  bool test();
  /// Waits for the end. Throws as test does.
  void wait();
  /// As test. @return whether the operation is done, or the Error.
  [[nodiscard]] Result<bool> try_test() noexcept;
  /// As wait. @return nothing, or the Error.
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

/// Waits for all. @param requests of one communicator or several, which all make progress; empty
/// ones are done. Throws, when all have ended, well or not, the first Error.
TUTTI_API void wait_all(std::span<Request> requests);
/// Waits for one. @param requests as above. @return which has ended, and is empty now; none where
/// all were empty. Throws the Error of one that ended so.
TUTTI_API std::optional<std::size_t> wait_any(std::span<Request> requests);
/// Makes progress. @param requests as above. @return whether all have ended. Throws as wait_any.
[[nodiscard]] TUTTI_API bool test_all(std::span<Request> requests);
/// Makes progress. @param requests as above. @return which has ended, and is empty now, if one has.
/// Throws as wait_any.
[[nodiscard]] TUTTI_API std::optional<std::size_t> test_any(std::span<Request> requests);

/// A prepared operation that may run again and again: schedule, addresses and scratch are bound.
/// Move-only. One run at a time. A call of it is one of its communicator, which serves one thread
/// at a time.
///
/// Plans of collectives are matched by the order in which they were made, as MPI 4 matches
/// persistent collectives: all ranks of a communicator make the same plans in the same order, and
/// each starts them in whatever order it likes, between whatever other calls, equally often. A run
/// matches runs of the same plan, and no other call.
///
/// On a stream of a GPU runs follow each other, so that the one before need not be over; test and
/// wait tell of the last one, and dropping the plan changes nothing. There ranks start plans in
/// the same order.
class [[nodiscard]] TUTTI_API Plan {
 public:
  /// Takes the plan over. @param other is empty afterwards.
  Plan(Plan&& other) noexcept;
  /// Drops its own run and takes the other plan over. @param other is empty afterwards: it has no
  /// run, no start(), no algorithm() and no segment(). @return this.
  Plan& operator=(Plan&& other) noexcept;
  /// Fails the communicator if a run is pending. Does not block, but as ~Request.
  ~Plan();

  /// Starts a run on the buffers the plan was made with. Throws Error.
  void start();
  /// Starts a run on other buffers of the same sizes. Throws Error.
  /// @param in input, as in the call that made the plan. @param out output, likewise.
  void start(const void* in, void* out);
  /// Makes progress. Throws the communicator's Error, in this and all later calls.
  /// @return whether no run is pending.
  bool test();
  /// Waits for the end of the run. Throws as test does.
  void wait();
  /// As start. @return nothing, or the Error.
  [[nodiscard]] Result<void> try_start() noexcept;
  /// As start. @param in input. @param out output. @return nothing, or the Error.
  [[nodiscard]] Result<void> try_start(const void* in, void* out) noexcept;
  /// As test. @return whether no run is pending, or the Error.
  [[nodiscard]] Result<bool> try_test() noexcept;
  /// As wait. @return nothing, or the Error.
  [[nodiscard]] Result<void> try_wait() noexcept;
  /// @return the algorithm it runs, with parameters, such as "knomial:k=4"; nothing after it was
  /// moved from.
  [[nodiscard]] const std::string& algorithm() const noexcept;
  /// @return bytes per segment, or 0 where the vector runs as a whole.
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

/// @file
/// Calls on streams of a GPU, from their arguments to their end.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <tutti/spi/streams.hpp>

#include "collectives/engine/host_calls.hpp"
#include "collectives/streams/stream_execution.hpp"
#include "collectives/streams/stream_selector.hpp"

namespace tutti::v0::detail {

/// Makes a StreamExecution for each call on a stream, starts it, alone or in a batch, and waits for
/// its end. Called by the thread that is in the communicator's engine.
class StreamCalls {
 public:
  /// @param streams not null. @param compares whether ranks compare their calls first. @param hosts
  /// as CommunicatorParts::hosts. @param calls outlive this.
  StreamCalls(std::shared_ptr<StreamTransport> streams, bool compares,
              const std::vector<int>& hosts, HostCalls& calls)
      : streams_{std::move(streams)}, compares_{compares}, calls_{calls},
        selector_{*streams_, calls.progress().options().catalog, hosts} {}

  [[nodiscard]] const std::shared_ptr<StreamTransport>& transport() const noexcept {
    return streams_;
  }
  /// Whether ranks compare their calls on streams first.
  [[nodiscard]] bool compares() const noexcept { return compares_; }
  [[nodiscard]] StreamSelector& selector() noexcept { return selector_; }
  /// Throws Error{invalid_argument} if buffers of a call of the host lie in memory of a GPU.
  void check_on_host(const Call& call, Rank self) const;
  /// Checks the buffers of a plan in the same way.
  void check_on_host(const Layout& layout, const void* in, const void* out) const;

  /// @return an execution for a call. Throws Error{invalid_argument} for wrong arguments, and the
  /// first failure.
  [[nodiscard]] std::shared_ptr<StreamExecution> acquire(const Call& call, const Options& options);
  /// Enqueues a call on Options::stream. On the library's own stream it also waits for its end.
  void run(const Call& call, const Options& options);
  /// Enqueues a call. Throws Error; any other code than invalid_argument fails the communicator.
  void start(StreamExecution& call);
  /// @return whether a call has ended. Throws an Error, with which the communicator fails.
  [[nodiscard]] bool test(StreamExecution& call);
  /// Waits for the end of a call. Throws as test(), and Error{timeout}.
  void wait(StreamExecution& call);
  /// Waits until a stream has done all that is enqueued on it. Throws as wait().
  void wait_for_stream(Stream stream, Duration timeout);
  using Clock = std::chrono::steady_clock;
  /// Pauses between two tests of a pending call. Throws Error{timeout} after the call's timeout,
  /// with which the communicator fails. @param since the beginning of the wait. @param looks the
  /// number of tests so far.
  void pause(const StreamExecution& call, Clock::time_point since, int looks);

  /// Adds a call to this thread's batch. @param blocks whether the batch waits for it. Throws as
  /// start().
  void enlist(std::shared_ptr<StreamExecution> call, bool blocks);
  /// Enqueues the calls of the batch, messages between two ranks as one group. Throws as start().
  void start_enlisted();
  /// Waits for the blocking calls of the batch. Throws as wait().
  void wait_awaited();
  /// Drops the calls that have not started.
  void end_batch() noexcept;

 private:
  [[nodiscard]] Stream stream_of(Stream stream) const {
    return stream.is_own() ? streams_->own_stream() : stream;
  }
  [[nodiscard]] Binding bind(const Call& call, const Options& options);
  void check(const StreamExecution& call);
  void compare(const Binding& binding);
  void check_failures() const;
  [[noreturn]] void fail_as_caught();
  template <class Action>
  void attempt(Action action);
  template <class Action>
  void examine(Action action);

  [[nodiscard]] Failures& failures() const noexcept { return calls_.diagnosis().failures(); }

  std::shared_ptr<StreamTransport> streams_;
  bool compares_;
  HostCalls& calls_;
  StreamSelector selector_;
  std::vector<std::shared_ptr<StreamExecution>> enlisted_{};
  std::vector<std::shared_ptr<StreamExecution>> awaited_{};  // blocking calls of a batch
};

}  // namespace tutti::v0::detail

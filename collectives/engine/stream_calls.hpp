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
  /// @param streams on which calls are enqueued; not null. @param compares whether ranks compare
  /// what they call first. @param hosts as CommunicatorParts::hosts. @param calls of the host,
  /// which live longer.
  StreamCalls(std::shared_ptr<StreamTransport> streams, bool compares,
              const std::vector<int>& hosts, HostCalls& calls)
      : streams_{std::move(streams)}, compares_{compares}, calls_{calls},
        selector_{*streams_, calls.progress().options().catalog, hosts} {}

  [[nodiscard]] const std::shared_ptr<StreamTransport>& transport() const noexcept {
    return streams_;
  }
  /// Whether ranks compare what they call on streams first.
  [[nodiscard]] bool compares() const noexcept { return compares_; }
  [[nodiscard]] StreamSelector& selector() noexcept { return selector_; }
  /// Rejects a call of the host whose buffers it cannot touch. Throws Error{invalid_argument}.
  void check_on_host(const Call& call, Rank self) const;
  /// The same of a plan. @param layout of its buffers.
  void check_on_host(const Layout& layout, const void* in, const void* out) const;

  /// @return what runs a call. Throws Error{invalid_argument} for wrong arguments, and the first
  /// failure.
  [[nodiscard]] std::shared_ptr<StreamExecution> acquire(const Call& call, const Options& options);
  /// A call that is enqueued on Options::stream, or has ended on a stream of our own.
  void run(const Call& call, const Options& options);
  /// Enqueues. Throws Error; one that is no invalid_argument has failed the communicator.
  void start(StreamExecution& call);
  /// @return whether it has ended. Throws Error, of which the communicator has failed.
  [[nodiscard]] bool test(StreamExecution& call);
  /// Waits until it has. Throws likewise, and Error{timeout}.
  void wait(StreamExecution& call);
  /// Waits until a stream has done all that is enqueued on it. Throws likewise.
  void wait_for_stream(Stream stream, Duration timeout);
  using Clock = std::chrono::steady_clock;
  /// Pauses between two looks at what has not ended. @param call of whose timeout the communicator
  /// fails. @param since when somebody waits for it. @param looks so far. Throws Error{timeout}.
  void pause(const StreamExecution& call, Clock::time_point since, int looks);

  /// Notes that a call starts with others. @param blocks whether the batch waits for it. Throws as
  /// start.
  void enlist(std::shared_ptr<StreamExecution> call, bool blocks);
  /// Enqueues what was enlisted, messages between two ranks as one group. Throws as start.
  void start_enlisted();
  /// Waits for those that block. Throws as wait.
  void wait_awaited();
  /// Forgets those that have not started.
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
  std::vector<std::shared_ptr<StreamExecution>> awaited_{};  // by a batch
};

}  // namespace tutti::v0::detail

/// @file
/// An execution on a stream: one operation of one shape, from its start to its end.
#pragma once

#include <memory>
#include <span>

#include <tutti/spi/streams.hpp>

#include "collectives/lowering/binding.hpp"

namespace tutti::v0::detail {

/// Enqueues the runs of one call on a stream, in order, and finds out whether the last one has
/// ended. Called by the thread that is in the communicator's engine.
class StreamExecution {
 public:
  /// @param streams of the communicator, which outlive this. @param binding of the call; null for a
  /// wait for the stream alone. @param timeout of a wait for its end.
  StreamExecution(StreamTransport& streams, std::shared_ptr<const Binding> binding, Stream stream,
                  Duration timeout) noexcept
      : streams_{streams}, binding_{std::move(binding)}, stream_{stream}, timeout_{timeout} {}

  [[nodiscard]] const Binding& binding() const noexcept { return *binding_; }
  [[nodiscard]] Stream stream() const noexcept { return stream_; }
  [[nodiscard]] Duration timeout() const noexcept { return timeout_; }
  [[nodiscard]] RunBuffers buffers() const noexcept { return buffers_; }
  /// Sets the operator of the call.
  void set_operator(const Operator& op) { op_ = op; }
  /// Sets the buffers of the next run.
  void set_buffers(RunBuffers buffers) noexcept { buffers_ = buffers; }
  /// Marks the end of each run, so that find_end() can find it.
  void set_awaited() noexcept { is_awaited_ = true; }
  [[nodiscard]] bool is_awaited() const noexcept { return is_awaited_; }
  /// Sets whether it belongs to a batch that has not started.
  void set_enlisted(bool enlisted) noexcept { is_enlisted_ = enlisted; }
  [[nodiscard]] bool is_enlisted() const noexcept { return is_enlisted_; }

  /// Throws Error if the stream or the buffers cannot be used.
  void check() const;
  /// Enqueues a run. Throws Error, when a part of it may have been enqueued.
  void start();
  /// Enqueues messages between two ranks as one group, on the stream of the first one, so that none
  /// waits for another. Throws as start().
  static void start_together(std::span<const std::shared_ptr<StreamExecution>> messages);
  /// If set_awaited() was called, makes find_end() wait for all that is on the stream now. Throws
  /// Error.
  void mark_end();
  /// @return whether find_end() has not found the end of the last run yet.
  [[nodiscard]] bool is_pending() const noexcept { return mark_ != nullptr; }
  /// @return whether the last run has ended. Throws the Error with which a part of it failed.
  [[nodiscard]] bool find_end();

 private:
  void check_captured() const;

  StreamTransport& streams_;
  std::shared_ptr<const Binding> binding_;
  Stream stream_;
  Duration timeout_;
  Operator op_{OperatorKind::sum};
  RunBuffers buffers_{};
  bool is_awaited_ = false;
  bool is_enlisted_ = false;
  std::unique_ptr<StreamMark> mark_{};  // the end of the last run; null if none is pending
};

}  // namespace tutti::v0::detail

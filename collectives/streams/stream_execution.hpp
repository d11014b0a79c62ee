/// @file
/// An execution on a stream: one operation of one shape, from its start to its end.
#pragma once

#include <memory>
#include <span>

#include <tutti/spi/streams.hpp>

#include "collectives/lowering/binding.hpp"

namespace tutti::v0::detail {

/// Enqueues the runs of one call on a stream, where they follow each other, and knows whether the
/// last one has ended. Called by the thread that is in the communicator's engine.
class StreamExecution {
 public:
  /// @param streams of the communicator, which live longer. @param binding what to do; null where
  /// there is nothing to start, and only the stream is waited for. @param timeout of a wait for its
  /// end.
  StreamExecution(StreamTransport& streams, std::shared_ptr<const Binding> binding, Stream stream,
                  Duration timeout) noexcept
      : streams_{streams}, binding_{std::move(binding)}, stream_{stream}, timeout_{timeout} {}

  [[nodiscard]] const Binding& binding() const noexcept { return *binding_; }
  [[nodiscard]] Stream stream() const noexcept { return stream_; }
  [[nodiscard]] Duration timeout() const noexcept { return timeout_; }
  [[nodiscard]] RunBuffers buffers() const noexcept { return buffers_; }
  /// @param op of the call, if it reads one.
  void set_operator(const Operator& op) { op_ = op; }
  /// @param buffers of the next run.
  void set_buffers(RunBuffers buffers) noexcept { buffers_ = buffers; }
  /// Whether somebody asks for its end.
  void set_awaited() noexcept { is_awaited_ = true; }
  [[nodiscard]] bool is_awaited() const noexcept { return is_awaited_; }
  /// Whether it is among the calls of a batch that has not started.
  void set_enlisted(bool enlisted) noexcept { is_enlisted_ = enlisted; }
  [[nodiscard]] bool is_enlisted() const noexcept { return is_enlisted_; }

  /// Rejects buffers and streams that cannot serve. Throws Error.
  void check() const;
  /// Enqueues a run. Throws Error: then some of it may have been enqueued.
  void start();
  /// Enqueues messages between two ranks as one group, on the stream of the first one, so that none
  /// waits for another. @param messages whose bindings are such. Throws as start.
  static void start_together(std::span<const std::shared_ptr<StreamExecution>> messages);
  /// Whatever is on the stream by now is waited for, if somebody asks. Throws Error.
  void mark_end();
  /// @return whether the last run has not been found to have ended.
  [[nodiscard]] bool is_pending() const noexcept { return mark_ != nullptr; }
  /// @return whether it has ended. Throws Error that a part of it failed with.
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
  std::unique_ptr<StreamMark> mark_{};  // its end; null: it has not begun, or has ended
};

}  // namespace tutti::v0::detail

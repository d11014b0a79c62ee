/// @file
/// A stream: a thread that does what is enqueued, one after the other.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/cuda/standin/context.hpp"
#include "tests/cuda/standin/queue.hpp"

namespace tutti::standin {

class Mark;
class Stream;

/// Something enqueued.
struct Work {
  /// Does it, given the stream that it is done on. Any result but success fails the context.
  /// May be empty.
  std::function<CUresult(const Stream&)> run{};
  bool always = false;      ///< Done in a failed context, too; else others would wait forever.
  std::uint64_t place = 0;  ///< In the stream's queue.
  /// Reached when the stream counts the work as done, at once: a thread that sees an event complete
  /// finds the stream idle, if nothing follows. Null: none.
  std::shared_ptr<Mark> mark{};
};

/// The relation of a stream to the default stream of its context. The stand-in does not let them
/// wait for each other; but see Captures.
enum class StreamKind { blocking, non_blocking, default_stream };

class Stream {
 public:
  /// @param queue that others may share; null: it waits for no other stream.
  Stream(Context& context, StreamKind kind, std::shared_ptr<Queue> queue = nullptr);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();

  Context& context() const noexcept { return context_; }
  bool is_default() const noexcept { return kind_ == StreamKind::default_stream; }
  bool is_blocking() const noexcept { return kind_ == StreamKind::blocking; }

  CUresult enqueue(Work work);
  /// Enqueues all of it, with nothing else in between.
  CUresult enqueue(std::vector<Work> works);
  bool is_idle() const;
  void wait() const;

  /// The thread ends once all is done; nothing may be enqueued any more.
  void retire();
  /// Retires it and waits for the end of the thread. One thread at a time may ask for that.
  void end();
  bool has_ended() const;
  /// From now on only what is always done is done.
  void abandon();
  /// @return whether what waits on this stream should give up: only what is always done is done.
  bool is_in_vain() const { return abandoned_ || context_.error() != CUDA_SUCCESS; }

 private:
  void run();
  void perform(const Work& work) noexcept;

  Context& context_;
  const StreamKind kind_;
  const std::shared_ptr<Queue> queue_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::deque<Work> works_;
  std::size_t pending_ = 0;  ///< Operations that are enqueued or running.
  bool retired_ = false;
  bool ended_ = false;
  std::atomic<bool> abandoned_{false};
  std::thread thread_;
};

}  // namespace tutti::standin

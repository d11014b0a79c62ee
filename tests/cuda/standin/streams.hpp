/// @file
/// All streams: those created, each context's default stream, and those destroyed with work left.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tests/cuda/standin/handles.hpp"
#include "tests/cuda/standin/stream.hpp"

namespace tutti::standin {

/// Zero is the usual priority, and less is more urgent.
inline constexpr int kGreatestPriority = -5;

class Streams {
 public:
  /// @param queues of each priority of a device, which streams take in turn; 0: each has its own.
  explicit Streams(std::size_t queues) : queues_of_each_{queues} {}

  CUstream create(Context& context, StreamKind kind, int priority = 0);

  /// @return a stream without a handle; it has to be retired.
  std::shared_ptr<Stream> create_unnamed(Context& context);
  /// Its work still runs, without a wait.
  void retire(std::shared_ptr<Stream> stream);

  /// @param handle zero and CU_STREAM_LEGACY mean the default stream of the context, and
  /// CU_STREAM_PER_THREAD that of the calling thread.
  /// @return null if there is no such stream.
  std::shared_ptr<Stream> find(CUstream handle, Context& context);

  /// Its work still runs, without a wait. @return false if there is no such stream.
  bool destroy(CUstream handle);

  /// Waits for all work of a device.
  void wait_for(int device);

  /// Ends all threads, and abandons what they had to do.
  void end();

  /// @return how many were created and not destroyed.
  std::size_t alive() const { return created_.size(); }

 private:
  std::vector<std::shared_ptr<Stream>> all();
  void forget_ended();
  std::shared_ptr<Queue> next_queue(int device, int priority);

  /// The queues of one priority, and the number of streams that use them.
  struct Queues {
    std::vector<std::shared_ptr<Queue>> all;
    std::size_t given = 0;
  };
  const std::size_t queues_of_each_;
  std::map<std::pair<int, int>, Queues> queues_;  ///< By device and priority.

  Handles<CUstream, Stream> created_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Stream>> defaults_;
  std::map<std::pair<const Context*, std::thread::id>, std::shared_ptr<Stream>> of_threads_;
  std::vector<std::shared_ptr<Stream>> unnamed_;
  std::vector<std::shared_ptr<Stream>> retired_;
};

}  // namespace tutti::standin

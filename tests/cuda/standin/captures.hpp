/// @file
/// Recordings of streams.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "tests/cuda/standin/graph.hpp"
#include "tests/cuda/standin/handles.hpp"

namespace tutti::standin {

using Graphs = Handles<CUgraph, Graph>;

/// One recording: it begins in a stream, and other streams join it by events.
struct Capture {
  CUstreamCaptureMode mode{};
  std::thread::id thread;
  const Stream* origin = nullptr;
  CUgraph handle = nullptr;
  std::shared_ptr<Graph> graph;  ///< Null once it has ended.
  bool valid = true;
  /// The streams that take part, and the nodes that come before what each records next.
  std::map<const Stream*, std::set<std::size_t>> tails;
};

/// All recordings. A stream that takes part in one records its calls. A result here is nothing for
/// a stream that does not record, so that the call runs as always.
class Captures {
 public:
  using Result = std::optional<CUresult>;

  explicit Captures(Graphs& graphs) : graphs_{graphs} {}

  CUresult begin(const Stream& stream, CUstreamCaptureMode mode);
  /// @param graph what was recorded; null if that has failed.
  CUresult end(const Stream& stream, CUgraph& graph);
  bool records(const Stream& stream) const;
  CUstreamCaptureStatus status(const Stream& stream) const;

  Result record(const Stream& stream, Node node);
  Result record_work(const Stream& stream, Work work);
  /// Memory that each launch allocates. @param start is set to its address.
  Result record_allocation(const Stream& stream, std::size_t bytes, CUdeviceptr& start);
  Result record_free(const Stream& stream, CUdeviceptr start);
  /// The event stands for what the stream has recorded up to now.
  Result record_event(const Stream& stream, Event& event);
  /// A stream that waits for what was recorded takes part from then on.
  Result wait_for_event(const Stream& stream, const Event& event);

  /// A call that no stream that records may be asked for. It ends the recording.
  Result reject(const Stream& stream);
  /// The same for an event that was recorded there.
  Result reject(const Event& event);
  /// A call that this thread may not make while others record. @return success if it may.
  CUresult reject_unsafe();
  /// The default stream may not be used while streams record that it would wait for.
  /// @param spoils whether that ends the recording. @return success if it may be used.
  CUresult reject_default(const Context& context, bool spoils = true);
  /// A stream is destroyed.
  void forget(const Stream& stream);

 private:
  Capture* find(const Stream& stream) const;

  Graphs& graphs_;
  mutable std::mutex mutex_;
  std::map<const Stream*, std::shared_ptr<Capture>> by_stream_;
};

/// The mode that keeps this thread from unsafe calls: see cuThreadExchangeStreamCaptureMode.
CUstreamCaptureMode& mode_of_thread() noexcept;

}  // namespace tutti::standin

#include "captures.hpp"

#include <algorithm>
#include <utility>

#include "tests/cuda/standin/driver.hpp"

namespace tutti::standin {
namespace {

CUresult spoil(Capture& capture, CUresult result) {
  if (!std::exchange(capture.valid, false)) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  return result;
}

// The stream does this after all it has recorded.
void append(Capture& capture, const Stream& stream, Node node) {
  std::set<std::size_t>& tails = capture.tails.at(&stream);
  node.after.assign(tails.begin(), tails.end());
  tails = {capture.graph->add(std::move(node), stream)};
}

}  // namespace

CUstreamCaptureMode& mode_of_thread() noexcept {
  static thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  return mode;
}

// Null if the stream does not record.
Capture* Captures::find(const Stream& stream) const {
  const auto found = by_stream_.find(&stream);
  return found == by_stream_.end() ? nullptr : found->second.get();
}

CUresult Captures::begin(const Stream& stream, CUstreamCaptureMode mode) {
  const std::scoped_lock lock{mutex_};
  if (find(stream) != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  const auto capture = std::make_shared<Capture>();
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = &stream;
  capture->graph = std::make_shared<Graph>();
  capture->handle = graphs_.add(capture->graph);
  capture->tails[&stream];
  by_stream_[&stream] = capture;
  return CUDA_SUCCESS;
}

CUresult Captures::end(const Stream& stream, CUgraph& graph) {
  graph = nullptr;
  std::shared_ptr<Graph> recorded;  // goes when others may lock again
  const std::scoped_lock lock{mutex_};
  const auto found = by_stream_.find(&stream);
  if (found == by_stream_.end()) return CUDA_ERROR_ILLEGAL_STATE;
  const std::shared_ptr<Capture> capture = found->second;
  if (capture->origin != &stream) return spoil(*capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  const bool same_thread = capture->thread == std::this_thread::get_id();
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && !same_thread)
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  recorded = std::exchange(capture->graph, nullptr);
  std::erase_if(by_stream_, [&](const auto& entry) { return entry.second == capture; });
  const bool joined = recorded->is_covered_by(capture->tails.at(&stream));
  if (capture->valid && joined) {
    recorded->close();
    graph = capture->handle;
    return CUDA_SUCCESS;
  }
  graphs_.pop(capture->handle);
  return capture->valid ? CUDA_ERROR_STREAM_CAPTURE_UNJOINED
                        : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}

bool Captures::records(const Stream& stream) const {
  const std::scoped_lock lock{mutex_};
  return find(stream) != nullptr;
}

CUstreamCaptureStatus Captures::status(const Stream& stream) const {
  const std::scoped_lock lock{mutex_};
  const Capture* const capture = find(stream);
  if (capture == nullptr) return CU_STREAM_CAPTURE_STATUS_NONE;
  return capture->valid ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

Captures::Result Captures::record(const Stream& stream, Node node) {
  const std::scoped_lock lock{mutex_};
  Capture* const capture = find(stream);
  if (capture == nullptr) return {};
  if (!capture->valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  append(*capture, stream, std::move(node));
  return CUDA_SUCCESS;
}

Captures::Result Captures::record_work(const Stream& stream, Work work) {
  return record(stream, node_of(std::move(work), stream.context()));
}

Captures::Result Captures::record_allocation(const Stream& stream, std::size_t bytes,
                                             CUdeviceptr& start) {
  const std::scoped_lock lock{mutex_};
  Capture* const capture = find(stream);
  if (capture == nullptr) return {};
  if (!capture->valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  Arena& arena = driver().memory.arena(stream.context().device());
  start = arena.reserve(bytes, driver().memory.graph_pool(stream.context().device()));
  if (start == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  capture->graph->keep_room(arena, start);
  Work work{.run = [&arena, room = start](const Stream&) {
    arena.open(room);
    return CUDA_SUCCESS;
  }};
  append(*capture, stream, node_of(std::move(work), stream.context()));
  return CUDA_SUCCESS;
}

Captures::Result Captures::record_free(const Stream& stream, CUdeviceptr start) {
  const std::scoped_lock lock{mutex_};
  Capture* const capture = find(stream);
  if (capture == nullptr) return {};
  if (!capture->valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!capture->graph->free_room(start)) return CUDA_ERROR_INVALID_VALUE;
  Arena& arena = driver().memory.arena(driver().memory.device_of(start));
  Work work{.run =
                [&arena, start](const Stream&) {
                  arena.close(start);
                  return CUDA_SUCCESS;
                },
            .always = true};
  append(*capture, stream, node_of(std::move(work), stream.context()));
  return CUDA_SUCCESS;
}

Captures::Result Captures::record_event(const Stream& stream, Event& event) {
  const std::scoped_lock lock{mutex_};
  const auto found = by_stream_.find(&stream);
  if (found == by_stream_.end()) return {};
  const std::shared_ptr<Capture>& capture = found->second;
  if (!capture->valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  event.set_captured({.capture = capture, .tails = capture->tails.at(&stream)});
  return CUDA_SUCCESS;
}

Captures::Result Captures::wait_for_event(const Stream& stream, const Event& event) {
  const std::scoped_lock lock{mutex_};
  Capture* const own = find(stream);
  const auto [capture, tails] = event.captured();
  if (own == nullptr && capture == nullptr) return {};
  if (own != nullptr && !own->valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (capture == nullptr || capture->graph == nullptr) {
    if (own == nullptr) return CUDA_ERROR_CAPTURED_EVENT;
    // A wait for an event that was never recorded does nothing.
    if (capture == nullptr && event.last() == nullptr) return CUDA_SUCCESS;
    return spoil(*own, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  }
  if (own != nullptr && own != capture.get()) {
    spoil(*capture, CUDA_SUCCESS);
    return spoil(*own, CUDA_ERROR_STREAM_CAPTURE_MERGE);
  }
  if (!capture->valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (stream.is_default()) return spoil(*capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  capture->tails[&stream].insert(tails.begin(), tails.end());
  by_stream_[&stream] = capture;
  return CUDA_SUCCESS;
}

Captures::Result Captures::reject(const Stream& stream) {
  const std::scoped_lock lock{mutex_};
  Capture* const capture = find(stream);
  if (capture == nullptr) return {};
  return spoil(*capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

Captures::Result Captures::reject(const Event& event) {
  const std::scoped_lock lock{mutex_};
  const auto [capture, tails] = event.captured();
  if (capture == nullptr) return {};
  capture->valid = false;
  return CUDA_ERROR_CAPTURED_EVENT;
}

CUresult Captures::reject_unsafe() {
  const CUstreamCaptureMode mode = mode_of_thread();
  if (mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  const std::scoped_lock lock{mutex_};
  CUresult result = CUDA_SUCCESS;
  for (const auto& [stream, capture] : by_stream_) {
    const bool own = capture->thread == std::this_thread::get_id();
    const bool concerned = own ? capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED
                               : capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                                     mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (!concerned) continue;
    capture->valid = false;
    result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return result;
}

CUresult Captures::reject_default(const Context& context, bool spoils) {
  const std::scoped_lock lock{mutex_};
  CUresult result = CUDA_SUCCESS;
  for (const auto& [stream, capture] : by_stream_) {
    if (&stream->context() != &context || !stream->is_blocking()) continue;
    if (spoils) capture->valid = false;
    result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  return result;
}

void Captures::forget(const Stream& stream) {
  std::shared_ptr<Graph> dropped;  // goes when others may lock again
  const std::scoped_lock lock{mutex_};
  const auto found = by_stream_.find(&stream);
  if (found == by_stream_.end()) return;
  const std::shared_ptr<Capture> capture = found->second;
  capture->valid = false;
  by_stream_.erase(found);
  if (capture->origin != &stream) return;
  // Nobody can end it any more.
  std::erase_if(by_stream_, [&](const auto& entry) { return entry.second == capture; });
  dropped = std::exchange(capture->graph, nullptr);
  graphs_.pop(capture->handle);
}

}  // namespace tutti::standin

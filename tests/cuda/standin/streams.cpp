#include "streams.hpp"

#include <algorithm>

namespace tutti::standin {

CUstream Streams::create(Context& context, StreamKind kind, int priority) {
  forget_ended();
  auto queue = next_queue(context.device(), priority);
  return created_.add(std::make_shared<Stream>(context, kind, std::move(queue)));
}

std::shared_ptr<Queue> Streams::next_queue(int device, int priority) {
  if (queues_of_each_ == 0) return nullptr;
  const std::scoped_lock lock{mutex_};
  auto& [all, given] = queues_[{device, priority}];
  if (all.size() < queues_of_each_) all.push_back(std::make_shared<Queue>());
  return all[given++ % queues_of_each_];
}

std::shared_ptr<Stream> Streams::find(CUstream handle, Context& context) {
  const bool of_thread = handle == CU_STREAM_PER_THREAD;
  if (handle != nullptr && handle != CU_STREAM_LEGACY && !of_thread) return created_.find(handle);
  const std::scoped_lock lock{mutex_};
  if (of_thread) {
    std::shared_ptr<Stream>& stream = of_threads_[{&context, std::this_thread::get_id()}];
    if (stream == nullptr) stream = std::make_shared<Stream>(context, StreamKind::blocking);
    return stream;
  }
  const auto found = std::find_if(defaults_.begin(), defaults_.end(), [&](const auto& stream) {
    return &stream->context() == &context;
  });
  return found != defaults_.end() ? *found
                                  : defaults_.emplace_back(std::make_shared<Stream>(
                                        context, StreamKind::default_stream));
}

bool Streams::destroy(CUstream handle) {
  forget_ended();
  const std::shared_ptr<Stream> stream = created_.pop(handle);
  if (stream == nullptr) return false;
  retire(stream);
  return true;
}

std::shared_ptr<Stream> Streams::create_unnamed(Context& context) {
  forget_ended();
  const std::scoped_lock lock{mutex_};
  return unnamed_.emplace_back(std::make_shared<Stream>(context, StreamKind::non_blocking));
}

void Streams::retire(std::shared_ptr<Stream> stream) {
  stream->retire();
  const std::scoped_lock lock{mutex_};
  std::erase(unnamed_, stream);
  retired_.push_back(std::move(stream));
}

void Streams::wait_for(int device) {
  for (const auto& stream : all())
    if (stream->context().device() == device) stream->wait();
}

void Streams::end() {
  const auto streams = all();
  for (const auto& stream : streams) stream->abandon();
  for (const auto& stream : streams) stream->end();
}

std::vector<std::shared_ptr<Stream>> Streams::all() {
  auto streams = created_.all();
  const std::scoped_lock lock{mutex_};
  streams.insert(streams.end(), defaults_.begin(), defaults_.end());
  for (const auto& [thread, stream] : of_threads_) streams.push_back(stream);
  streams.insert(streams.end(), unnamed_.begin(), unnamed_.end());
  streams.insert(streams.end(), retired_.begin(), retired_.end());
  return streams;
}

// The last reference joins the thread, which has nothing left to do.
void Streams::forget_ended() {
  std::vector<std::shared_ptr<Stream>> ended;
  const std::scoped_lock lock{mutex_};
  const auto first = std::partition(retired_.begin(), retired_.end(),
                                    [](const auto& stream) { return !stream->has_ended(); });
  ended.assign(first, retired_.end());
  retired_.erase(first, retired_.end());
}

}  // namespace tutti::standin

#include "stream.hpp"

#include <shared_mutex>
#include <utility>

#include "tests/cuda/standin/event.hpp"

namespace tutti::standin {

Stream::Stream(Context& context, StreamKind kind, std::shared_ptr<Queue> queue)
    : context_{context}, kind_{kind}, queue_{std::move(queue)}, thread_{[this] { run(); }} {}

Stream::~Stream() {
  end();
}

CUresult Stream::enqueue(Work work) {
  std::vector<Work> works;
  works.push_back(std::move(work));
  return enqueue(std::move(works));
}

CUresult Stream::enqueue(std::vector<Work> works) {
  const std::shared_lock enqueuing{context_.enqueuing()};
  const std::scoped_lock lock{mutex_};
  if (retired_) return CUDA_ERROR_INVALID_HANDLE;
  for (Work& work : works) {
    if (queue_ != nullptr) work.place = queue_->enter();
    works_.push_back(std::move(work));
  }
  pending_ += works.size();
  changed_.notify_all();
  return CUDA_SUCCESS;
}

bool Stream::is_idle() const {
  const std::scoped_lock lock{mutex_};
  return pending_ == 0;
}

void Stream::wait() const {
  std::unique_lock lock{mutex_};
  changed_.wait(lock, [this] { return pending_ == 0; });
}

void Stream::retire() {
  const std::scoped_lock lock{mutex_};
  retired_ = true;
  changed_.notify_all();
}

void Stream::end() {
  retire();
  if (thread_.joinable()) thread_.join();
}

bool Stream::has_ended() const {
  const std::scoped_lock lock{mutex_};
  return ended_;
}

void Stream::abandon() {
  abandoned_ = true;
}

void Stream::run() {
  std::unique_lock lock{mutex_};
  while (true) {
    changed_.wait(lock, [this] { return retired_ || !works_.empty(); });
    if (works_.empty()) break;
    Work work = std::move(works_.front());
    works_.pop_front();
    lock.unlock();
    if (queue_ != nullptr) queue_->await(work.place);
    perform(work);
    if (queue_ != nullptr) queue_->leave();
    const std::shared_ptr<Mark> mark = std::move(work.mark);
    work = {};  // frees its objects before it is reported as done
    lock.lock();
    if (--pending_ == 0) changed_.notify_all();
    if (mark != nullptr) mark->reach();
  }
  ended_ = true;
}

void Stream::perform(const Work& work) noexcept {
  if (!work.run || (is_in_vain() && !work.always)) return;
  try {
    if (const CUresult result = work.run(*this); result != CUDA_SUCCESS) context_.fail(result);
  } catch (...) {
    context_.fail(CUDA_ERROR_LAUNCH_FAILED);
  }
}

}  // namespace tutti::standin

#include "event.hpp"

#include <utility>

namespace tutti::standin {

void Mark::reach() {
  const std::scoped_lock lock{mutex_};
  reached_ = true;
  time_ = std::chrono::steady_clock::now();
  changed_.notify_all();
}

bool Mark::is_reached() const {
  const std::scoped_lock lock{mutex_};
  return reached_;
}

Mark::Time Mark::wait() const {
  std::unique_lock lock{mutex_};
  changed_.wait(lock, [this] { return reached_; });
  return time_;
}

std::shared_ptr<const Mark> Event::last() const {
  const std::scoped_lock lock{mutex_};
  return last_;
}

std::shared_ptr<Mark> Event::renew() {
  const std::scoped_lock lock{mutex_};
  last_ = std::make_shared<Mark>();
  captured_ = {};
  return last_;
}

CapturedPoint Event::captured() const {
  const std::scoped_lock lock{mutex_};
  return captured_;
}

void Event::set_captured(CapturedPoint point) {
  const std::scoped_lock lock{mutex_};
  last_ = nullptr;
  captured_ = std::move(point);
}

Work work_that_reaches(std::shared_ptr<Mark> mark) {
  return {.mark = std::move(mark)};
}

Work work_that_waits_for(std::shared_ptr<const Mark> mark) {
  return {.run =
              [mark = std::move(mark)](const Stream&) {
                mark->wait();
                return CUDA_SUCCESS;
              },
          .always = true};
}

}  // namespace tutti::standin

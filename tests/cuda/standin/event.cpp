#include "event.hpp"

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
  return last_;
}

}  // namespace tutti::standin

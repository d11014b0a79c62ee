#include "stream_worker.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <tutti/spi/service_thread.hpp>

#include "polling.hpp"

namespace tutti::v0::cuda {

StreamWorker::StreamWorker(const StagedMessages::Config& config, Milestone& done, Duration timeout)
    : device_{config.device}, timeout_{timeout}, transport_{*config.transport},
      spins_{config.transport->capabilities().idle_spins}, done_{done}, staged_{config} {
  transport_.expect_idle_waits();
  thread_ = start_service_thread("tutti-streams", [this] { run(); });
  try {
    watch_ = start_service_thread("tutti-watch", [this] { watch(); });
  } catch (...) {
    end(Duration::zero());
    thread_.join();
    throw;
  }
}

StreamWorker::~StreamWorker() {
  if (guard_.is_forked()) {  // the threads belong to the parent
    static_cast<void>(new auto(std::move(thread_)));
    static_cast<void>(new auto(std::move(watch_)));
    return;
  }
  end(Duration::zero());
  thread_.join();
  watch_.join();
}

void StreamWorker::check() const {
  guard_.check();
  const std::lock_guard lock{mutex_};
  if (failure_) throw Error{*failure_};
}

/// Enqueues the wait of the stream before the thread sees the group, so that nothing moves for a
/// call that fails here. It does not hold the mutex then, since a full stream accepts no wait until
/// the thread has completed a group.
void StreamWorker::enqueue(std::vector<StreamMessage> messages, CUstream stream) {
  check();
  auto ready = std::make_unique<Event>(device_, stream);
  auto wait = std::make_unique<DeferredFrees::Wait>(device_->frees());
  done_.hold(++enqueued_, stream);
  const std::lock_guard lock{mutex_};
  groups_.push_back({enqueued_, std::move(ready), std::move(messages), std::move(wait)});
  changed_.notify_all();
}

/// While there are groups, the thread will complete or fail the last of them.
bool StreamWorker::release(CUdeviceptr data, CUstream stream) {
  const auto is_idle = [this] { return has_ended_ || groups_.empty(); };
  std::unique_lock lock{mutex_};
  if (guard_.is_forked() || is_idle()) return false;
  lock.unlock();
  auto after = std::make_unique<Event>(device_, stream);
  lock.lock();
  if (is_idle()) return false;
  releases_.push_back({groups_.back().number, std::move(after), data});
  return true;
}

void StreamWorker::release_up_to(std::uint64_t number) noexcept {
  for (;;) {
    std::unique_lock lock{mutex_};
    if (releases_.empty() || releases_.front().number > number) return;
    Release release = std::move(releases_.front());
    releases_.pop_front();
    lock.unlock();
    staged_.release(release.data, std::move(release.after));
  }
}

void StreamWorker::abort(const Error& cause) noexcept {
  {
    const std::lock_guard lock{mutex_};
    if (!failure_) failure_ = cause;
    is_aborted_ = true;
  }
  changed_.notify_all();
  transport_.end_idle_wait();
}

void StreamWorker::end(Duration patience) noexcept {
  if (guard_.is_forked()) return;
  const Clock::time_point deadline = deadline_in(patience);
  std::unique_lock lock{mutex_};
  is_ending_ = true;
  changed_.notify_all();
  if (changed_.wait_until(lock, deadline, [this] { return has_ended_; })) return;
  const bool is_late = !groups_.empty();
  lock.unlock();
  if (is_late)
    abort({ErrorCode::aborted, "a communicator ended with calls pending on its streams",
           transport_.self()});
}

/// Runs in relaxed mode, in which calls of this thread do not invalidate captures by others.
void StreamWorker::run() noexcept {
  try {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    const Device::Current current{*device_};
    device_->driver().check(device_->driver().calls().exchange_capture_mode(&mode),
                            "keep a thread out of captures");
    work();
  } catch (const Error& error) {
    fail(error);
  } catch (const std::exception& error) {
    fail({ErrorCode::transport, error.what()});
  } catch (...) {
    fail({ErrorCode::aborted, "an exception of unknown type ended an operation"});
  }
  {
    const std::lock_guard lock{mutex_};
    has_ended_ = true;
  }
  release_up_to(Milestone::kAll);
  changed_.notify_all();
}

/// Lets streams continue without their messages if the driver holds up the other thread, since only
/// that ends its call. That thread then sees the failure.
void StreamWorker::watch() {
  constexpr Duration kLongest = std::chrono::seconds{1};
  std::unique_lock lock{mutex_};
  while (!has_ended_) {
    if (groups_.empty()) changed_.wait(lock, [this] { return has_ended_ || !groups_.empty(); });
    else changed_.wait_for(lock, std::min(timeout_, kLongest), [this] { return has_ended_; });
    if (is_aborted_ || !staged_.is_held_up(timeout_)) continue;
    if (!failure_)
      failure_ =
          Error{ErrorCode::timeout,
                "the driver holds up the thread of tutti that moves messages: another thread "
                "frees memory (cudaFree, cudaFreeHost) or loads kernels for the first time "
                "while calls are pending on streams; wait for these calls before, use "
                "cudaFreeAsync, or set CUDA_MODULE_LOADING=EAGER",
                transport_.self()};
    is_aborted_ = true;
    done_.reach(Milestone::kAll);
  }
}

void StreamWorker::work() {
  while (const Group* const group = next()) {
    await(*group->ready);
    move(*group);
    complete(group->number);
  }
}

/// @return the oldest group, which stays in the queue until it is done; null at the end.
const StreamWorker::Group* StreamWorker::next() {
  std::unique_lock lock{mutex_};
  changed_.wait(lock, [this] { return is_aborted_ || is_ending_ || !groups_.empty(); });
  if (is_aborted_) throw Error{*failure_};
  return groups_.empty() ? nullptr : &groups_.front();
}

void StreamWorker::check_abort() const {
  if (!is_aborted_) return;
  const std::lock_guard lock{mutex_};
  throw Error{*failure_};
}

void StreamWorker::await(Event& ready) {
  for (unsigned polls = 0; !ready.is_done(); ++polls) {
    check_abort();
    pause_after(polls);
  }
}

void StreamWorker::move(const Group& group) {
  staged_.begin(group.messages);
  for (unsigned idle = 0; !staged_.is_done();) {
    check_abort();
    idle = staged_.step() ? 0 : idle + 1;
    if (idle > 0) pause(idle);
  }
}

/// Sleeps in the transport only if no copy is pending, since the end of a copy does not wake it.
void StreamWorker::pause(unsigned idle) {
  if (staged_.is_copying()) pause_after(idle);
  else if (std::cmp_greater_equal(idle, spins_)) transport_.idle_wait();
}

void StreamWorker::complete(std::uint64_t number) {
  Group done;
  {
    const std::lock_guard lock{mutex_};
    done = std::move(groups_.front());
    groups_.pop_front();
  }
  done_.reach(number);
  staged_.destroy(std::move(done.ready));
  release_up_to(number);
}

void StreamWorker::fail(const Error& cause) noexcept {
  {
    const std::lock_guard lock{mutex_};
    if (!failure_) failure_ = cause;
  }
  staged_.stop(cause);
  done_.reach(Milestone::kAll);
  const std::lock_guard lock{mutex_};
  for (Group& group : groups_) group.wait.reset();
}

}  // namespace tutti::v0::cuda

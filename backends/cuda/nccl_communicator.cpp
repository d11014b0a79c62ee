#include "nccl_communicator.hpp"

#include <atomic>
#include <future>
#include <string>
#include <utility>

#include <tutti/error.hpp>
#include <tutti/spi/service_thread.hpp>

namespace tutti::v0::cuda {
namespace {

constexpr Clock::time_point kNever = Clock::time_point::max();
/// An abort that no graph delays ends within this time.
constexpr std::chrono::seconds kAbortPatience{2};

[[noreturn]] void fail_as_late(const char* what, Duration patience) {
  throw Error{ErrorCode::timeout,
              std::string{"cannot "} + what + ": other ranks have not come within " +
                  std::to_string(std::chrono::ceil<std::chrono::seconds>(patience).count()) + " s"};
}

/// A thread that is detached if it does not end in time.
class DetachableThread {
 public:
  /// @param device whose context is current in the thread, since NCCL remembers the current GPU.
  /// @param work owns all that it uses.
  template <class Work>
  DetachableThread(std::shared_ptr<const Device> device, Work work) {
    const auto run = [device = std::move(device), work = std::move(work)] {
      const DriverCalls& calls = device->driver().calls();
      CUcontext before = nullptr;
      calls.current_context(&before);
      calls.set_context(device->context());
      work();
      calls.set_context(before);
    };
    std::packaged_task<void()> task{run};
    done_ = task.get_future();
    try {
      thread_ = start_service_thread(
          "tutti-nccl", [task = std::make_shared<decltype(task)>(std::move(task))] { (*task)(); });
    } catch (const Error&) {
      run();  // without a thread the caller has to wait
    }
  }
  DetachableThread(const DetachableThread&) = delete;
  DetachableThread& operator=(const DetachableThread&) = delete;
  ~DetachableThread() {
    if (!thread_.joinable()) return;
    if (ends_by(Clock::now())) thread_.join();
    else thread_.detach();
  }
  [[nodiscard]] bool ends_by(Clock::time_point deadline) const {
    return !thread_.joinable() || done_.wait_until(deadline) == std::future_status::ready;
  }

 private:
  std::future<void> done_{};
  std::thread thread_{};
};

}  // namespace

NcclCommunicator::NcclCommunicator(Config config, int size, Rank rank, const ncclUniqueId& id)
    : config_{std::move(config)} {
  try {
    start(size, rank, id);
    watchdog_ = start_service_thread("tutti-nccl", [this] { watch(); });
  } catch (...) {
    abort();
    throw;
  }
}

/// Starts NCCL in a thread of its own, since its start may never end.
void NcclCommunicator::start(int size, Rank rank, const ncclUniqueId& id) {
  constexpr const char* kStart = "start NCCL";
  const Clock::time_point deadline = deadline_in(config_.timeout);
  const auto result = std::make_shared<ncclResult_t>(ncclSuccess);
  const DetachableThread thread{
      config_.device, [result, id, size, rank, handle = handle_, nccl = config_.nccl,
                       is_nonblocking = config_.is_nonblocking] {
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = is_nonblocking ? 0 : 1;
        *result = nccl->calls().init(handle.get(), size, id, rank, &config);
      }};
  if (!thread.ends_by(deadline)) {
    abort();
    static_cast<void>(thread.ends_by(deadline_in(kAbortPatience)));
    fail_as_late(kStart, config_.timeout);
  }
  if (*result == ncclInProgress) config_.nccl->check_nonblocking();
  else config_.nccl->check(*result, kStart, *handle_);
  const Device::Current current{*config_.device};
  await_state(kStart, config_.timeout, deadline);
}

NcclCommunicator::~NcclCommunicator() {
  if (guard_.is_forked()) {
    watchdog_.detach();  // the thread and NCCL belong to the parent
    return;
  }
  {
    const std::scoped_lock lock{mutex_};
    is_ending_ = true;
  }
  changed_.notify_one();
  watchdog_.join();
  if (*handle_ == nullptr) return;
  const DetachableThread thread{config_.device, [nccl = config_.nccl, communicator = *handle_] {
                                  nccl->calls().destroy(communicator);
                                }};
  static_cast<void>(
      thread.ends_by(deadline_in(deadline_after(config_.timeout, Duration{kAbortPatience}))));
}

void NcclCommunicator::abort(std::shared_ptr<const void> held) noexcept {
  if (guard_.is_forked()) return;  // NCCL belongs to the parent
  ncclComm_t const communicator = std::atomic_ref{*handle_}.exchange(nullptr);
  if (communicator == nullptr) return;
  const DetachableThread thread{config_.device,
                                [nccl = config_.nccl, communicator, held = std::move(held)] {
                                  nccl->calls().abort(communicator);
                                }};
  static_cast<void>(thread.ends_by(deadline_in(kAbortPatience)));
}

void NcclCommunicator::call(const char* what, Duration patience, const Call& call) {
  const Clock::time_point deadline = deadline_in(patience);
  ncclComm_t communicator = nullptr;
  {
    const std::scoped_lock lock{mutex_};
    communicator = *handle_;
    if (communicator == nullptr)
      throw Error{ErrorCode::aborted, "the communicator of NCCL was aborted"};
    deadline_ = deadline;
    if (deadline < wakes_) changed_.notify_one();
  }
  const ncclResult_t result = call(communicator);
  {
    const std::scoped_lock lock{mutex_};
    if (is_late_) fail_as_late(what, patience);
    deadline_ = kNever;
  }
  if (result != ncclInProgress) config_.nccl->check(result, what, *handle_);
  await_state(what, patience, deadline);
}

/// Waits until a nonblocking call is complete. NCCL returns success from some of these calls, so
/// only the state shows it.
void NcclCommunicator::await_state(const char* what, Duration patience,
                                   Clock::time_point deadline) const {
  const bool is_complete = poll_until(deadline, [&] {
    ncclResult_t state = ncclSuccess;
    config_.nccl->check(config_.nccl->calls().state(*handle_, &state), what, *handle_);
    if (state != ncclInProgress) config_.nccl->check(state, what, *handle_);
    return state != ncclInProgress;
  });
  if (!is_complete) fail_as_late(what, patience);
}

void NcclCommunicator::check_health() const {
  ncclResult_t state = ncclSuccess;
  config_.nccl->check(config_.nccl->calls().state(*handle_, &state), "ask NCCL for its state",
                      *handle_);
  if (state != ncclInProgress) config_.nccl->check(state, "go on", *handle_);
}

/// Sleeps until the latest known deadline; most calls return long before. Only ncclCommAbort ends a
/// call that blocks.
void NcclCommunicator::watch() noexcept {
  std::unique_lock lock{mutex_};
  while (!is_ending_) {
    if (Clock::now() >= deadline_) {
      deadline_ = kNever;
      is_late_ = true;
      lock.unlock();
      abort();
      lock.lock();
      continue;  // the communicator may have ended meanwhile
    }
    wakes_ = deadline_;
    if (wakes_ == kNever) changed_.wait(lock);
    else changed_.wait_until(lock, wakes_);
  }
}

}  // namespace tutti::v0::cuda

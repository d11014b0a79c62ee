#include "nccl_communicator.hpp"

#include <atomic>
#include <future>
#include <string>
#include <system_error>
#include <utility>

#include <tutti/error.hpp>

namespace tutti::v0::cuda {
namespace {

using Clock = NcclCommunicator::Clock;

constexpr Clock::time_point kNever = Clock::time_point::max();
/// How long an abort may take that no graph holds up.
constexpr std::chrono::seconds kAbortPatience{2};
/// Between two looks at what goes on without us, after the first ones: of a communicator that does
/// not block, NCCL enqueues each group in a thread of its own, which mostly takes microseconds.
constexpr std::chrono::microseconds kStateNap{50};
constexpr int kStateLooks = 200;

[[noreturn]] void fail_as_late(const char* what, Duration patience) {
  throw Error{ErrorCode::timeout,
              std::string{"cannot "} + what + ": other ranks have not come within " +
                  std::to_string(std::chrono::ceil<std::chrono::seconds>(patience).count()) + " s"};
}

/// A thread that is left alone where it does not end in time.
class Helper {
 public:
  /// @param device whose context it has: NCCL remembers the GPU that is current. @param work what
  /// it does; it holds all that it needs.
  template <class Work>
  Helper(std::shared_ptr<const Device> device, Work work) {
    const auto run = [device = std::move(device), work = std::move(work)] {
      bool has_run = false;
      device->within([&] {
        has_run = true;
        work();
      });
      if (!has_run) work();
    };
    std::packaged_task<void()> task{run};
    done_ = task.get_future();
    try {
      thread_ = std::thread{std::move(task)};
    } catch (const std::system_error&) {
      run();  // nothing is left but to wait
    }
  }
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;
  ~Helper() {
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

NcclCommunicator::NcclCommunicator(Parts parts, int size, Rank rank, const ncclUniqueId& id)
    : parts_{std::move(parts)} {
  try {
    start(size, rank, id);
    watchdog_ = std::thread{[this] { watch(); }};
  } catch (...) {
    abort();
    throw;
  }
}

/// In a thread of its own, as it may wait for ever.
void NcclCommunicator::start(int size, Rank rank, const ncclUniqueId& id) {
  constexpr const char* kStart = "start NCCL";
  const Clock::time_point deadline = in(parts_.timeout);
  const auto result = std::make_shared<ncclResult_t>(ncclSuccess);
  const Helper helper{parts_.device, [result, id, size, rank, handle = handle_, nccl = parts_.nccl,
                                      is_nonblocking = parts_.is_nonblocking] {
                        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
                        config.blocking = is_nonblocking ? 0 : 1;
                        *result = nccl->calls().init(handle.get(), size, id, rank, &config);
                      }};
  if (!helper.ends_by(deadline)) {
    abort();
    static_cast<void>(helper.ends_by(in(kAbortPatience)));
    fail_as_late(kStart, parts_.timeout);
  }
  if (*result == ncclInProgress) parts_.nccl->check_nonblocking();
  else parts_.nccl->check(*result, kStart, *handle_);
  const Device::Current current{*parts_.device};
  await_state(kStart, parts_.timeout, deadline);
}

NcclCommunicator::~NcclCommunicator() {
  if (guard_.is_forked()) {
    watchdog_.detach();  // it is the parent's, as NCCL
    return;
  }
  {
    const std::scoped_lock lock{mutex_};
    is_ending_ = true;
  }
  changed_.notify_one();
  watchdog_.join();
  if (*handle_ == nullptr) return;
  const Helper helper{parts_.device, [nccl = parts_.nccl, communicator = *handle_] {
                        nccl->calls().destroy(communicator);
                      }};
  static_cast<void>(helper.ends_by(in(deadline_after(parts_.timeout, Duration{kAbortPatience}))));
}

void NcclCommunicator::abort(std::shared_ptr<const void> held) noexcept {
  if (guard_.is_forked()) return;  // NCCL is the parent's
  ncclComm_t const communicator = std::atomic_ref{*handle_}.exchange(nullptr);
  if (communicator == nullptr) return;
  const Helper helper{parts_.device, [nccl = parts_.nccl, communicator, held = std::move(held)] {
                        nccl->calls().abort(communicator);
                      }};
  static_cast<void>(helper.ends_by(in(kAbortPatience)));
}

void NcclCommunicator::call(const char* what, Duration patience, const Call& call) {
  const Clock::time_point deadline = in(patience);
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
  if (result != ncclInProgress) parts_.nccl->check(result, what, *handle_);
  await_state(what, patience, deadline);
}

/// Waits for what does not block. NCCL returns success of some of that, so its state alone tells.
void NcclCommunicator::await_state(const char* what, Duration patience,
                                   Clock::time_point deadline) const {
  for (int looks = 0;; ++looks) {
    ncclResult_t state = ncclSuccess;
    parts_.nccl->check(parts_.nccl->calls().state(*handle_, &state), what, *handle_);
    if (state != ncclInProgress) return parts_.nccl->check(state, what, *handle_);
    if (Clock::now() >= deadline) fail_as_late(what, patience);
    if (looks < kStateLooks) std::this_thread::yield();
    else std::this_thread::sleep_for(kStateNap);
  }
}

void NcclCommunicator::check_health() const {
  ncclResult_t state = ncclSuccess;
  parts_.nccl->check(parts_.nccl->calls().state(*handle_, &state), "ask NCCL how it is", *handle_);
  if (state != ncclInProgress) parts_.nccl->check(state, "go on", *handle_);
}

/// Mostly it sleeps until the deadline of a call that has long returned. ncclCommAbort is the only
/// call that ends another one which blocks.
void NcclCommunicator::watch() noexcept {
  std::unique_lock lock{mutex_};
  while (!is_ending_) {
    if (Clock::now() >= deadline_) {
      deadline_ = kNever;
      is_late_ = true;
      lock.unlock();
      abort();
      lock.lock();
      continue;  // it may have to end by now
    }
    wakes_ = deadline_;
    if (wakes_ == kNever) changed_.wait(lock);
    else changed_.wait_until(lock, wakes_);
  }
}

}  // namespace tutti::v0::cuda

#include "communicator.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "failure.hpp"
#include "faults.hpp"
#include "library.hpp"

namespace tutti::nccl_standin {

Communicator::Communicator(Membership membership, const Device& device, bool blocking,
                           std::string_view maker)
    : blocking_{blocking}, device_{device}, maker_{maker}, is_to_meet_{setting("CONNECT") ==
                                                                       "at_call"},
      connecting_{[this, membership = std::move(membership)] { connect(membership); }} {}

Communicator::~Communicator() {
  end();
}

void Communicator::connect(const Membership& membership) noexcept {
  try {
    mesh_.connect(membership, device_);
  } catch (const Failure& failure) {
    fail(failure);
  } catch (const std::exception& error) {
    fail({ncclSystemError, error.what()});
  }
  const std::scoped_lock lock{mutex_};
  phase_ = Phase::connected;
  changed_.notify_all();
}

void Communicator::fail(const Failure& failure) {
  const std::scoped_lock lock{mutex_};
  if (error_ == ncclSuccess) {
    error_ = failure.result();
    reason_ = failure.what();
  }
  mesh_.stop();
  changed_.notify_all();
}

ncclResult_t Communicator::wait_until_connected() {
  if (!blocking_) return ncclInProgress;
  std::unique_lock lock{mutex_};
  changed_.wait(lock, [this] { return phase_ != Phase::connecting; });
  return error_;
}

ncclResult_t Communicator::state() {
  std::unique_lock lock{mutex_};
  if (error_ != ncclSuccess) return error_;
  if (phase_ == Phase::connecting || is_agreeing()) return ncclInProgress;
  lock.unlock();
  try {
    mesh_.check_peers();
  } catch (const Failure& failure) {
    fail(failure);
  }
  lock.lock();
  if (phase_ == Phase::finalized) check_context(lock);
  if (error_ != ncclSuccess) return error_;
  if (phase_ == Phase::finalized && (!pending_.empty() || recorded_ > 0)) return ncclInProgress;
  return std::exchange(announced_, false) ? ncclInProgress : ncclSuccess;
}

const char* Communicator::reason() const {
  const std::scoped_lock lock{mutex_};
  return error_ == ncclSuccess ? nullptr : reason_.c_str();
}

void Communicator::require_ready() {
  const std::scoped_lock lock{mutex_};
  require(error_ == ncclSuccess, error_, reason_.c_str());
  require(phase_ != Phase::finalized, ncclInvalidUsage, "the communicator was finalized");
  const bool agrees = !blocking_ && is_agreeing();
  require(phase_ == Phase::connected && !announced_ && !agrees, ncclInvalidArgument,
          "the communicator is used before its state is ncclSuccess again");
}

void Communicator::require_connected() {
  const std::scoped_lock lock{mutex_};
  require(phase_ != Phase::connecting, ncclInvalidArgument,
          "the communicator is used before its state is ncclSuccess");
}

ncclResult_t Communicator::enqueue(std::shared_ptr<Communicator> communicator,
                                   std::vector<Operation> operations, CUstream stream) {
  Communicator& self = *communicator;
  self.require_ready();
  const auto call = self.enter();
  OneAtATime& launching = library().launching.at(static_cast<std::size_t>(self.device_.number));
  const OneAtATime::Scope only{launching, "two threads launch on one device at the same time"};
  const ContextScope scope{self.device_.context};
  const bool recorded = records(stream);
  for (Operation& operation : operations)
    operation.registered = self.registered(operation, recorded);
  if (recorded) {
    record(std::make_unique<Recorded>(Recorded{communicator, std::move(operations)}), stream);
  } else {
    // The order of tickets and the order in the stream are the same.
    const std::scoped_lock lock{self.enqueuing_};
    void* const launch = add_launch(communicator, std::move(operations));
    const CUresult result = cuLaunchHostFunc(stream, run, launch);
    if (result != CUDA_SUCCESS) self.remove_launch(launch);
    check(result, "cuLaunchHostFunc");
  }
  const bool meets = self.meet_once();
  std::unique_lock lock{self.mutex_};
  self.announced_ = !self.blocking_;
  lock.unlock();
  if (meets) return self.wait_until_agreed();
  return self.blocking_ ? ncclSuccess : ncclInProgress;
}

// The caller must keep others from enqueueing until it has added the next one.
void* Communicator::add_launch(std::shared_ptr<Communicator> communicator,
                               std::vector<Operation> operations) {
  Communicator& self = *communicator;
  auto launch = std::make_unique<Launch>(
      Launch{.communicator = std::move(communicator), .operations = std::move(operations)});
  const std::scoped_lock lock{self.mutex_};
  launch->ticket = self.next_ticket_++;
  self.pending_.insert(launch->ticket);
  return library().launches.add(std::move(launch));
}

// The last one that was added is not enqueued after all.
void Communicator::remove_launch(void* launch) {
  const auto taken = library().launches.pop(launch);
  const std::scoped_lock lock{mutex_};
  pending_.erase(taken->ticket);
  --next_ticket_;
}

void Communicator::record(std::unique_ptr<Recorded> recorded, CUstream stream) {
  const auto prepare = [](void* what) {
    const Recorded& again = *static_cast<Recorded*>(what);
    return add_launch(again.communicator, again.operations);
  };
  const auto forget = [](void* what) {
    const std::unique_ptr<Recorded> ended{static_cast<Recorded*>(what)};
    const std::scoped_lock lock{ended->communicator->mutex_};
    --ended->communicator->recorded_;
    ended->communicator->changed_.notify_all();
  };
  {
    const std::scoped_lock lock{recorded->communicator->mutex_};
    ++recorded->communicator->recorded_;
  }
  check(tutti_standin_record(
            stream, {.what = recorded.release(), .prepare = prepare, .run = run, .forget = forget}),
        "recording");
}

void Communicator::run(void* launch) noexcept {
  const std::unique_ptr<Launch> taken = library().launches.pop(launch);
  taken->communicator->perform(*taken);
}

void Communicator::perform(const Launch& launch) noexcept {
  std::unique_lock lock{mutex_};
  changed_.wait(lock, [&] { return turn_ == launch.ticket || mesh_.is_stopped(); });
  if (!mesh_.is_stopped()) {
    running_ = true;
    lock.unlock();
    try {
      const Occupation occupied{library().processors, device_.number, mesh_};
      perform(launch.operations);
    } catch (const Failure& failure) {
      fail(failure);
    } catch (const std::exception& error) {
      fail({ncclSystemError, error.what()});
    }
    lock.lock();
    if (library().kernels_spin && error_ != ncclSuccess)
      while (!is_ending_) changed_.wait_for(lock, std::chrono::milliseconds{1});
    running_ = false;
  }
  ++turn_;
  pending_.erase(launch.ticket);
  changed_.notify_all();
}

// Collectives come first, in their order, then all other messages at once.
void Communicator::perform(const std::vector<Operation>& operations) {
  Stage stage;
  for (const Operation& operation : operations) {
    const std::size_t bytes = bytes_of(operation);
    if (operation.kind == OperationType::send) {
      stage.sends.push_back({operation.peer, Purpose::pair, operation.registered,
                             reach(operation.from, bytes), bytes});
    } else if (operation.kind == OperationType::receive) {
      stage.receives.push_back({operation.peer, Purpose::pair, operation.registered,
                                reach(operation.into, bytes), bytes});
    } else {
      perform_collective(operation, mesh_);
    }
  }
  mesh_.exchange(stage);
}

void Communicator::wait_until_idle(std::unique_lock<std::mutex>& lock) {
  constexpr std::chrono::milliseconds kPatience{100};
  const auto idle = [this] { return pending_.empty() || mesh_.is_stopped(); };
  while (!changed_.wait_for(lock, kPatience, idle)) check_context(lock);
  changed_.wait(lock, [this] { return recorded_ == 0; });
}

// Operations enqueued in a failed context never run.
void Communicator::check_context(std::unique_lock<std::mutex>& lock) {
  if (pending_.empty()) return;
  lock.unlock();
  if (tutti_standin_state(device_.context) != CUDA_SUCCESS)
    fail({ncclUnhandledCudaError, "a context has failed"});
  lock.lock();
}

ncclResult_t Communicator::finalize() {
  require_ready();
  std::unique_lock lock{mutex_};
  phase_ = Phase::finalized;
  announced_ = !blocking_;
  if (!blocking_) return ncclInProgress;
  wait_until_idle(lock);
  return error_;
}

void Communicator::destroy() {
  std::unique_lock lock{mutex_};
  require(phase_ != Phase::connecting, ncclInvalidArgument,
          "the communicator is destroyed while it connects");
  wait_until_idle(lock);
  const bool failed = error_ != ncclSuccess;
  lock.unlock();
  if (!failed) mesh_.leave();
  abort();
}

void Communicator::abort() {
  stop();
  {
    std::unique_lock lock{mutex_};
    changed_.notify_all();
    changed_.wait(lock, [this] { return recorded_ == 0; });
  }
  end();
}

void Communicator::end() {
  stop();
  std::unique_lock lock{mutex_};
  changed_.notify_all();
  changed_.wait(lock, [this] {
    return phase_ != Phase::connecting && !running_ && agreement_ == next_agreement_;
  });
  std::vector<std::thread> threads = std::exchange(agreeing_, {});
  threads.push_back(std::exchange(connecting_, {}));
  lock.unlock();
  for (std::thread& thread : threads)
    if (thread.joinable()) thread.join();
}

}  // namespace tutti::nccl_standin

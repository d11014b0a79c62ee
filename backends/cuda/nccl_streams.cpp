#include "nccl_streams.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <new>
#include <utility>

#include "base/all_or_none.hpp"
#include "private_ranks.hpp"

namespace tutti::v0::cuda {
namespace {

/// NCCL_WIN_COLL_SYMMETRIC, which old headers lack.
constexpr int kSymmetric = 1;
constexpr const char* kAllocate = "cannot allocate memory of its GPU";

std::timed_mutex& mutex_of(int device) {
  static std::array<std::timed_mutex, 64> mutexes;
  return mutexes.at(static_cast<std::size_t>(device) % mutexes.size());
}

/// Collective. @param before the outcome of an earlier step on this rank. @param failure as of
/// all_or_none. Throws the same Error on all ranks.
std::unique_ptr<NcclCommunicator> start(Communicator& ranks, const NcclCommunicator::Config& config,
                                        Result<void> before, const char* failure) {
  const detail::Exchange exchange = detail::exchange_over(ranks, Duration{0});
  const auto draw_id = [&] {
    before.value();
    ncclUniqueId id{};
    if (ranks.rank() == 0) config.nccl->check(config.nccl->calls().unique_id(&id), "start NCCL");
    return id;
  };
  const ncclUniqueId id = detail::all_or_none(exchange, draw_id, failure).front();
  std::unique_ptr<NcclCommunicator> made;
  const auto make = [&] {
    made = std::make_unique<NcclCommunicator>(config, ranks.size(), ranks.rank(), id);
  };
  detail::all_or_none(exchange, make, failure);
  return made;
}

}  // namespace

std::shared_ptr<NcclStreams> NcclStreams::connect(Communicator& world, Config config) {
  std::optional<Communicator> ranks;
  Result<void> outcome =
      detail::attempt([&] { ranks.emplace(duplicate_privately(world, kKeyOfAgreements)); });
  std::shared_ptr<DevicePeers> peers;
  if (config.is_visible) peers = DevicePeers::connect(world, config.device, config.timeout);
  auto messages = start(world, config, std::move(outcome), "cannot attach a GPU");
  return std::make_shared<NcclStreams>(std::move(config), std::move(peers), std::move(messages),
                                       std::move(*ranks));
}

NcclStreams::NcclStreams(Config config, std::shared_ptr<DevicePeers> peers,
                         std::unique_ptr<NcclCommunicator> messages, Communicator ranks)
    : DeviceStreams{config.device, std::move(peers)}, config_{std::move(config)},
      ranks_{std::move(ranks)}, messages_{std::move(messages)}, last_call_{std::make_shared<Event>(
                                                                    device())} {
  if (device_peers() != nullptr) device_peers()->run_after(last_call_);
}

NcclStreams::~NcclStreams() {
  if (device_peers() != nullptr)  // freeing NCCL's memory may wait for their calls
    static_cast<void>(device_peers()->finish_calls());
  if (!await_calls()) abort(Error{ErrorCode::timeout, "calls on streams have not ended in time"});
  config_.device->within([this] { deregister_dropped(true); });
}

/// @return whether all calls end in time, except calls in graphs, whose launches are unknown. Once
/// NCCL's end waits for calls itself, it cannot abort them any more.
bool NcclStreams::await_calls() noexcept {
  if (failure_) return true;
  try {
    return poll_until(deadline_in(config_.timeout), [this] {
      check_health();
      return last_call_->is_done();
    });
  } catch (const Error&) {
    return false;
  }
}

CostModel NcclStreams::cost_model() const {
  CostModel cost_model = nccl_cost_model(config_.placement);
  if (device_peers() != nullptr) cost_model.visible = DevicePeers::costs();
  return cost_model;
}

std::shared_ptr<StreamTransport> NcclStreams::divide(Communicator& part) {
  check_health();
  Config config = config_;
  config.placement = placement_in(part, config_.placement, ranks_.rank());
  return connect(part, std::move(config));
}

void NcclStreams::check_health() const {
  if (failure_) throw Error{*failure_};
  messages_->check_health();
  if (registered_) registered_->check_health();
}

/// Registers memory with NCCL, which then needs no copies of its own: as a window, or, if this
/// version or these ranks have none, as a plain buffer. @param memory receives the handles; NCCL
/// may write them until the communicator ends.
void NcclStreams::register_memory(Registered& memory) {
  constexpr const char* kRegister = "register memory";
  const NcclCalls& calls = config_.nccl->calls();
  std::byte* const data = memory.memory.get();
  if (calls.register_window != nullptr)
    registered_->call(kRegister, patience(), [&](ncclComm_t on) {
      return calls.register_window(on, data, memory.bytes, &memory.window, kSymmetric);
    });
  if (memory.window != nullptr) return;
  registered_->call(kRegister, patience(), [&](ncclComm_t on) {
    return calls.register_memory(on, data, memory.bytes, &memory.handle);
  });
}

bool NcclStreams::is_registered(const std::byte* data) const noexcept {
  return std::ranges::any_of(*memory_, [data](const std::shared_ptr<Registered>& one) {
    const std::byte* const first = one->memory.get();
    return data >= first && data < first + one->bytes;
  });
}

/// Frees memory that the program has dropped: any thread may drop it, but one thread calls NCCL.
/// @param all also memory in use, since the communicator ends.
void NcclStreams::deregister_dropped(bool all) noexcept {
  if (failure_) return;
  const NcclCalls& calls = config_.nccl->calls();
  const auto deregister = [&](const std::shared_ptr<Registered>& one) {
    if (!all && !one->user.expired()) return false;
    try {
      registered_->call("deregister memory", patience(), [&](ncclComm_t on) {
        if (one->window != nullptr) return calls.deregister_window(on, one->window);
        return calls.deregister_memory(on, one->handle);
      });
    } catch (const Error&) {
      // the end of the communicator deregisters it too
    }
    return true;
  };
  std::erase_if(*memory_, deregister);
}

/// @return memory that peers see, or NCCL's own.
std::shared_ptr<std::byte> NcclStreams::allocate_best(std::size_t bytes) const {
  if (device_peers() != nullptr) return device_peers()->allocate(bytes);
  void* data = nullptr;
  const ncclResult_t result = config_.nccl->calls().allocate(&data, bytes);
  // NCCL does not distinguish exhausted memory from other errors, and the driver does.
  if (result != ncclSuccess) static_cast<void>(allocate_unordered(bytes));
  config_.nccl->check(result, "allocate memory of a GPU");
  return {static_cast<std::byte*>(data),
          [nccl = config_.nccl, device = config_.device](std::byte* end) {
            device->within([&] { nccl->calls().free(end); });
          }};
}

/// Allocates on all ranks or on none, since a rank that registers memory waits for the others.
std::shared_ptr<std::byte> NcclStreams::allocate_together(std::size_t bytes) {
  std::shared_ptr<std::byte> memory;
  const auto allocate = [&] {
    if (failure_) throw Error{*failure_};
    try {
      memory = allocate_best(bytes);
    } catch (const std::bad_alloc&) {
      throw Error{ErrorCode::transport, "memory of the GPU is exhausted"};
    }
    clear_now(memory.get(), bytes);
    return bytes;
  };
  const std::vector<std::size_t> all =
      detail::all_or_none(detail::exchange_over(ranks_, Duration{0}), allocate, kAllocate);
  const auto other = std::ranges::find_if(all, [&](std::size_t each) { return each != all[0]; });
  if (other == all.end()) return memory;
  throw Error{ErrorCode::mismatch,
              "rank " + std::to_string(other - all.begin()) + " allocates " +
                  std::to_string(*other) + " bytes of its GPU, and rank 0 " +
                  std::to_string(all[0]) + "; all ranks must allocate as many",
              static_cast<Rank>(other - all.begin())};
}

/// Registers memory, unless peers see it: NCCL cannot register that.
std::shared_ptr<std::byte> NcclStreams::allocate_registered(std::size_t bytes) {
  const Device::Current current{*config_.device};
  deregister_dropped(false);
  const auto registered = std::make_shared<Registered>(Registered{allocate_together(bytes), bytes});
  if (device_peers() != nullptr) return registered->memory;
  if (!registered_) registered_ = start(ranks_, config_, {}, kAllocate);
  std::shared_ptr<std::byte> user{
      registered->memory.get(),
      [kept = registered](std::byte*) mutable { kept.reset(); }};  // breaks the cycle
  registered->user = user;
  const auto add = [&] {
    try {
      memory_->push_back(registered);
      register_memory(*registered);
    } catch (const Error& error) {
      abort(error);  // otherwise the other ranks would wait for this one
      throw;
    }
  };
  detail::all_or_none(detail::exchange_over(ranks_, Duration{0}), add, kAllocate);
  return user;
}

/// NCCL accepts calls for a GPU from one thread at a time, even of different communicators. Calls
/// of this object's two communicators, and calls on memory of peers, run in one order, as NCCL's
/// calls of one communicator do.
void NcclStreams::enqueue(NcclCommunicator& on, const char* what, Stream stream,
                          const NcclCommunicator::Call& call) {
  const Device::Current current{*config_.device};
  const bool is_captured = config_.device->is_captured(of(stream));
  const std::unique_lock lock{mutex_of(config_.device->ordinal()), deadline_in(patience())};
  if (!lock)
    throw Error{ErrorCode::timeout, std::string{"cannot "} + what +
                                        ": another thread calls NCCL for the same GPU, and waits "
                                        "for other ranks"};
  if (!is_captured) {
    deregister_dropped(false);
    if (last_ != nullptr && last_ != &on) last_call_->hold(of(stream));
    if (device_peers() != nullptr) device_peers()->hold(of(stream));
  }
  on.call(what, patience(), call);
  if (is_captured) return;
  last_ = &on;
  last_call_->record(of(stream));
}

void NcclStreams::exchange(std::span<const StreamMessage> messages, Stream stream) {
  const NcclCalls& calls = config_.nccl->calls();
  const auto is_error = [](ncclResult_t result) {
    return result != ncclSuccess && result != ncclInProgress;
  };
  enqueue(*messages_, "enqueue messages", stream, [&](ncclComm_t on) {
    ncclResult_t result = calls.begin_group();
    if (is_error(result)) return result;
    for (const auto& [kind, peer, data, bytes] : messages) {
      result = kind == Transfer::Kind::send
                   ? calls.send(data, bytes, ncclInt8, peer, on, of(stream))
                   : calls.receive(data, bytes, ncclInt8, peer, on, of(stream));
      if (is_error(result)) break;
    }
    const ncclResult_t ended = calls.end_group();  // otherwise the thread would stay in the group
    return is_error(result) ? result : ended;
  });
}

void NcclStreams::abort(const Error& cause) noexcept {
  if (failure_) return;
  failure_ = cause;
  if (device_peers() != nullptr) device_peers()->abort();
  messages_->abort();
  if (registered_) registered_->abort(memory_);
}

}  // namespace tutti::v0::cuda

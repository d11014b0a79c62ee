#include "nccl_streams.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "base/all_or_none.hpp"
#include "connect_peers.hpp"

namespace tutti::v0::cuda {
namespace {

/// NCCL_WIN_COLL_SYMMETRIC, which old headers have not.
constexpr int kSymmetric = 1;
using Clock = NcclCommunicator::Clock;
constexpr const char* kAllocate = "cannot allocate memory of its GPU";
/// None of a program's, nor of memory of peers, nor that of splits.
constexpr std::uint64_t kKeyOfAgreements = kKeyOfSplits - 2;
/// Between two looks at what is under way at the end.
constexpr std::chrono::microseconds kNap{50};

std::timed_mutex& turn_on(int device) {
  static std::array<std::timed_mutex, 64> turns;
  return turns.at(static_cast<std::size_t>(device) % turns.size());
}

/// Collective. @param before the outcome of an earlier step on this rank. @param failure as of
/// all_or_none. @return a communicator of NCCL of these ranks. Throws the same Error on all.
std::unique_ptr<NcclCommunicator> start(Communicator& ranks, const NcclCommunicator::Parts& parts,
                                        Result<void> before, const char* failure) {
  const detail::Exchange exchange = detail::exchange_over(ranks, Duration{0});
  const auto draw_id = [&] {
    before.value();
    ncclUniqueId id{};
    if (ranks.rank() == 0) parts.nccl->check(parts.nccl->calls().unique_id(&id), "start NCCL");
    return id;
  };
  const ncclUniqueId id = detail::all_or_none(exchange, draw_id, failure).front();
  std::unique_ptr<NcclCommunicator> made;
  const auto make = [&] {
    made = std::make_unique<NcclCommunicator>(parts, ranks.size(), ranks.rank(), id);
  };
  detail::all_or_none(exchange, make, failure);
  return made;
}

}  // namespace

std::shared_ptr<NcclStreams> NcclStreams::connect(Communicator& world, Parts parts) {
  std::optional<Communicator> ranks;
  Result<void> outcome =
      detail::attempt([&] { ranks.emplace(duplicate_for_us(world, kKeyOfAgreements)); });
  if (parts.is_visible) parts.peers = connect_peers(world, parts.device, parts.timeout);
  auto messages = start(world, parts, std::move(outcome), "cannot attach a GPU");
  return std::make_shared<NcclStreams>(std::move(parts), std::move(messages), std::move(*ranks));
}

NcclStreams::NcclStreams(Parts parts, std::unique_ptr<NcclCommunicator> messages,
                         Communicator ranks)
    : DeviceStreams{parts.device}, parts_{std::move(parts)}, ranks_{std::move(ranks)},
      messages_{std::move(messages)} {}

/// Ends what was enqueued, as far as that ends in time.
NcclStreams::~NcclStreams() {
  if (parts_.peers) parts_.peers->finish_calls();  // the end of NCCL's memory may wait for them
  if (!await_calls()) abort(Error{ErrorCode::timeout, "calls on streams have not ended in time"});
  parts_.device->within([this] { deregister_dropped(true); });
}

/// @return whether all that was enqueued is done, but for graphs, of whose launches nothing is
/// known. NCCL cannot be told to abort once it waits for that.
bool NcclStreams::await_calls() noexcept {
  if (failure_) return true;
  const Clock::time_point deadline = in(parts_.timeout);
  try {
    for (bool is_done = false; !is_done; std::this_thread::sleep_for(kNap)) {
      is_done = !enqueued_ || enqueued_->is_done();
      check_health();
      if (!is_done && Clock::now() >= deadline) return false;
    }
    return true;
  } catch (const Error&) {
    return false;
  }
}

CostModel NcclStreams::cost_model() const {
  CostModel cost_model = nccl_cost_model(parts_.places);
  if (parts_.peers) cost_model.visible = DevicePeers::costs();
  return cost_model;
}

std::shared_ptr<StreamTransport> NcclStreams::divide(Communicator& part) {
  check_health();
  Parts parts = parts_;
  parts.places = places_in(part, parts_.places, ranks_.rank());
  parts.peers = nullptr;
  return connect(part, std::move(parts));
}

void NcclStreams::check_health() const {
  if (failure_) throw Error{*failure_};
  messages_->check_health();
  if (registered_) registered_->check_health();
}

/// Tells NCCL of memory, in which it then moves data without copies of its own: as a window, or,
/// where this version or these ranks have none, by itself. @param memory gets the handles; NCCL may
/// write them until the communicator ends.
void NcclStreams::register_memory(Registered& memory) {
  constexpr const char* kRegister = "register memory";
  const NcclCalls& calls = parts_.nccl->calls();
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

/// Gives memory back that nobody uses any more. Whichever thread drops it, the one that calls NCCL
/// does this. @param all also memory that is used: the communicator ends.
void NcclStreams::deregister_dropped(bool all) noexcept {
  if (failure_) return;
  const NcclCalls& calls = parts_.nccl->calls();
  const auto deregister = [&](const std::shared_ptr<Registered>& one) {
    if (!all && !one->user.expired()) return false;
    try {
      registered_->call("deregister memory", patience(), [&](ncclComm_t on) {
        if (one->window != nullptr) return calls.deregister_window(on, one->window);
        return calls.deregister_memory(on, one->handle);
      });
    } catch (const Error&) {
      // NCCL's end forgets it too
    }
    return true;
  };
  std::erase_if(*memory_, deregister);
}

/// Memory that peers see, or as NCCL has it best.
std::shared_ptr<std::byte> NcclStreams::allocate_best(std::size_t bytes) const {
  if (parts_.peers) return parts_.peers->allocate(bytes);
  void* data = nullptr;
  const ncclResult_t result = parts_.nccl->calls().allocate(&data, bytes);
  // The driver tells want of memory from other errors, and NCCL does not.
  if (result != ncclSuccess) static_cast<void>(allocate_unordered(bytes));
  parts_.nccl->check(result, "allocate memory of a GPU");
  return {static_cast<std::byte*>(data),
          [nccl = parts_.nccl, device = parts_.device](std::byte* end) {
            device->within([&] { nccl->calls().free(end); });
          }};
}

/// All ranks or none: one that registers memory waits for the others.
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
  const auto other = std::ranges::find_if(all, [&](std::size_t its) { return its != all[0]; });
  if (other == all.end()) return memory;
  throw Error{ErrorCode::mismatch,
              "rank " + std::to_string(other - all.begin()) + " allocates " +
                  std::to_string(*other) + " bytes of its GPU, and rank 0 " +
                  std::to_string(all[0]) + "; all ranks must allocate as many",
              static_cast<Rank>(other - all.begin())};
}

/// NCCL does not register memory of the kind that peers see.
std::shared_ptr<std::byte> NcclStreams::allocate_registered(std::size_t bytes) {
  const Device::Current current{*parts_.device};
  deregister_dropped(false);
  const auto registered = std::make_shared<Registered>(Registered{allocate_together(bytes), bytes});
  if (parts_.peers) return registered->memory;
  if (!registered_) registered_ = start(ranks_, parts_, {}, kAllocate);
  std::shared_ptr<std::byte> user{
      registered->memory.get(),
      [kept = registered](std::byte*) mutable { kept.reset(); }};  // which knows the user
  registered->user = user;
  const auto add = [&] {
    try {
      memory_->push_back(registered);
      register_memory(*registered);
    } catch (const Error& error) {
      abort(error);  // else others wait for this one
      throw;
    }
  };
  detail::all_or_none(detail::exchange_over(ranks_, Duration{0}), add, kAllocate);
  return user;
}

/// Waits for its turn: NCCL takes what it enqueues on a GPU from one thread at a time, whichever
/// communicators that is for. The two of this object have their calls in order, as one has.
void NcclStreams::enqueue(NcclCommunicator& on, const char* what, Stream stream,
                          const NcclCommunicator::Call& call) {
  const Device::Current current{*parts_.device};
  const bool is_captured = parts_.device->is_captured(of(stream));
  const std::unique_lock turn{turn_on(parts_.device->ordinal()), in(patience())};
  if (!turn)
    throw Error{ErrorCode::timeout, std::string{"cannot "} + what +
                                        ": another thread calls NCCL for the same GPU, and waits "
                                        "for other ranks"};
  if (!is_captured) {
    deregister_dropped(false);
    if (last_ != nullptr && last_ != &on) enqueued_->hold(of(stream));
  }
  on.call(what, patience(), call);
  if (is_captured) return;
  last_ = &on;
  if (!enqueued_) enqueued_.emplace(parts_.device);
  enqueued_->record(of(stream));
}

void NcclStreams::exchange(std::span<const StreamMessage> messages, Stream stream) {
  const NcclCalls& calls = parts_.nccl->calls();
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
    const ncclResult_t ended = calls.end_group();  // else the thread stays in it
    return is_error(result) ? result : ended;
  });
}

void NcclStreams::abort(const Error& cause) noexcept {
  if (failure_) return;
  failure_ = cause;
  if (parts_.peers) parts_.peers->abort();
  messages_->abort();
  if (registered_) registered_->abort(memory_);
}

}  // namespace tutti::v0::cuda

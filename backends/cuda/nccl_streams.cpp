#include "nccl_streams.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "agree.hpp"
#include "nccl_connect.hpp"
#include "nccl_end.hpp"

namespace tutti::v0::cuda {
namespace {

/// NCCL_WIN_COLL_SYMMETRIC, which old headers have not.
constexpr int kSymmetric = 1;
constexpr const char* kAllocate = "cannot allocate memory of its GPU";

}  // namespace

NcclStreams::NcclStreams(Parts parts, const ncclUniqueId& id, Communicator ranks)
    : DeviceStreams{parts.device}, parts_{std::move(parts)}, ranks_{std::move(ranks)} {
  const Device::Current current{*parts_.device};
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  const NcclCalls& calls = parts_.nccl->calls();
  const ncclResult_t result = calls.init(&communicator_, ranks_.size(), id, ranks_.rank(), &config);
  try {
    parts_.nccl->complete(result, "start NCCL", communicator_, parts_.timeout);
  } catch (...) {
    abort_nccl(parts_.nccl, parts_.device, communicator_);
    throw;
  }
}

/// Ends what was enqueued, as far as that ends in time.
NcclStreams::~NcclStreams() {
  if (parts_.peers) parts_.peers->finish_calls();  // the end of NCCL's memory may wait for them
  end_nccl(parts_.nccl, parts_.device, communicator_, parts_.timeout);
}

/// NCCL connects ranks that have not met before, for which it waits: as long as calls may take.
void NcclStreams::complete(ncclResult_t result, const char* what) const {
  parts_.nccl->complete(result, what, communicator_, ranks_.options().timeout);
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
  return connect_nccl(part, parts);
}

void NcclStreams::check_health() const {
  if (failure_) throw Error{*failure_};
  ncclResult_t state = ncclSuccess;
  parts_.nccl->check(parts_.nccl->calls().state(communicator_, &state), "ask NCCL how it is",
                     communicator_);
  if (state != ncclInProgress) parts_.nccl->check(state, "go on", communicator_);
}

/// Tells NCCL of memory, in which it then moves data without copies of its own: as a window, or,
/// where this version or these ranks have none, by itself, or else not at all. @param to gets the
/// handles; NCCL may write them until the communicator ends.
void NcclStreams::register_memory(std::byte* data, std::size_t bytes, Registration& to) const {
  const NcclCalls& calls = parts_.nccl->calls();
  if (has_windows())
    complete(calls.register_window(communicator_, data, bytes, &to.window, kSymmetric),
             "register memory");
  if (to.window == nullptr && calls.register_memory != nullptr)
    complete(calls.register_memory(communicator_, data, bytes, &to.handle), "register memory");
}

void NcclStreams::deregister(const Registration& registration) const noexcept {
  if (communicator_ == nullptr) return;
  parts_.device->within([&] {
    const NcclCalls& calls = parts_.nccl->calls();
    if (registration.window != nullptr) calls.deregister_window(communicator_, registration.window);
    if (registration.handle != nullptr) calls.deregister_memory(communicator_, registration.handle);
  });
}

/// Windows are of memory that NCCL allocates, which peers cannot open by CUDA IPC.
bool NcclStreams::has_windows() const noexcept {
  return parts_.nccl->calls().register_window != nullptr && !parts_.peers;
}

/// Memory that peers see, or as NCCL has it best, or, of old versions, any.
std::shared_ptr<std::byte> NcclStreams::allocate_best(std::size_t bytes) const {
  if (parts_.peers) return parts_.peers->allocate(bytes);
  if (parts_.nccl->calls().allocate == nullptr) return allocate_unordered(bytes);
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
  Attempt attempt;
  attempt.make([&] {
    if (failure_) throw Error{*failure_};
    try {
      memory = allocate_best(bytes);
    } catch (const std::bad_alloc&) {
      throw Error{ErrorCode::transport, "memory of the GPU is exhausted"};
    }
    clear_now(memory.get(), bytes);
  });
  const auto all = agree(ranks_, attempt, bytes, kAllocate);
  const auto other = std::ranges::find_if(all, [&](std::size_t its) { return its != all[0]; });
  if (other == all.end()) return memory;
  throw Error{ErrorCode::mismatch,
              "rank " + std::to_string(other - all.begin()) + " allocates " +
                  std::to_string(*other) + " bytes of its GPU, and rank 0 " +
                  std::to_string(all[0]) + "; all ranks must allocate as many",
              static_cast<Rank>(other - all.begin())};
}

std::shared_ptr<std::byte> NcclStreams::allocate_registered(std::size_t bytes) {
  const Device::Current current{*parts_.device};
  struct Registered {
    std::shared_ptr<std::byte> memory;
    Registration registration{};
  };
  const auto registered = std::make_shared<Registered>(Registered{allocate_together(bytes)});
  std::byte* const data = registered->memory.get();
  Attempt attempt;
  attempt.make([&] {
    try {
      register_memory(data, bytes, registered->registration);
    } catch (const Error& error) {
      fail(error, registered);  // else others wait for this one
      throw;
    }
  });
  agree(ranks_, attempt, kAllocate);
  return {data, [registered, owner = weak_from_this()](std::byte*) {
            if (const auto alive = owner.lock()) alive->deregister(registered->registration);
          }};
}

void NcclStreams::send_or_receive(const StreamMessage& message, CUstream stream) const {
  const NcclCalls& calls = parts_.nccl->calls();
  const bool is_send = message.kind == Transfer::Kind::send;
  const ncclResult_t result = is_send ? calls.send(message.data, message.bytes, ncclInt8,
                                                   message.peer, communicator_, stream)
                                      : calls.receive(message.data, message.bytes, ncclInt8,
                                                      message.peer, communicator_, stream);
  if (result != ncclInProgress) parts_.nccl->check(result, "enqueue a message", communicator_);
}

void NcclStreams::exchange(std::span<const StreamMessage> messages, Stream stream) {
  const Device::Current current{*parts_.device};
  const NcclCalls& calls = parts_.nccl->calls();
  parts_.nccl->check(calls.begin_group(), "begin a group", communicator_);
  try {
    for (const StreamMessage& message : messages) send_or_receive(message, of(stream));
  } catch (...) {
    static_cast<void>(calls.end_group());  // else the thread stays in it
    throw;
  }
  complete(calls.end_group(), "enqueue messages");
}

void NcclStreams::abort(const Error& cause) noexcept {
  fail(cause, nullptr);
}

/// @param held what NCCL may use until its communicator has ended.
void NcclStreams::fail(const Error& cause, std::shared_ptr<const void> held) noexcept {
  if (failure_) return;
  failure_ = cause;
  if (parts_.peers) parts_.peers->abort();
  abort_nccl(parts_.nccl, parts_.device, std::exchange(communicator_, nullptr), std::move(held));
}

}  // namespace tutti::v0::cuda

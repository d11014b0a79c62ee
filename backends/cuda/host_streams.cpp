#include "host_streams.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <tutti/error.hpp>
#include <tutti/spi/communicator.hpp>

#include "enqueue.hpp"
#include "host_connect.hpp"

namespace tutti::v0::cuda {
namespace {

std::shared_ptr<PinnedMemory> room_for(const StagingPlan& plan,
                                       const std::shared_ptr<const Device>& device) {
  if (plan.slots == 0) return nullptr;
  return std::make_shared<PinnedMemory>(device, plan.slots * plan.chunk_bytes);
}

}  // namespace

HostStreams::HostStreams(const Parts& parts, Communicator ranks, const StagingPlan& plan)
    : DeviceStreams{parts.device}, parts_{parts}, done_{parts.device},
      memory_{room_for(plan, parts.device)}, ranks_{std::move(ranks)} {
  const StagedMessages::Parts staged{
      .device = parts.device, .transport = &transport_of(ranks_), .memory = memory_, .plan = plan};
  worker_ = std::make_unique<StreamWorker>(staged, done_);
}

/// Ends what was enqueued, as far as that ends in time. The end of pinned memory may wait for
/// streams, and so for peers.
HostStreams::~HostStreams() {
  worker_->end(parts_.timeout);
  if (parts_.peers) parts_.peers->finish_calls();
}

/// Twenty microseconds for a message, which is copied twice and handed to a thread, and 12 GB/s of
/// PCIe; reductions as those of NcclStreams.
CostModel HostStreams::cost_model() const {
  CostModel cost_model{.costs = {.alpha = 20'000'000'000, .beta = 83'333, .gamma = 1'000},
                       .origin = "assumed of copies through the host"};
  if (!parts_.peers) return cost_model;
  cost_model.visible = DevicePeers::costs();
  cost_model.origin += ", and of memory of peers";
  return cost_model;
}

std::shared_ptr<StreamTransport> HostStreams::divide(Communicator& part) {
  check_health();
  return connect_host(part, {.device = parts_.device,
                             .timeout = parts_.timeout,
                             .places = places_in(part, parts_.places, ranks_.rank()),
                             .is_visible = parts_.is_visible});
}

void HostStreams::abort(const Error& cause) noexcept {
  worker_->abort(cause);
  if (parts_.peers) parts_.peers->abort();
}

std::shared_ptr<std::byte> HostStreams::allocate_registered(std::size_t bytes) {
  if (parts_.peers) return parts_.peers->allocate(bytes);
  std::shared_ptr<std::byte> memory = allocate_unordered(bytes);
  clear_now(memory.get(), bytes);
  return memory;
}

void HostStreams::deallocate(std::byte* data, Stream stream) noexcept {
  bool is_later = false;
  try {
    is_later = !is_captured(stream) && worker_->release(address_of(data), of(stream));
  } catch (const std::exception&) {  // of a GPU that does nothing any more
  }
  if (!is_later) DeviceStreams::deallocate(data, stream);
}

void HostStreams::exchange(std::span<const StreamMessage> messages, Stream stream) {
  check_health();
  const Device::Current current{*device()};
  std::vector<StreamMessage> own;
  std::vector<StreamMessage> others;
  for (const StreamMessage& message : messages)
    (message.peer == ranks_.rank() ? own : others).push_back(message);
  copy_to_itself(own, stream);
  if (!others.empty()) worker_->enqueue(std::move(others), of(stream));
}

void HostStreams::copy_to_itself(std::span<const StreamMessage> messages, Stream stream) {
  std::vector<StreamMessage> sent;
  std::vector<StreamMessage> received;
  for (const StreamMessage& message : messages)
    (message.kind == Transfer::Kind::send ? sent : received).push_back(message);
  const auto fits = [](const StreamMessage& from, const StreamMessage& to) {
    return from.bytes == to.bytes;
  };
  if (!std::ranges::equal(sent, received, fits))
    throw Error{ErrorCode::mismatch,
                "rank " + std::to_string(ranks_.rank()) +
                    " sends itself other messages than it receives at once",
                ranks_.rank()};
  for (std::size_t i = 0; i < sent.size(); ++i)
    enqueue_copy(*device(), received[i].data, sent[i].data, sent[i].bytes, of(stream));
}

void HostStreams::run_native(const NativeCall&, const std::byte*, std::byte*, Stream) {
  expects(false, "over the host there are no calls of a library");
}

}  // namespace tutti::v0::cuda

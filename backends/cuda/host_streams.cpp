#include "host_streams.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tutti/error.hpp>
#include <tutti/spi/communicator.hpp>

#include "base/all_or_none.hpp"
#include "enqueue.hpp"
#include "private_ranks.hpp"

namespace tutti::v0::cuda {
namespace {

/// @return a communicator whose transport only the thread of streams calls.
Communicator duplicate_for_thread(Communicator& world) {
  Communicator second = duplicate_privately(world, kKeyOfMessages);
  const Capabilities& can = transport_of(second).capabilities();
  if (!can.threads)
    throw Error{ErrorCode::invalid_argument,
                "a thread of tutti's own would call the transport '" + can.name +
                    "', which does not allow it: an MPI needs MPI_THREAD_MULTIPLE; start it by "
                    "MPI_Init_thread"};
  return second;
}

std::shared_ptr<PinnedMemory> room_for(const StagingPlan& plan,
                                       const std::shared_ptr<const Device>& device) {
  if (plan.slots == 0) return nullptr;
  return std::make_shared<PinnedMemory>(device, plan.slots * plan.chunk_bytes);
}

}  // namespace

std::shared_ptr<HostStreams> HostStreams::connect(Communicator& world, const Config& config) {
  constexpr const char* kFailure = "cannot move memory of its GPU over the host";
  const detail::Exchange exchange = detail::exchange_over(world, Duration{0});
  std::optional<Communicator> second;
  const auto prepare = [&] {
    config.device->require_stream_operations();
    second.emplace(duplicate_for_thread(world));
  };
  detail::all_or_none(exchange, prepare, kFailure);
  std::shared_ptr<DevicePeers> peers;
  if (config.is_visible) peers = DevicePeers::connect_or_none(world, config.device, config.timeout);
  std::shared_ptr<HostStreams> streams;
  const auto make = [&] {
    streams = std::make_shared<HostStreams>(config, peers, std::move(*second),
                                            staging_plan(world.size()));
  };
  detail::all_or_none(exchange, make, kFailure);
  return streams;
}

HostStreams::HostStreams(const Config& config, std::shared_ptr<DevicePeers> peers,
                         Communicator ranks, const StagingPlan& plan)
    : DeviceStreams{config.device, std::move(peers)}, config_{config}, done_{config.device},
      memory_{room_for(plan, config.device)}, ranks_{std::move(ranks)} {
  const StagedMessages::Config staged{
      .device = config.device, .transport = &transport_of(ranks_), .memory = memory_, .plan = plan};
  worker_ = std::make_unique<StreamWorker>(staged, done_, config_.timeout);
}

/// Keeps pinned memory if a stream may never end, since freeing it waits for streams.
HostStreams::~HostStreams() {
  worker_->end(config_.timeout);
  if (device_peers() == nullptr || device_peers()->finish_calls()) return;
  done_.keep();
  if (memory_) memory_->keep();
}

/// Twenty microseconds for a message, which is copied twice and passed to a thread; 12 GB/s of
/// PCIe; reductions as those of NcclStreams.
CostModel HostStreams::cost_model() const {
  CostModel cost_model{.costs = {.alpha = 20'000'000'000, .beta = 83'333, .gamma = 1'000},
                       .origin = "assumed of copies through the host"};
  if (device_peers() == nullptr) return cost_model;
  cost_model.visible = DevicePeers::costs();
  cost_model.origin += ", and of memory of peers";
  return cost_model;
}

std::shared_ptr<StreamTransport> HostStreams::divide(Communicator& part) {
  check_health();
  return connect(part, {.device = config_.device,
                        .timeout = config_.timeout,
                        .placement = placement_in(part, config_.placement, ranks_.rank()),
                        .is_visible = config_.is_visible});
}

void HostStreams::abort(const Error& cause) noexcept {
  worker_->abort(cause);
  if (device_peers() != nullptr) device_peers()->abort();
}

std::shared_ptr<std::byte> HostStreams::allocate_registered(std::size_t bytes) {
  if (device_peers() != nullptr) return device_peers()->allocate(bytes);
  std::shared_ptr<std::byte> memory = allocate_unordered(bytes);
  clear_now(memory.get(), bytes);
  return memory;
}

void HostStreams::deallocate(std::byte* data, Stream stream) noexcept {
  bool is_later = false;
  try {
    is_later = !is_captured(stream) && worker_->release(address_of(data), of(stream));
  } catch (const std::exception&) {  // the GPU has failed
  }
  if (!is_later) DeviceStreams::deallocate(data, stream);
}

void HostStreams::exchange(std::span<const StreamMessage> messages, Stream stream) {
  check_health();
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
  expects(false, "the host has no collectives on streams of its own");
}

}  // namespace tutti::v0::cuda

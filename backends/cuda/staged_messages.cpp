#include "staged_messages.hpp"

#include <chrono>
#include <thread>
#include <utility>

#include <tutti/error.hpp>

#include "enqueue.hpp"

namespace tutti::v0::cuda {
namespace {

/// More than so many slots of a lane do not help.
constexpr std::size_t kMostOfLane = 8;
/// The tag of all chunks: between two ranks they match in their order.
constexpr std::uint32_t kTag = 0;
/// How long copies have to end that nobody wants any more, and how often they are looked at.
constexpr std::chrono::seconds kCopyPatience{1};
constexpr std::chrono::microseconds kNap{50};

}  // namespace

StagedMessages::StagedMessages(Parts parts)
    : parts_{std::move(parts)}, down_stream_{parts_.device->make_urgent_stream()},
      up_stream_{nullptr}, lanes_(2 * static_cast<std::size_t>(parts_.transport->size())) {
  try {
    up_stream_ = parts_.device->make_urgent_stream();
    for (std::size_t i = 0; i < parts_.plan.slots; ++i)
      slots_.emplace_back(parts_.device).room = parts_.memory->data() + i * parts_.plan.chunk_bytes;
  } catch (...) {
    if (up_stream_ != nullptr) parts_.device->destroy(up_stream_);
    parts_.device->destroy(down_stream_);
    throw;
  }
}

StagedMessages::~StagedMessages() {
  parts_.device->destroy(up_stream_);
  parts_.device->destroy(down_stream_);
}

void StagedMessages::begin(std::span<const StreamMessage> messages) {
  expects(is_done(), "a group begins where the one before is done");
  active_.clear();
  for (const StreamMessage& message : messages) {
    const std::size_t lane = lane_of(message);
    if (lanes_[lane].messages.empty()) active_.push_back(lane);
    lanes_[lane].messages.push_back(message);
  }
  uncut_ = messages.size();
  deal_out_slots();
}

void StagedMessages::deal_out_slots() {
  if (active_.empty()) return;
  const std::size_t each = std::min(slots_.size() / active_.size(), kMostOfLane);
  expects(each > 0, "there is a slot for each lane");
  std::size_t slot = 0;
  for (const std::size_t lane : active_) {
    lanes_[lane].free.clear();
    for (std::size_t i = 0; i < each; ++i) lanes_[lane].free.push_back(slot++);
  }
}

bool StagedMessages::step() {
  const std::uint64_t before = moves_;
  transfers_.clear();
  for (const std::size_t lane : active_)
    while (!lanes_[lane].messages.empty() && !lanes_[lane].free.empty()) cut(lane);
  post_copied();
  if (!transfers_.empty()) parts_.transport->post(transfers_);
  if (posted_ > 0) parts_.transport->poll();
  take_completed();
  end_copied();
  return moves_ != before;
}

void StagedMessages::cut(std::size_t at) {
  Lane& lane = lanes_[at];
  const StreamMessage& message = lane.messages.front();
  const std::size_t index = lane.free.back();
  Slot& slot = slots_[index];
  const std::size_t left = message.bytes - lane.offset;
  const std::size_t bytes = std::min(left, parts_.plan.chunk_bytes);
  slot.device = message.data + lane.offset;
  slot.piece = {slot.room, bytes};
  slot.lane = at;
  slot.fingerprint = fingerprint_of(message.bytes);
  if (sends(at)) copy_down(index);
  else enlist(index);
  lane.free.pop_back();
  ++used_;
  ++moves_;
  lane.offset += bytes;
  if (bytes < left) return;
  lane.offset = 0;
  lane.messages.pop_front();
  --uncut_;
}

void StagedMessages::copy_down(std::size_t index) {
  Slot& slot = slots_[index];
  enqueue_copy(*parts_.device, slot.piece.data, slot.device, slot.piece.bytes, down_stream_);
  slot.copied.record(down_stream_);
  down_.push_back(index);
}

void StagedMessages::copy_up(std::size_t index) {
  Slot& slot = slots_[index];
  enqueue_copy(*parts_.device, slot.device, slot.piece.data, slot.piece.bytes, up_stream_);
  slot.copied.record(up_stream_);
  up_.push_back(index);
}

void StagedMessages::enlist(std::size_t index) {
  const Slot& slot = slots_[index];
  transfers_.push_back({.kind = sends(slot.lane) ? Transfer::Kind::send : Transfer::Kind::recv,
                        .peer = static_cast<Rank>(slot.lane / 2),
                        .tag = kTag,
                        .fingerprint = slot.fingerprint,
                        .cookie = index,
                        .pieces = {&slot.piece, 1}});
  ++posted_;
}

void StagedMessages::post_copied() {
  for (; !down_.empty() && slots_[down_.front()].copied.is_done(); ++moves_) {
    enlist(down_.front());
    down_.pop_front();
  }
}

void StagedMessages::take_completed() {
  for (; parts_.transport->completed() > 0; parts_.transport->pop_oldest(), ++moves_) {
    const auto index = static_cast<std::size_t>(parts_.transport->oldest_completed().cookie);
    const Slot& slot = slots_[index];
    --posted_;
    if (sends(slot.lane)) end(index);
    else copy_up(index);
  }
}

void StagedMessages::end_copied() {
  for (; !up_.empty() && slots_[up_.front()].copied.is_done(); ++moves_) {
    end(up_.front());
    up_.pop_front();
  }
}

/// A lane has had room for all its slots from the start.
void StagedMessages::end(std::size_t index) noexcept {
  lanes_[slots_[index].lane].free.push_back(index);
  --used_;
}

void StagedMessages::release(CUdeviceptr data, const Event& after) noexcept {
  try {
    after.hold(up_stream_);
  } catch (const Error&) {  // where the GPU does nothing any more, nothing uses it
  }
  parts_.device->free(data, up_stream_);
}

bool StagedMessages::is_idle(CUstream stream) const noexcept {
  return parts_.device->driver().calls().query(stream) != CUDA_ERROR_NOT_READY;
}

/// Copies wait for nothing, unless the program has more streams at work than its GPU keeps apart:
/// then they may be stuck behind streams that wait for us.
void StagedMessages::stop(const Error& cause) noexcept {
  const bool is_quiet = parts_.transport->abort(cause);
  if (!is_quiet && parts_.memory != nullptr) parts_.memory->keep();
  const auto deadline = std::chrono::steady_clock::now() + kCopyPatience;
  while (!(is_idle(down_stream_) && is_idle(up_stream_)) &&
         std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(kNap);
}

}  // namespace tutti::v0::cuda

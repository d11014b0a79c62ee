#include "staged_messages.hpp"

#include <chrono>
#include <utility>

#include <tutti/error.hpp>

#include "enqueue.hpp"
#include "polling.hpp"

namespace tutti::v0::cuda {
namespace {

/// The most slots of a lane: more do not make it faster.
constexpr std::size_t kMostOfLane = 8;
/// The tag of all chunks: between two ranks they match in their order.
constexpr std::uint32_t kTag = 0;
/// The time for pending copies to end after an abort.
constexpr std::chrono::seconds kCopyPatience{1};

}  // namespace

/// While one exists, the thread is in the driver.
class StagedMessages::DriverCall {
 public:
  explicit DriverCall(StagedMessages& messages) : at_{messages.called_at_} {
    at_ = Clock::now().time_since_epoch().count();
  }
  DriverCall(const DriverCall&) = delete;
  DriverCall& operator=(const DriverCall&) = delete;
  ~DriverCall() { at_ = 0; }

 private:
  std::atomic<Duration::rep>& at_;
};

StagedMessages::StagedMessages(Config config)
    : config_{std::move(config)}, down_{config_.device->make_urgent_stream()},
      up_{config_.device->make_urgent_stream()},
      lanes_(2 * static_cast<std::size_t>(config_.transport->size())) {
  for (std::size_t i = 0; i < config_.plan.slots; ++i)
    slots_.emplace_back(config_.device).room =
        config_.memory->data() + i * config_.plan.chunk_bytes;
}

void StagedMessages::begin(std::span<const StreamMessage> messages) {
  expects(is_done(), "a group begins when the one before is done");
  active_.clear();
  for (const StreamMessage& message : messages) {
    const std::size_t lane = lane_of(message);
    if (lanes_[lane].messages.empty()) active_.push_back(lane);
    lanes_[lane].messages.push_back(message);
  }
  uncut_ = messages.size();
  assign_slots();
}

void StagedMessages::assign_slots() {
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
  std::size_t slot = 0;
  while (next_copied(down_, slot)) prepare_transfer(slot);
  if (!transfers_.empty()) config_.transport->post(transfers_);
  if (posted_ > 0) config_.transport->poll();
  handle_completions();
  while (next_copied(up_, slot)) free(slot);
  return moves_ != before;
}

void StagedMessages::cut(std::size_t at) {
  Lane& lane = lanes_[at];
  const StreamMessage& message = lane.messages.front();
  const std::size_t index = lane.free.back();
  Slot& slot = slots_[index];
  const std::size_t left = message.bytes - lane.offset;
  const std::size_t bytes = std::min(left, config_.plan.chunk_bytes);
  slot.device = message.data + lane.offset;
  slot.piece = {slot.room, bytes};
  slot.lane = at;
  slot.fingerprint = fingerprint_of(message.bytes);
  if (sends(at)) copy(index);
  else prepare_transfer(index);
  lane.free.pop_back();
  ++used_;
  ++moves_;
  lane.offset += bytes;
  if (bytes < left) return;
  lane.offset = 0;
  lane.messages.pop_front();
  --uncut_;
}

/// Enqueues the copy between a slot's memory and the device.
void StagedMessages::copy(std::size_t index) {
  Slot& slot = slots_[index];
  const bool is_down = sends(slot.lane);
  Copies& copies = is_down ? down_ : up_;
  std::byte* const to = is_down ? slot.piece.data : slot.device;
  const std::byte* const from = is_down ? slot.device : slot.piece.data;
  const DriverCall call{*this};
  enqueue_copy(*config_.device, to, from, slot.piece.bytes, copies.stream.get());
  slot.copied.record(copies.stream.get());
  copies.slots.push_back(index);
}

/// @param slot of the oldest copy. @return whether it is done, and so removed from the copies.
bool StagedMessages::next_copied(Copies& copies, std::size_t& slot) {
  if (copies.slots.empty() || !slots_[copies.slots.front()].copied.is_done()) return false;
  slot = copies.slots.front();
  copies.slots.pop_front();
  ++moves_;
  return true;
}

void StagedMessages::prepare_transfer(std::size_t index) {
  const Slot& slot = slots_[index];
  transfers_.push_back({.kind = sends(slot.lane) ? Transfer::Kind::send : Transfer::Kind::recv,
                        .peer = static_cast<Rank>(slot.lane / 2),
                        .tag = kTag,
                        .fingerprint = slot.fingerprint,
                        .cookie = index,
                        .pieces = {&slot.piece, 1}});
  ++posted_;
}

void StagedMessages::handle_completions() {
  for (; config_.transport->completed() > 0; config_.transport->pop_oldest(), ++moves_) {
    const auto index = static_cast<std::size_t>(config_.transport->oldest_completed().cookie);
    --posted_;
    if (sends(slots_[index].lane)) free(index);
    else copy(index);
  }
}

/// Frees a slot. The lane's list has capacity for all its slots.
void StagedMessages::free(std::size_t index) noexcept {
  lanes_[slots_[index].lane].free.push_back(index);
  --used_;
}

bool StagedMessages::is_held_up(Duration patience) const noexcept {
  const Duration::rep at = called_at_;
  return at != 0 && Clock::now().time_since_epoch() - Duration{at} > patience;
}

void StagedMessages::release(CUdeviceptr data, std::unique_ptr<Event> after) noexcept {
  const DriverCall call{*this};
  try {
    after->hold(up_.stream.get());
  } catch (const Error&) {  // the GPU has failed, so nothing uses the memory
  }
  config_.device->free(data, up_.stream.get());
  after.reset();
}

void StagedMessages::destroy(std::unique_ptr<Event> event) noexcept {
  const DriverCall call{*this};
  event.reset();
}

/// Makes the context current: without one the query would fail, which does not show an end.
bool StagedMessages::is_idle(const Copies& copies) const noexcept {
  bool is_idle = true;
  config_.device->within([&] {
    is_idle = config_.device->driver().calls().query(copies.stream.get()) != CUDA_ERROR_NOT_READY;
  });
  return is_idle;
}

/// Copies end soon, unless the program has more busy streams than its GPU has queues: then streams
/// that wait for this rank may block them.
void StagedMessages::stop(const Error& cause) noexcept {
  const bool is_quiet = config_.transport->abort(cause);
  if (!is_quiet && config_.memory != nullptr) config_.memory->keep();
  static_cast<void>(
      poll_until(deadline_in(kCopyPatience), [this] { return is_idle(down_) && is_idle(up_); }));
}

}  // namespace tutti::v0::cuda

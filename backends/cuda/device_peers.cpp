#include "device_peers.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <utility>

#include "enqueue.hpp"

namespace tutti::v0::cuda {
namespace {

/// What is lent is a multiple of so many bytes.
constexpr std::size_t kLend = 256;
/// How long streams have to go on that were let go, and how often they are.
constexpr std::chrono::seconds kLetGo{5};
constexpr std::chrono::microseconds kNap{100};
/// The same of graphs, which take all of it: their end cannot be asked for.
constexpr std::chrono::seconds kLetGraphsGo{2};
/// So many looks at what takes microseconds come before naps.
constexpr int kLooks = 200;

}  // namespace

DevicePeers::DevicePeers(std::shared_ptr<const Device> device, Communicator ranks,
                         std::size_t scratch, Duration patience)
    : device_{std::move(device)}, ranks_{std::move(ranks)},
      boxes_{device_, ranks_, sizeof(Box) * static_cast<std::size_t>(ranks_.size())},
      scratch_{device_, ranks_, scratch}, patience_{patience} {
  clear(boxes_.own(), boxes_.bytes());
  ranks_.barrier();  // before it peers may tell nothing
}

DevicePeers::~DevicePeers() {
  finish_calls();
  boxes_.close();
  scratch_.close();
  for (const Owned& owned : owned_) owned.region->close();
  await_processes();
}

/// The streams of calls access memory of peers. The program may have ended them.
void DevicePeers::finish_calls() noexcept {
  if (!await_calls()) let_streams_go(kLetGo, [this] { return has_passed(*before_); });
}

/// @return whether the calls so far, but for those in graphs, are done in time.
bool DevicePeers::await_calls() noexcept {
  const auto now = [] { return std::chrono::steady_clock::now().time_since_epoch(); };
  const Duration deadline = deadline_after(now(), is_aborted_ ? Duration::zero() : patience_);
  while (before_ && !has_passed(*before_)) {
    if (now() >= deadline) return false;
    std::this_thread::sleep_for(kNap);
  }
  return true;
}

/// A GPU that does nothing any more has passed all.
bool DevicePeers::has_passed(Event& event) noexcept {
  try {
    return event.is_done();
  } catch (const Error&) {
    return true;
  }
}

/// Memory that another process sees must not be given back. Where calls have failed it may be that
/// one never comes.
void DevicePeers::await_processes() noexcept {
  if (!boxes_.is_seen_by_processes()) return;
  const Duration most = is_aborted_ ? std::min<Duration>(patience_, kLetGo) : patience_;
  if (ranks_.try_().barrier({.timeout = most})) return;
  boxes_.allocation()->keep();
  scratch_.allocation()->keep();
  for (const Owned& owned : owned_) owned.region->allocation()->keep();
}

void DevicePeers::clear(CUdeviceptr data, std::size_t bytes) const {
  const Device::Current current{*device_};
  const Driver& driver = device_->driver();
  driver.check(driver.calls().fill(data, 0, bytes, side_.stream), "clear memory of a GPU");
  await_beside("clear memory of a GPU");
}

const SharedRegion* DevicePeers::region_of(const std::byte* data,
                                           std::size_t bytes) const noexcept {
  if (scratch_.contains(data, bytes)) return &scratch_;
  const auto found = std::ranges::find_if(
      owned_, [&](const Owned& owned) { return owned.region->contains(data, bytes); });
  return found == owned_.end() ? nullptr : found->region.get();
}

/// What all ranks have dropped, and no call uses any more. The first that is large enough and not
/// too large.
SharedRegion* DevicePeers::find_free(std::size_t bytes) {
  std::vector<std::uint8_t> is_used(owned_.size());
  for (std::size_t i = 0; i < owned_.size(); ++i) is_used[i] = owned_[i].user.expired() ? 0 : 1;
  if (std::ranges::find(is_used, 0) != is_used.end() && !await_calls())
    std::ranges::fill(is_used, std::uint8_t{1});
  ranks_.all_reduce(is_used, max);
  for (std::size_t i = 0; i < owned_.size(); ++i) {
    SharedRegion& region = *owned_[i].region;
    if (is_used[i] == 0 && region.bytes() >= bytes && region.bytes() / 2 <= bytes) return &region;
  }
  return nullptr;
}

std::shared_ptr<std::byte> DevicePeers::allocate(std::size_t bytes) {
  SharedRegion* region = find_free(bytes);
  if (region == nullptr) {
    owned_.push_back({std::make_unique<SharedRegion>(device_, ranks_, bytes)});
    region = owned_.back().region.get();
  }
  clear(region->own(), bytes);
  // The region stays; this tells whether somebody uses it, who may do so longer than it lives.
  const std::shared_ptr<std::byte> user{reinterpret_cast<std::byte*>(region->own()),
                                        [memory = region->allocation()](std::byte*) {}};
  const auto owned =
      std::ranges::find(owned_, region, [](const Owned& each) { return each.region.get(); });
  owned->user = user;
  return user;
}

/// Calls on two streams would tell each other's peers the same things. In a graph it is the
/// program that keeps launches apart. A stream that has ended may be followed by another one with
/// the same handle, so that handles are not compared.
void DevicePeers::begin(Stream stream) {
  lent_ = 0;
  if (before_ && !device_->is_captured(of(stream))) before_->hold(of(stream));
  current_ = stream;
}

void DevicePeers::end(Stream stream) {
  if (device_->is_captured(of(stream))) has_graphs_ = true;
  else before_ = std::make_unique<Event>(device_, of(stream));
  current_ = {};  // the program may end it
}

std::byte* DevicePeers::acquire(std::size_t bytes) {
  const std::size_t rounded = (bytes + kLend - 1) / kLend * kLend;
  if (rounded > scratch_.bytes() - lent_)
    throw Error{ErrorCode::invalid_argument,
                "a call needs more than the " + std::to_string(scratch_.bytes()) +
                    " bytes of scratch that peers see; leave Options::visible out"};
  return reinterpret_cast<std::byte*>(scratch_.own() + std::exchange(lent_, lent_ + rounded));
}

CUdeviceptr DevicePeers::own_box(Rank peer, std::size_t member) const {
  return boxes_.own() + static_cast<std::size_t>(peer) * sizeof(Box) + member;
}

CUdeviceptr DevicePeers::box_of(Rank peer, std::size_t member) const {
  return boxes_.of(peer) + static_cast<std::size_t>(ranks_.rank()) * sizeof(Box) + member;
}

void DevicePeers::store(CUdeviceptr to, std::uint64_t value, Stream stream) const {
  const Driver& driver = device_->driver();
  driver.check(driver.calls().write_64(of(stream), to, value, CU_STREAM_WRITE_VALUE_DEFAULT),
               "tell a peer of a message");
}

/// Addresses are below 2^63, so that they count as greater than zero.
void DevicePeers::await_some(CUdeviceptr cell, Stream stream) const {
  const Driver& driver = device_->driver();
  driver.check(driver.calls().wait_64(of(stream), cell, 1, CU_STREAM_WAIT_VALUE_GEQ),
               "have a stream wait for a peer");
}

/// One store: a GPU may reorder what others store to its memory, and guarantees only that work
/// behind a wait sees what ended the wait.
void DevicePeers::announce(Rank peer, const std::byte* data, Stream stream) {
  const Device::Current current{*device_};
  const SharedRegion* const region = region_of(data, 1);
  expects(region != nullptr, "what is announced peers see");
  const CUdeviceptr seen = region->seen_by(peer) + (address_of(data) - region->own());
  store(box_of(peer, offsetof(Box, message)), seen, stream);
}

void DevicePeers::await(Rank peer, Stream stream) {
  const Device::Current current{*device_};
  await_some(own_box(peer, offsetof(Box, message)), stream);
}

/// The message is taken out before the peer may announce another one.
void DevicePeers::release(Rank peer, Stream stream) {
  const Device::Current current{*device_};
  store(own_box(peer, offsetof(Box, message)), 0, stream);
  store(box_of(peer, offsetof(Box, was_read)), 1, stream);
}

void DevicePeers::await_release(Rank peer, Stream stream) {
  const Device::Current current{*device_};
  await_some(own_box(peer, offsetof(Box, was_read)), stream);
  store(own_box(peer, offsetof(Box, was_read)), 0, stream);
}

void DevicePeers::fold(const Fold& work, std::span<const PeerOperand> peers, Stream stream) {
  const Device::Current current{*device_};
  std::vector<PeerPlace> places;
  for (const auto& [operand, peer, offset] : peers)
    places.push_back({.operand = operand,
                      .cell = reinterpret_cast<void*>(own_box(peer, offsetof(Box, message))),
                      .offset = offset});
  enqueue_fold(*device_, work, places, of(stream));
}

/// A peer that fails says so before it goes on with what is wrong.
void DevicePeers::check() {
  const Device::Current current{*device_};
  std::vector<Box> boxes(static_cast<std::size_t>(ranks_.size()));
  const Driver& driver = device_->driver();
  driver.check(
      driver.calls().copy(address_of(boxes.data()), boxes_.own(), boxes_.bytes(), side_.stream),
      "read memory of a GPU");
  await_beside("read memory of a GPU");
  const auto failed =
      std::ranges::find_if(boxes, [](const Box& box) { return box.has_failed != 0; });
  if (failed == boxes.end()) return;
  const auto rank = static_cast<Rank>(failed - boxes.begin());
  throw Error{ErrorCode::aborted, "rank " + std::to_string(rank) + " has given up", rank};
}

void DevicePeers::store_beside(CUdeviceptr to, std::uint64_t value) const noexcept {
  device_->driver().calls().write_64(side_.stream, to, value, CU_STREAM_WRITE_VALUE_DEFAULT);
}

/// In the own context. @return whether the own stream has done all in time: where the program has
/// many streams it may still be held up by one that waits for peers.
bool DevicePeers::is_beside_done(Duration patience) const noexcept {
  const auto now = [] { return std::chrono::steady_clock::now().time_since_epoch(); };
  const Duration deadline = deadline_after(now(), patience);
  for (int looks = 0; device_->driver().calls().query(side_.stream) == CUDA_ERROR_NOT_READY;
       ++looks) {
    if (now() >= deadline) return false;
    if (looks < kLooks) std::this_thread::yield();
    else std::this_thread::sleep_for(kNap);
  }
  return true;
}

void DevicePeers::await_beside(const char* what) const {
  if (!is_beside_done(patience_))
    throw Error{ErrorCode::timeout, std::string{"cannot "} + what +
                                        " in time: its streams wait for other ranks; set "
                                        "CUDA_DEVICE_MAX_CONNECTIONS to more than 8"};
  const Driver& driver = device_->driver();
  driver.check(driver.calls().query(side_.stream), what);
}

/// Streams set these to zero again, so it is called again and again. What they read then is
/// anything, but memory: no message is longer than the scratch.
void DevicePeers::let_go() const noexcept {
  for (Rank peer = 0; peer < ranks_.size(); ++peer) {
    store_beside(own_box(peer, offsetof(Box, message)), scratch_.own());
    store_beside(own_box(peer, offsetof(Box, was_read)), 1);
  }
}

/// @param patience how long they have. @param have_gone whether they have.
template <class HaveGone>
void DevicePeers::let_streams_go(Duration patience, HaveGone have_gone) noexcept {
  is_aborted_ = true;
  device_->within([&] {
    for (Rank peer = 0; peer < ranks_.size(); ++peer)
      store_beside(box_of(peer, offsetof(Box, has_failed)), 1);
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (is_beside_done(deadline - std::chrono::steady_clock::now()) && !have_gone() &&
           std::chrono::steady_clock::now() < deadline) {
      let_go();
      std::this_thread::sleep_for(kNap);
    }
  });
}

/// What is enqueued of a call that failed counts too, should it not have gone by the end.
void DevicePeers::abort() noexcept {
  is_aborted_ = true;
  const Stream current = std::exchange(current_, {});
  bool is_cut_short = false;
  try {
    is_cut_short = current.is_some() && !device_->is_captured(of(current));
    if (is_cut_short) before_ = std::make_unique<Event>(device_, of(current));
  } catch (const std::exception&) {  // then the end knows of the calls before
  }
  const bool has_graphs = std::exchange(has_graphs_, false);
  if (!is_cut_short && !has_graphs && !before_) return;
  let_streams_go(has_graphs ? kLetGraphsGo : kLetGo, [&] {
    if (has_graphs) return false;
    if (is_cut_short) return device_->driver().calls().query(of(current)) != CUDA_ERROR_NOT_READY;
    return has_passed(*before_);
  });
}

}  // namespace tutti::v0::cuda

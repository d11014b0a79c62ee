#include "device_peers.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "backends/cuda/enqueue.hpp"
#include "backends/cuda/private_ranks.hpp"
#include "base/all_or_none.hpp"

namespace tutti::v0::cuda {
namespace {

/// Bytes of scratch: enough for vectors of this size divided by the number of ranks.
constexpr std::size_t kScratch = std::size_t{64} << 20U;
constexpr std::size_t kScratchAlignment = 256;
/// The time that an abort gives streams to end. They fold messages that are there already, which
/// takes a GPU milliseconds. If a stream outlives this time, pinned memory is never freed.
constexpr std::chrono::seconds kEndOfStreams{60};
/// The time for streams with graphs. All of it passes, since their end cannot be queried.
constexpr std::chrono::seconds kEndOfGraphs{2};

}  // namespace

std::shared_ptr<DevicePeers> DevicePeers::connect(Communicator& world,
                                                  const std::shared_ptr<const Device>& device,
                                                  Duration patience) {
  if (world.size() == 1) return nullptr;
  if (world.size() > static_cast<int>(kPeerOperands))
    throw SharedRegion::Unseen{
        Error{ErrorCode::transport, "more than " + std::to_string(kPeerOperands) +
                                        " ranks do not see memory of each other's GPUs"}};
  try {
    detail::all_or_none(
        detail::exchange_over(world, Duration{0}), [&] { device->require_stream_operations(); },
        "cannot announce messages to peers");
  } catch (const Error& error) {
    throw SharedRegion::Unseen{error};
  }
  return std::make_shared<DevicePeers>(device, duplicate_privately(world, kKeyOfMessages), kScratch,
                                       patience);
}

std::shared_ptr<DevicePeers> DevicePeers::connect_or_none(
    Communicator& world, const std::shared_ptr<const Device>& device, Duration patience) {
  try {
    return connect(world, device, patience);
  } catch (const SharedRegion::Unseen&) {
    return nullptr;
  }
}

DevicePeers::DevicePeers(std::shared_ptr<const Device> device, Communicator ranks,
                         std::size_t scratch, Duration patience)
    : device_{std::move(device)}, ranks_{std::move(ranks)},
      mailboxes_{device_, ranks_, sizeof(Mailbox) * static_cast<std::size_t>(ranks_.size())},
      scratch_{device_, ranks_, scratch}, patience_{patience} {
  clear(mailboxes_.own(), mailboxes_.bytes());
  ranks_.barrier();  // before it no peer may store to a mailbox
}

DevicePeers::~DevicePeers() {
  static_cast<void>(finish_calls());
  mailboxes_.close();
  scratch_.close();
  for (const Owned& owned : owned_) owned.region->close();
  await_processes();
}

/// Waits since streams of calls access memory of peers. The program may have destroyed the streams.
bool DevicePeers::finish_calls() noexcept {
  if (!await_calls()) end_waits(kEndOfStreams, [this] { return has_passed(); });
  return has_passed();
}

/// @return whether all calls end in time, except calls in graphs.
bool DevicePeers::await_calls() const noexcept {
  const Duration patience = is_aborted_ ? Duration::zero() : patience_;
  return poll_until(deadline_in(patience), [this] { return has_passed(); });
}

/// Whether all calls have ended. A GPU that has failed runs nothing any more.
bool DevicePeers::has_passed() const noexcept {
  try {
    return last_call_->is_done();
  } catch (const Error&) {
    return true;
  }
}

/// Waits until no other process sees the own memory, which must not be freed before. After a
/// failure a process may never answer.
void DevicePeers::await_processes() noexcept {
  if (!mailboxes_.is_seen_by_processes()) return;
  const Duration most = is_aborted_ ? std::min<Duration>(patience_, kEndOfStreams) : patience_;
  if (ranks_.try_().barrier({.timeout = most})) return;
  mailboxes_.allocation()->keep();
  scratch_.allocation()->keep();
  for (const Owned& owned : owned_) owned.region->allocation()->keep();
}

void DevicePeers::clear(CUdeviceptr data, std::size_t bytes) const {
  constexpr const char* kClear = "clear memory of a GPU";
  device_->call(kClear, &DriverCalls::fill, data, std::uint8_t{0}, bytes, service_.get());
  await_service(kClear);
}

const SharedRegion* DevicePeers::region_of(const std::byte* data,
                                           std::size_t bytes) const noexcept {
  if (scratch_.contains(data, bytes)) return &scratch_;
  const auto found = std::ranges::find_if(
      owned_, [&](const Owned& owned) { return owned.region->contains(data, bytes); });
  return found == owned_.end() ? nullptr : found->region.get();
}

/// @return the first region that all ranks have dropped, no call uses, and is large enough and not
/// too large; or null.
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
  // The region stays; the user's pointer shows whether it is in use, and may outlive the region.
  const std::shared_ptr<std::byte> user{reinterpret_cast<std::byte*>(region->own()),
                                        [memory = region->allocation()](std::byte*) {}};
  const auto owned =
      std::ranges::find(owned_, region, [](const Owned& each) { return each.region.get(); });
  owned->user = user;
  return user;
}

/// Makes the call wait for the previous one, since calls on two streams would store to the same
/// words. The program must keep launches of graphs apart. Streams are not compared by their
/// handles, since a new stream may have the handle of one that has ended.
void DevicePeers::begin(Stream stream) {
  acquired_ = 0;
  if (!device_->is_captured(of(stream))) {
    hold(of(stream));
    if (other_call_) other_call_->hold(of(stream));
  }
  current_ = stream;
}

void DevicePeers::end(Stream stream) {
  if (device_->is_captured(of(stream))) {
    has_graphs_ = true;
  } else {
    last_call_->record(of(stream));
    has_calls_ = true;
  }
  current_ = {};  // the program may destroy the stream
}

std::byte* DevicePeers::acquire(std::size_t bytes) {
  const std::size_t rounded =
      (bytes + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
  if (rounded > scratch_.bytes() - acquired_)
    throw Error{ErrorCode::invalid_argument,
                "a call needs more than the " + std::to_string(scratch_.bytes()) +
                    " bytes of scratch that peers see; leave Options::visible out"};
  return reinterpret_cast<std::byte*>(scratch_.own() +
                                      std::exchange(acquired_, acquired_ + rounded));
}

/// @return the word of this rank to which a peer stores.
CUdeviceptr DevicePeers::own_word(Rank peer, std::size_t member) const {
  return mailboxes_.own() + static_cast<std::size_t>(peer) * sizeof(Mailbox) + member;
}

/// @return the word in a peer's memory to which this rank stores.
CUdeviceptr DevicePeers::word_at(Rank peer, std::size_t member) const {
  return mailboxes_.of(peer) + static_cast<std::size_t>(ranks_.rank()) * sizeof(Mailbox) + member;
}

void DevicePeers::store(CUdeviceptr to, std::uint64_t value, Stream stream) const {
  device_->call("announce a message to a peer", &DriverCalls::write_64, of(stream), to, value,
                unsigned{CU_STREAM_WRITE_VALUE_DEFAULT});
}

/// Waits for a value above zero. The driver compares signed numbers; addresses are below 2^63.
void DevicePeers::await_nonzero(CUdeviceptr word, Stream stream) const {
  device_->call("have a stream wait for a peer", &DriverCalls::wait_64, of(stream), word,
                std::uint64_t{1}, unsigned{CU_STREAM_WAIT_VALUE_GEQ});
}

/// A message takes one store: a GPU may reorder the stores of others to its memory, and guarantees
/// only that work after a wait sees the store that ended the wait.
void DevicePeers::announce(Rank peer, const std::byte* data, Stream stream) {
  const SharedRegion* const region = region_of(data, 1);
  expects(region != nullptr, "peers see what is announced");
  const CUdeviceptr seen = region->seen_by(peer) + (address_of(data) - region->own());
  store(word_at(peer, offsetof(Mailbox, message)), seen, stream);
}

void DevicePeers::await(Rank peer, Stream stream) {
  await_nonzero(own_word(peer, offsetof(Mailbox, message)), stream);
}

/// Clears the own mailbox before the peer may announce another message.
void DevicePeers::release(Rank peer, Stream stream) {
  store(own_word(peer, offsetof(Mailbox, message)), 0, stream);
  store(word_at(peer, offsetof(Mailbox, was_read)), 1, stream);
}

void DevicePeers::await_release(Rank peer, Stream stream) {
  await_nonzero(own_word(peer, offsetof(Mailbox, was_read)), stream);
  store(own_word(peer, offsetof(Mailbox, was_read)), 0, stream);
}

void DevicePeers::fold(const Fold& work, std::span<const PeerOperand> peers, Stream stream) {
  std::vector<PeerAddress> addresses;
  for (const auto& [operand, peer, offset] : peers)
    addresses.push_back(
        {.operand = operand,
         .cell = reinterpret_cast<void*>(own_word(peer, offsetof(Mailbox, message))),
         .offset = offset});
  enqueue_fold(*device_, work, of(stream), addresses);
}

/// Checks the words by which peers report failures, before their streams continue with wrong
/// results.
void DevicePeers::check() {
  constexpr const char* kRead = "read memory of a GPU";
  std::vector<Mailbox> mailboxes(static_cast<std::size_t>(ranks_.size()));
  device_->call(kRead, &DriverCalls::copy, address_of(mailboxes.data()), mailboxes_.own(),
                mailboxes_.bytes(), service_.get());
  await_service(kRead);
  const auto failed =
      std::ranges::find_if(mailboxes, [](const Mailbox& each) { return each.has_failed != 0; });
  if (failed == mailboxes.end()) return;
  const auto rank = static_cast<Rank>(failed - mailboxes.begin());
  throw Error{ErrorCode::aborted, "rank " + std::to_string(rank) + " has given up", rank};
}

/// Stores a value from the host. The caller has made the context current, as for is_service_done.
void DevicePeers::store_now(CUdeviceptr to, std::uint64_t value) const noexcept {
  device_->driver().calls().write_64(service_.get(), to, value, CU_STREAM_WRITE_VALUE_DEFAULT);
}

/// Polls the service stream. If the program has many streams, one that waits for peers may block
/// it.
bool DevicePeers::is_service_done(Clock::time_point deadline) const noexcept {
  return poll_until(deadline, [this] {
    return device_->driver().calls().query(service_.get()) != CUDA_ERROR_NOT_READY;
  });
}

void DevicePeers::await_service(const char* what) const {
  const Device::Current current{*device_};
  if (!is_service_done(deadline_in(patience_)))
    throw Error{ErrorCode::timeout, std::string{"cannot "} + what +
                                        " in time: its streams wait for other ranks; set "
                                        "CUDA_DEVICE_MAX_CONNECTIONS to more than 8"};
  device_->call(what, &DriverCalls::query, service_.get());
}

/// Stores the values that streams wait for, repeatedly, since streams set these words to zero
/// again. The streams then read arbitrary data, but from existing memory: no message is longer than
/// the scratch.
template <class Ended>
void DevicePeers::end_waits(Duration patience, Ended ended) noexcept {
  is_aborted_ = true;
  const Clock::time_point deadline = deadline_in(patience);
  device_->within([&] {
    for (Rank peer = 0; peer < ranks_.size(); ++peer)
      store_now(word_at(peer, offsetof(Mailbox, has_failed)), 1);
    static_cast<void>(poll_until(deadline, [&] {
      if (!is_service_done(deadline) || ended()) return true;
      for (Rank peer = 0; peer < ranks_.size(); ++peer) {
        store_now(own_word(peer, offsetof(Mailbox, message)), scratch_.own());
        store_now(own_word(peer, offsetof(Mailbox, was_read)), 1);
      }
      return false;
    }));
  });
}

/// Also ends a call that failed while it was enqueued.
void DevicePeers::abort() noexcept {
  is_aborted_ = true;
  const Stream current = std::exchange(current_, {});
  bool is_cut_short = false;
  try {
    is_cut_short = current.is_some() && !device_->is_captured(of(current));
    if (is_cut_short) last_call_->record(of(current));
  } catch (const std::exception&) {  // the end waits for the calls before
  }
  const bool has_graphs = std::exchange(has_graphs_, false);
  if (!is_cut_short && !has_graphs && !has_calls_) return;
  end_waits(has_graphs ? kEndOfGraphs : kEndOfStreams, [&] {
    if (has_graphs) return false;
    if (is_cut_short) return device_->driver().calls().query(of(current)) != CUDA_ERROR_NOT_READY;
    return has_passed();
  });
}

}  // namespace tutti::v0::cuda

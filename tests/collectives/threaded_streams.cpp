#include "tests/collectives/threaded_streams.hpp"
#include "tests/support/patience.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>

#include <tutti/error.hpp>
#include <tutti/spi/stream_peers.hpp>

namespace tutti::harness {
namespace {

constexpr int kRubbish = 0xa5;

/// All operations enqueued before it have run.
class Mark final : public StreamMark {
 public:
  [[nodiscard]] bool is_done() override { return true; }
};

/// Memory of all ranks, of which each one reads what others announce. Half of it passes for memory
/// that they do not see.
class ThreadedPeers final : public StreamPeers {
 public:
  ThreadedPeers(StreamHub& hub, Rank self) : hub_{hub}, self_{self} {}

  [[nodiscard]] std::size_t scratch_bytes() const noexcept override { return std::size_t{1} << 30; }
  [[nodiscard]] bool are_seen(const std::byte* data, std::size_t) const noexcept override {
    return reinterpret_cast<std::uintptr_t>(data) % 128 < 64;
  }
  void begin(Stream) override {}
  void end(Stream) override {
    if (!lent_.empty()) throw Error{ErrorCode::bug, "what was lent is not given back"};
  }
  [[nodiscard]] std::byte* acquire(std::size_t bytes) override {
    return lent_.emplace_back(std::make_unique<std::byte[]>(bytes)).get();
  }
  void give_back() noexcept override { lent_.clear(); }
  void announce(Rank peer, const std::byte* data, Stream) override {
    hub_.announce(self_, peer, data);
  }
  void await(Rank peer, Stream) override { static_cast<void>(hub_.await(peer, self_)); }
  void release(Rank peer, Stream) override { hub_.release(peer, self_); }
  void await_release(Rank peer, Stream) override { hub_.await_release(self_, peer); }
  void check() override { hub_.check(); }
  void fold(const Fold& work, std::span<const PeerOperand> peers, Stream) override {
    std::vector<const void*> operands{work.operands.begin(), work.operands.end()};
    for (const PeerOperand& there : peers)
      operands[there.operand] = hub_.await(there.peer, self_) + there.offset;
    if (work.op != nullptr && !peers.empty()) hub_.count_fold();
    Fold own = work;
    own.operands = operands;
    memory_->fold(own);
  }

 private:
  StreamHub& hub_;
  Rank self_;
  std::shared_ptr<Memory> memory_ = make_host_memory();
  std::vector<std::unique_ptr<std::byte[]>> lent_{};
};

class ThreadedStreams final : public StreamTransport {
 public:
  ThreadedStreams(StreamHub& hub, Rank self) : hub_{hub}, self_{self}, peers_{hub, self} {}

  [[nodiscard]] std::string name() const override { return "threads"; }
  [[nodiscard]] CostModel cost_model() const override {
    return {.costs = kDefaultCosts, .origin = "assumed of threads"};
  }
  void check(Stream, std::span<const std::byte>, std::span<std::byte>) override { hub_.check(); }
  void check_health() const override { hub_.check(); }
  [[nodiscard]] std::byte* allocate(std::size_t bytes, Stream) override {
    std::byte* const data = memory_->allocate(bytes);
    std::memset(data, kRubbish, bytes);
    sizes_[data] = bytes;
    hub_.count(1);
    return data;
  }
  void deallocate(std::byte* data, Stream) noexcept override {
    const auto found = sizes_.find(data);
    std::memset(data, kRubbish, found->second);
    memory_->deallocate(data, found->second);
    sizes_.erase(found);
    hub_.count(-1);
  }
  [[nodiscard]] std::shared_ptr<StreamTransport> divide(Communicator& part) override {
    return hub_.divide(part);
  }
  [[nodiscard]] bool is_on_device(const void* data) const override {
    return hub_.is_on_device(data);
  }
  [[nodiscard]] Stream own_stream() override { return nullptr; }
  [[nodiscard]] bool is_captured(Stream) const override { return false; }
  [[nodiscard]] std::unique_ptr<StreamMark> mark(Stream) override {
    return std::make_unique<Mark>();
  }
  void follow(Stream, Stream) override {}
  void follow(Stream, const StreamMark&) override {}
  [[nodiscard]] std::shared_ptr<std::byte> allocate_registered(std::size_t bytes) override {
    return allocate_zeroed(memory_, bytes);
  }
  void exchange(std::span<const StreamMessage> messages, Stream) override {
    hub_.exchange(self_, messages);
  }
  void clear(std::byte* to, std::size_t bytes, Stream) override { std::memset(to, 0, bytes); }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes, Stream) override {
    memory_->copy(to, from, bytes);
  }
  void fold(const Fold& work, Stream) override { memory_->fold(work); }
  void convert(const Conversion&, Stream) override { expects(false, "gradients have a GPU"); }
  void inspect(const Inspection&, Stream) override { expects(false, "gradients have a GPU"); }
  void adopt_thread() const override {}
  /// The library under these streams has a broadcast, of bytes.
  [[nodiscard]] bool has_native(const NativeCall& call) const override {
    return call.collective == Collective::broadcast && call.type == Datatype::u8;
  }
  void run_native(const NativeCall& call, const std::byte* in, std::byte* out, Stream) override {
    hub_.broadcast(self_, call.root, {in, call.count}, {out, call.count});
  }
  [[nodiscard]] StreamPeers* peers() noexcept override {
    return hub_.shows_memory() ? &peers_ : nullptr;
  }
  void abort(const Error& cause) noexcept override { hub_.abort(cause); }

 private:
  StreamHub& hub_;
  Rank self_;
  ThreadedPeers peers_;
  std::shared_ptr<Memory> memory_ = make_host_memory();
  std::map<std::byte*, std::size_t> sizes_{};
};

}  // namespace

std::shared_ptr<StreamTransport> StreamHub::transport(Rank rank) {
  return std::make_shared<ThreadedStreams>(*this, rank);
}

void StreamHub::match(Queue& sends, Queue& receives) {
  while (!sends.empty() && !receives.empty()) {
    Pending& send = *sends.front();
    Pending& receive = *receives.front();
    if (send.message.bytes != receive.message.bytes) {
      failure_.emplace(ErrorCode::bug, "the ends of a message differ in length");
      return;
    }
    std::memcpy(receive.message.data, send.message.data, send.message.bytes);
    send.is_done = receive.is_done = true;
    sends.pop_front();
    receives.pop_front();
  }
}

void StreamHub::exchange(Rank self, std::span<const StreamMessage> messages) {
  std::unique_lock lock{mutex_};
  if (left_ && (*left_)-- == 0) throw Error{ErrorCode::transport, "the stream is broken"};
  std::vector<Pending> own;
  for (const StreamMessage& message : messages) own.push_back({message});
  for (Pending& pending : own) {
    const bool is_send = pending.message.kind == Transfer::Kind::send;
    const Rank peer = pending.message.peer;
    auto& [sends, receives] = routes_[is_send ? std::pair{self, peer} : std::pair{peer, self}];
    (is_send ? sends : receives).push_back(&pending);
    match(sends, receives);
  }
  changed_.notify_all();
  const auto is_over = [&] { return failure_ || std::ranges::all_of(own, &Pending::is_done); };
  if (!changed_.wait_for(lock, test::kAmple, is_over))
    failure_.emplace(ErrorCode::timeout, "an exchange never ends");
  if (!failure_) return;
  // Nobody may match what is gone.
  routes_.clear();
  changed_.notify_all();
  throw Error{*failure_};
}

void StreamHub::broadcast(Rank self, Rank root, std::span<const std::byte> in,
                          std::span<std::byte> out) {
  ++native_calls_;
  std::vector<StreamMessage> messages;
  if (self != root) messages.push_back({Transfer::Kind::recv, root, out.data(), out.size()});
  for (Rank peer = 0; self == root && peer < size_; ++peer)
    if (peer != root)
      messages.push_back(
          {Transfer::Kind::send, peer, const_cast<std::byte*>(in.data()), in.size()});
  if (self == root && in.data() != out.data()) std::ranges::copy(in, out.begin());
  exchange(self, messages);
}

std::shared_ptr<StreamTransport> StreamHub::divide(Communicator& part) {
  StreamHub* hub = nullptr;
  if (part.rank() == 0) {
    const std::lock_guard lock{mutex_};
    hub = &parts_.emplace_back(part.size());
  }
  part.broadcast(std::span{&hub, 1}, 0);
  return hub->transport(part.rank());
}

template <class Condition>
void StreamHub::wait(std::unique_lock<std::mutex>& lock, Condition condition) {
  if (!changed_.wait_for(lock, test::kAmple, [&] { return failure_ || condition(); }))
    failure_.emplace(ErrorCode::timeout, "a message is never read");
  if (!failure_) return;
  changed_.notify_all();
  throw Error{*failure_};
}

void StreamHub::announce(Rank from, Rank to, const std::byte* data) {
  const std::lock_guard lock{mutex_};
  if (left_ && (*left_)-- == 0) throw Error{ErrorCode::transport, "the stream is broken"};
  Announced& announced = announced_[{from, to}];
  if (announced.data != nullptr) failure_.emplace(ErrorCode::bug, "two messages at a time");
  announced = {data, false};
  ++announcements_;
  changed_.notify_all();
}

const std::byte* StreamHub::await(Rank from, Rank to) {
  std::unique_lock lock{mutex_};
  const Announced& announced = announced_[{from, to}];
  wait(lock, [&] { return announced.data != nullptr && !announced.is_released; });
  return announced.data;
}

void StreamHub::release(Rank from, Rank to) {
  const std::lock_guard lock{mutex_};
  announced_[{from, to}].is_released = true;
  changed_.notify_all();
}

void StreamHub::await_release(Rank from, Rank to) {
  std::unique_lock lock{mutex_};
  Announced& announced = announced_[{from, to}];
  wait(lock, [&] { return announced.is_released; });
  announced = {};
}

void StreamHub::abort(const Error& cause) noexcept {
  const std::lock_guard lock{mutex_};
  if (!failure_) failure_ = cause;
  changed_.notify_all();
}

void StreamHub::check() {
  const std::lock_guard lock{mutex_};
  if (failure_) throw Error{*failure_};
}

void StreamHub::count(int change) {
  const std::lock_guard lock{mutex_};
  live_ += change;
}

}  // namespace tutti::harness

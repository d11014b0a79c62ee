#include "threaded_streams.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include <tutti/error.hpp>

namespace tutti::harness {
namespace {

constexpr std::chrono::seconds kPatience{20};
constexpr int kRubbish = 0xa5;

/// What is enqueued here has run.
class Mark final : public StreamMark {
 public:
  [[nodiscard]] bool is_done() override { return true; }
};

class ThreadedStreams final : public StreamTransport {
 public:
  ThreadedStreams(StreamHub& hub, Rank self) : hub_{hub}, self_{self} {}

  [[nodiscard]] std::string name() const override { return "threads"; }
  [[nodiscard]] Tariff tariff() const override {
    return {.costs = kDefaultCosts, .origin = "assumed of threads"};
  }
  void check(Stream, std::span<const std::byte>, std::span<std::byte>) override { hub_.check(); }
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
  /// The library under these streams has a broadcast, of bytes.
  [[nodiscard]] bool has_native(const NativeCall& call) const override {
    return call.collective == Collective::broadcast && call.type == Datatype::u8;
  }
  void run_native(const NativeCall& call, const std::byte* in, std::byte* out, Stream) override {
    hub_.broadcast(self_, call.root, {in, call.count}, {out, call.count});
  }
  void abort(const Error& cause) noexcept override { hub_.abort(cause); }

 private:
  StreamHub& hub_;
  Rank self_;
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
  if (!changed_.wait_for(lock, kPatience, is_over))
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

#include "fabric.hpp"

#include <thread>
#include <utility>

#include "base/lock_by.hpp"
#include "hub.hpp"
#include "wake_up.hpp"

namespace tutti::tcp {
namespace {

// The number of tags, over which the executor spreads its messages. More would gain nothing.
constexpr std::uint32_t kTags = 1U << 30;

/// One communicator's view of the links.
class TcpTransport final : public Transport {
 public:
  TcpTransport(std::shared_ptr<Fabric> fabric, Hub& hub, std::unique_ptr<Port> port,
               std::shared_ptr<FailureSignal> failure_signal, bool oversubscribed)
      : fabric_{std::move(fabric)}, hub_{hub}, port_{std::move(port)}, failure_signal_{std::move(
                                                                           failure_signal)},
        is_oversubscribed_{oversubscribed || hub.options().oversubscribed},
        capabilities_{.name = "tcp",
                      .tags = kTags,
                      .combines = true,
                      .shorter = true,
                      .idle_spins = oversubscribed ? 1 : hub.options().idle_spins} {}
  ~TcpTransport() override {
    if (hub_.guard().is_forked()) return;
    const std::lock_guard lock{hub_.mutex()};
    // After a failure since the last poll, the end does not wait for the peers either.
    if (failure_signal_->is_raised())
      port_->fail({ErrorCode::aborted, "the communicator has failed"});
    hub_.stop(*port_);
    hub_.close(*port_);
  }

  [[nodiscard]] Rank self() const noexcept override { return port_->self; }
  [[nodiscard]] int size() const noexcept override {
    return static_cast<int>(port_->members.size());
  }
  [[nodiscard]] const Capabilities& capabilities() const noexcept override { return capabilities_; }
  [[nodiscard]] Duration now() const noexcept override {
    return std::chrono::steady_clock::now().time_since_epoch();
  }

  void post(std::span<const Transfer> transfers) override {
    failure_signal_->check();
    const std::lock_guard lock{hub_.mutex()};
    for (const Transfer& transfer : transfers) {
      check();
      hub_.post(*port_, transfer);
    }
    hub_.flush(*port_, transfers);
    unexpected_ = port_->matcher.unexpected();
    check();
  }

  void poll() override {
    failure_signal_->check();
    const std::lock_guard lock{hub_.mutex()};
    if (!port_->failure && port_->done.empty()) hub_.progress(*port_);
    unexpected_ = port_->matcher.unexpected();
    if (port_->failure) return throw_failure();
    if (!hub_.send_accepted()) return;
    for (const std::uint64_t cookie : port_->done) complete(cookie);
    port_->done.clear();
  }

  // Leaves the core and the mutex to others until a link has something.
  void idle_wait() override {
    if (is_oversubscribed_ || wake_up_.number() >= 0) {
      const std::lock_guard lock{hub_.mutex()};
      hub_.list_awaited(*port_, awaited_);
    }
    if (wake_up_.number() >= 0) awaited_.push_back({wake_up_.number(), POLLIN, 0});
    if (awaited_.empty()) return std::this_thread::yield();
    const auto seconds = std::chrono::floor<std::chrono::seconds>(hub_.options().idle_wait);
    const timespec limit{.tv_sec = seconds.count(),
                         .tv_nsec = (hub_.options().idle_wait - seconds).count()};
    ::ppoll(awaited_.data(), awaited_.size(), &limit, nullptr);
    if (wake_up_.number() >= 0) wake_up_.reset();
  }

  void expect_idle_waits() override { wake_up_.open(); }
  void end_idle_wait() noexcept override { wake_up_.signal(); }

  void find_unmatched(std::uint64_t pending, bool thoroughly) override {
    if (hub_.guard().is_forked() || (unexpected_ == 0 && !thoroughly)) return;
    const std::lock_guard lock{hub_.mutex()};
    hub_.find_unmatched(*port_, pending, thoroughly);
    if (port_->failure) throw_failure();
  }

  [[nodiscard]] std::optional<Unexpected> probe(Rank from, std::uint32_t tag) override {
    failure_signal_->check();
    const std::lock_guard lock{hub_.mutex()};
    std::optional<Unexpected> found;
    if (!port_->failure) found = hub_.probe(*port_, from, tag);
    unexpected_ = port_->matcher.unexpected();
    if (port_->failure) throw_failure();
    return found;
  }

  bool abort(const Error& cause) noexcept override {
    if (hub_.guard().is_forked()) return true;  // no peer writes into a child's memory
    failure_signal_->raise(cause);
    const std::lock_guard lock{hub_.mutex()};
    port_->fail(cause);
    hub_.stop(*port_);
    return true;
  }

 private:
  void check() const {
    if (port_->failure) throw Error{*port_->failure};
  }
  // A rank may have closed its connections because of a failure elsewhere. The failure signal then
  // reports that failure to this rank too.
  void throw_failure() {
    if (failed_ == Duration::zero()) failed_ = now();
    if (port_->failure->code() != ErrorCode::peer_dead || now() - failed_ >= kSignalPatience)
      check();
  }

  std::shared_ptr<Fabric> fabric_;
  Hub& hub_;  // the fabric's
  std::unique_ptr<Port> port_;
  std::shared_ptr<FailureSignal> failure_signal_;
  bool is_oversubscribed_;
  Capabilities capabilities_;
  Duration failed_{0};             // when the failure was first seen
  std::vector<pollfd> awaited_{};  // scratch of idle_wait
  WakeUp wake_up_{};               // of idle_wait
};

}  // namespace

Fabric::Fabric(Rank self, const std::vector<Peer>& peers, const Options& options)
    : hub_{std::make_unique<Hub>(self, peers, options)} {}
Fabric::~Fabric() = default;

bool Fabric::leave(std::chrono::steady_clock::time_point deadline) noexcept {
  if (hub_->guard().is_forked()) return true;
  const std::unique_lock lock = lock_by(hub_->mutex(), deadline);
  if (lock) hub_->end_links();
  return lock.owns_lock();
}

std::unique_ptr<Transport> Fabric::transport(std::uint64_t communicator,
                                             const std::vector<Rank>& members,
                                             std::shared_ptr<FailureSignal> failure_signal,
                                             bool oversubscribed) {
  expects(failure_signal != nullptr, "a transport was given no failure signal");
  hub_->guard().check();
  std::shared_ptr<Fabric> self = shared_from_this();
  const std::lock_guard lock{hub_->mutex()};
  return std::make_unique<TcpTransport>(std::move(self), *hub_, hub_->open(communicator, members),
                                        std::move(failure_signal), oversubscribed);
}

void Fabric::add(const std::vector<Peer>& peers) {
  const std::lock_guard lock{hub_->mutex()};
  hub_->add(peers);
}

std::uint64_t Fabric::dropped() const {
  const std::lock_guard lock{hub_->mutex()};
  return hub_->dropped();
}

}  // namespace tutti::tcp

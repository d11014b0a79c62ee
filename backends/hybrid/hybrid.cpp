#include "hybrid.hpp"

#include <algorithm>
#include <optional>
#include <thread>
#include <vector>

namespace tutti::hybrid {
namespace {

constexpr unsigned kPollsPerLook = 64;
/// The sleep if several parts have pending transfers: none wakes a thread that sleeps in another.
constexpr std::chrono::microseconds kShortSleep{50};

/// The first member is the local one.
constexpr std::size_t kLocal = 0;

Capabilities common(const Parts& parts, const std::vector<bool>& is_local) {
  const Capabilities& local = parts.local->capabilities();
  const bool is_one_host = std::ranges::find(is_local, false) == is_local.end();
  Capabilities common = local;  // other parts move messages, even if the local one sees memory
  std::vector<std::string> transports;
  for (const auto& member : parts.remote) {
    const Capabilities& remote = member->capabilities();
    transports.push_back(local.name + "+" + remote.name);
    common.name += (transports.size() == 1 ? "+" : "|") + remote.name;
    common.tags = std::min(common.tags, remote.tags);
    common.combines = common.combines && remote.combines;
    common.shorter = common.shorter && remote.shorter;
    common.threads = common.threads && remote.threads;
    if (!is_one_host) common.idle_spins = std::min(common.idle_spins, remote.idle_spins);
  }
  if (transports.size() > 1) common.transports = std::move(transports);
  return common;
}

class HybridTransport final : public Transport {
 public:
  explicit HybridTransport(Parts parts)
      : is_local_{std::move(parts.is_local)}, failure_signal_{std::move(parts.failure_signal)},
        capabilities_{common(parts, is_local_)} {
    members_.push_back({std::move(parts.local)});
    for (auto& remote : parts.remote) members_.push_back({std::move(remote)});
  }

  [[nodiscard]] Rank self() const noexcept override { return local().self(); }
  [[nodiscard]] int size() const noexcept override { return local().size(); }
  [[nodiscard]] const Capabilities& capabilities() const noexcept override { return capabilities_; }
  [[nodiscard]] Duration now() const noexcept override { return local().now(); }

  void post(std::span<const Transfer> transfers) override {
    if (failure_) return throw_failure();
    try {
      post_runs(transfers);
    } catch (const Error& error) {
      fail(error);
      throw_failure();
    }
  }

  void poll() override {
    if (failure_) return throw_failure();
    try {
      poll_members();
      unexpected_ = 0;
      for (const MemberTransport& member : members_)
        unexpected_ += member.transport->has_unexpected() ? 1U : 0U;
    } catch (const Error& error) {
      fail(error);
      throw_failure();
    }
  }

  [[nodiscard]] std::byte* open_result(AccessId access, std::uint32_t ordinal,
                                       std::size_t bytes) override {
    return local().open_result(access, ordinal, bytes);
  }
  void signal(AccessId access, bool is_stored) override { local().signal(access, is_stored); }

  // While this thread sleeps in one member, it does not see the others. The remote members' work
  // for other ranks has waited then, so the next poll polls them.
  void idle_wait() override {
    std::size_t busy = kLocal;
    std::size_t count = 0;
    for (std::size_t i = 0; i < members_.size(); ++i)
      if (members_[i].outstanding > 0) busy = i, ++count;
    if (failure_ || count > 1) {
      if (waits_idle_) return std::this_thread::sleep_for(kShortSleep);
      return std::this_thread::yield();
    }
    if (busy == kLocal) skipped_ = kPollsPerLook - 1;
    members_[busy].transport->idle_wait();
  }

  void expect_idle_waits() override {
    waits_idle_ = true;
    for (const MemberTransport& member : members_) member.transport->expect_idle_waits();
  }
  void end_idle_wait() noexcept override {
    for (const MemberTransport& member : members_) member.transport->end_idle_wait();
  }

  void find_unmatched(std::uint64_t pending, bool thoroughly) override {
    for (const MemberTransport& member : members_)
      member.transport->find_unmatched(pending, thoroughly);
  }

  // A call between two ranks receives the message that probe finds, and has the first route.
  [[nodiscard]] std::optional<Unexpected> probe(Rank from, std::uint32_t tag) override {
    if (from != any_rank) return members_[member_to(from, 0)].transport->probe(from, tag);
    is_remote_first_ = !is_remote_first_;
    const std::size_t first = is_remote_first_ ? 1 : kLocal;
    const auto found = members_[first].transport->probe(from, tag);
    return found ? found : members_[1 - first].transport->probe(from, tag);
  }

  // All have the same failure signal, which the first call raises.
  bool abort(const Error& cause) noexcept override {
    bool is_quiet = true;
    for (const MemberTransport& member : members_)
      is_quiet = member.transport->abort(cause) && is_quiet;
    return is_quiet;
  }

 private:
  struct MemberTransport {
    std::unique_ptr<Transport> transport;
    std::size_t outstanding = 0;  // pending transfers
  };

  [[nodiscard]] Transport& local() const noexcept { return *members_[kLocal].transport; }
  [[nodiscard]] std::size_t member_to(Rank peer, std::uint8_t route) const {
    expects(peer >= 0 && peer < size(), "a transfer names no rank of the group");
    expects(route + 1U < members_.size(), "a transfer names no route of the transport");
    return is_local_[static_cast<std::size_t>(peer)] ? kLocal : route + 1U;
  }

  // Runs of transfers for the same member stay together.
  void post_runs(std::span<const Transfer> transfers) {
    while (!transfers.empty()) {
      const std::size_t to = member_to(transfers.front().peer, transfers.front().route);
      const auto end = std::ranges::find_if(transfers, [&](const Transfer& transfer) {
        return member_to(transfer.peer, transfer.route) != to;
      });
      const auto count = static_cast<std::size_t>(end - transfers.begin());
      const auto run = transfers.first(count);
      MemberTransport& member = members_[to];
      member.transport->post(to == kLocal ? run : moved(run));
      member.outstanding += count;
      if (to != kLocal) remote_ += count;
      complete_all(member);
      transfers = transfers.subspan(count);
    }
  }

  // Turns waits into receives, since ranks of other hosts do not see this memory.
  std::span<const Transfer> moved(std::span<const Transfer> transfers) {
    const auto is_plain = [](const Transfer& transfer) {
      return transfer.kind != Transfer::Kind::wait && transfer.result.data == nullptr;
    };
    if (std::ranges::all_of(transfers, is_plain)) return transfers;
    moved_.assign(transfers.begin(), transfers.end());
    for (Transfer& transfer : moved_) {
      if (transfer.kind == Transfer::Kind::wait) transfer.kind = Transfer::Kind::recv;
      transfer.result = {};
    }
    return moved_;
  }

  // A poll of a network costs a system call, so a remote member is polled only if it has pending
  // transfers, and sometimes for its work for other ranks. The parts take turns at being first: a
  // part that always has a completion must not keep the others from being polled.
  void poll_members() {
    const bool looks = remote_ > 0 || ++skipped_ % kPollsPerLook == 0;
    if (!looks) return poll_member(members_[kLocal]);
    const bool looks_at_all = ++looks_ % kPollsPerLook == 0 || remote_ == 0;
    first_ = (first_ + 1) % members_.size();
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const std::size_t at = (first_ + i) % members_.size();
      if (at == kLocal || looks_at_all || members_[at].outstanding > 0) poll_member(members_[at]);
    }
  }
  void poll_member(MemberTransport& member) {
    member.transport->poll();
    complete_all(member);
  }
  void complete_all(MemberTransport& member) {
    const std::size_t before = member.outstanding;
    for (; member.transport->completed() > 0; member.transport->pop_oldest(), --member.outstanding)
      complete(member.transport->oldest_completed());
    if (&member != members_.data()) remote_ -= before - member.outstanding;
  }

  void fail(const Error& error) {
    failure_ = error;
    failed_at_ = now();
  }

  // If several ranks die at once, each member may see another one die. The control plane sees all
  // of them, and gives all ranks the same cause, so this waits for it first.
  void throw_failure() const {
    failure_signal_->check();
    if (failure_->code() == ErrorCode::peer_dead && now() - failed_at_ < kSignalPatience) return;
    throw Error{*failure_};
  }

  std::vector<bool> is_local_;
  std::shared_ptr<FailureSignal> failure_signal_;
  Capabilities capabilities_;
  std::vector<MemberTransport> members_{};  // the local one, then one for each route
  std::vector<Transfer> moved_{};           // of the last post, for another member
  std::size_t remote_ = 0;                  // transfers of all remote parts
  unsigned skipped_ = 0;                    // local polls since the last one of a remote member
  unsigned looks_ = 0;                      // polls of remote parts
  std::size_t first_ = kLocal;              // the member that the last poll began with
  bool is_remote_first_ = false;
  bool waits_idle_ = false;
  std::optional<Error> failure_{};  // the first error of a member
  Duration failed_at_{};
};

}  // namespace

std::unique_ptr<Transport> make_transport(Parts parts) {
  const auto self = static_cast<std::size_t>(parts.local->self());
  expects(parts.failure_signal != nullptr, "a hybrid was given no failure signal");
  expects(!parts.remote.empty(), "a hybrid was given no member for other hosts");
  const auto fits = [&](const std::unique_ptr<Transport>& member) {
    return member->self() == parts.local->self() && member->size() == parts.local->size();
  };
  expects(std::ranges::all_of(parts.remote, fits) &&
              parts.is_local.size() == static_cast<std::size_t>(parts.local->size()),
          "the parts of a hybrid are of different communicators");
  expects(parts.is_local[self], "a hybrid reaches the own rank through its local member");
  return std::make_unique<HybridTransport>(std::move(parts));
}

}  // namespace tutti::hybrid

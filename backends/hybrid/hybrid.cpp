#include "hybrid.hpp"

#include <algorithm>
#include <optional>
#include <thread>
#include <vector>

namespace tutti::hybrid {
namespace {

constexpr unsigned kPollsPerLook = 64;
/// Where both parts have something pending: neither wakes a thread that sleeps in the other one.
constexpr std::chrono::microseconds kShortSleep{50};

Capabilities common(const Parts& parts) {
  const Capabilities& local = parts.local->capabilities();
  const Capabilities& remote = parts.remote->capabilities();
  const bool is_one_host = std::ranges::find(parts.is_local, false) == parts.is_local.end();
  return {
      .name = local.name + "+" + remote.name,
      .tags = std::min(local.tags, remote.tags),
      .combines = local.combines && remote.combines,
      .visible = local.visible,  // what goes by the other part is moved
      .threads = local.threads && remote.threads,
      .idle_spins = is_one_host ? local.idle_spins : std::min(local.idle_spins, remote.idle_spins)};
}

class HybridTransport final : public Transport {
 public:
  explicit HybridTransport(Parts parts) : parts_{std::move(parts)}, capabilities_{common(parts_)} {}

  [[nodiscard]] Rank self() const noexcept override { return parts_.local->self(); }
  [[nodiscard]] int size() const noexcept override { return parts_.local->size(); }
  [[nodiscard]] const Capabilities& capabilities() const noexcept override { return capabilities_; }
  [[nodiscard]] Duration now() const noexcept override { return parts_.local->now(); }

  void post(std::span<const Transfer> transfers) override {
    if (failure_) return complain();
    try {
      post_runs(transfers);
    } catch (const Error& error) {
      fail(error);
      complain();
    }
  }

  void poll() override {
    if (failure_) return complain();
    try {
      poll_parts();
      unclaimed_ =
          (parts_.local->has_unclaimed() ? 1U : 0U) + (parts_.remote->has_unclaimed() ? 1U : 0U);
    } catch (const Error& error) {
      fail(error);
      complain();
    }
  }

  [[nodiscard]] std::byte* open_result(AccessId access, std::uint32_t ordinal,
                                       std::size_t bytes) override {
    return parts_.local->open_result(access, ordinal, bytes);
  }
  void signal(AccessId access, bool is_stored) override { parts_.local->signal(access, is_stored); }

  // Asleep in one part, this thread would see nothing of the other. What it has to do in the
  // network for others has waited, so the next poll looks.
  void doze() override {
    if (failure_ || (outstanding_ > 0 && near_ > 0)) {
      if (dozes_) return std::this_thread::sleep_for(kShortSleep);
      return std::this_thread::yield();
    }
    if (outstanding_ > 0) return parts_.remote->doze();
    skipped_ = kPollsPerLook - 1;
    parts_.local->doze();
  }

  void expect_dozing() override {
    dozes_ = true;
    parts_.local->expect_dozing();
    parts_.remote->expect_dozing();
  }
  void end_doze() noexcept override {
    parts_.local->end_doze();
    parts_.remote->end_doze();
  }

  void find_strays(std::uint64_t pending, bool thoroughly) override {
    parts_.local->find_strays(pending, thoroughly);
    parts_.remote->find_strays(pending, thoroughly);
  }

  [[nodiscard]] std::optional<Unexpected> probe(Rank from, std::uint32_t tag) override {
    if (from != any_rank) return (is_local(from) ? parts_.local : parts_.remote)->probe(from, tag);
    is_remote_first_ = !is_remote_first_;
    const auto found = (is_remote_first_ ? parts_.remote : parts_.local)->probe(from, tag);
    return found ? found : (is_remote_first_ ? parts_.local : parts_.remote)->probe(from, tag);
  }

  // Both have the same alarm, which the first call sets off.
  bool abort(const Error& cause) noexcept override {
    const bool local = parts_.local->abort(cause);
    return parts_.remote->abort(cause) && local;
  }

 private:
  [[nodiscard]] bool is_local(Rank peer) const {
    expects(peer >= 0 && peer < size(), "a transfer names no rank of the group");
    return parts_.is_local[static_cast<std::size_t>(peer)];
  }

  // Runs of transfers that go the same way stay together.
  void post_runs(std::span<const Transfer> transfers) {
    while (!transfers.empty()) {
      const bool local = is_local(transfers.front().peer);
      const auto end = std::ranges::find_if(
          transfers, [&](const Transfer& transfer) { return is_local(transfer.peer) != local; });
      const auto count = static_cast<std::size_t>(end - transfers.begin());
      const auto run = transfers.first(count);
      if (local) parts_.local->post(run);
      else parts_.remote->post(moved(run));
      (local ? near_ : outstanding_) += count;
      if (local) take_all(*parts_.local, near_);
      else take_all(*parts_.remote, outstanding_);
      transfers = transfers.subspan(count);
    }
  }

  // Other hosts see nothing of our memory.
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

  // Asking the network costs a system call, so it is asked where something is expected of it, and
  // now and then for what it still has to do for others. Then the two take turns at being first,
  // lest one that always has something to say keeps the other from being asked.
  void poll_parts() {
    if (outstanding_ == 0 && ++skipped_ % kPollsPerLook != 0) return poll_part(false);
    is_remote_first_ = !is_remote_first_;
    poll_part(is_remote_first_);
    poll_part(!is_remote_first_);
  }
  void poll_part(bool remote) {
    Transport& part = remote ? *parts_.remote : *parts_.local;
    part.poll();
    take_all(part, remote ? outstanding_ : near_);
  }
  void take_all(Transport& part, std::size_t& outstanding) {
    for (; part.completed() > 0; part.take_oldest(), --outstanding)
      complete(part.oldest_completed());
  }

  void fail(const Error& error) {
    failure_ = error;
    failed_at_ = now();
  }

  // Where several ranks die at once, each part sees another one die. Control sees all of them, and
  // says the same on all ranks; so it has the first word.
  void complain() const {
    parts_.alarm->check();
    if (failure_->code() == ErrorCode::peer_dead && now() - failed_at_ < kAlarmPatience) return;
    throw Error{*failure_};
  }

  Parts parts_;
  std::vector<Transfer> moved_{};  // of the last post, for the other part
  Capabilities capabilities_;
  std::size_t outstanding_ = 0;  // transfers of the remote part
  std::size_t near_ = 0;         // transfers of the local part
  unsigned skipped_ = 0;         // polls that did not ask it
  bool is_remote_first_ = false;
  bool dozes_ = false;
  std::optional<Error> failure_{};  // what a part threw first
  Duration failed_at_{};
};

}  // namespace

std::unique_ptr<Transport> make_transport(Parts parts) {
  const auto self = static_cast<std::size_t>(parts.local->self());
  expects(parts.alarm != nullptr, "a hybrid was given no alarm");
  expects(parts.local->self() == parts.remote->self() &&
              parts.local->size() == parts.remote->size() &&
              parts.is_local.size() == static_cast<std::size_t>(parts.local->size()),
          "the parts of a hybrid are of different communicators");
  expects(parts.is_local[self], "a hybrid reaches the own rank through its local part");
  return std::make_unique<HybridTransport>(std::move(parts));
}

}  // namespace tutti::hybrid

#include "hybrid.hpp"

#include <algorithm>

namespace tutti::hybrid {
namespace {

constexpr unsigned kPollsPerLook = 64;

class HybridTransport final : public Transport {
 public:
  explicit HybridTransport(Parts parts) : parts_{std::move(parts)} {
    const Capabilities& local = parts_.local->capabilities();
    const Capabilities& remote = parts_.remote->capabilities();
    capabilities_ = {.name = local.name + "+" + remote.name,
                     .tags = std::min(local.tags, remote.tags),
                     .sinks = local.sinks && remote.sinks,
                     .hosts = parts_.hosts,
                     .idle_spins = std::min(local.idle_spins, remote.idle_spins)};
  }

  [[nodiscard]] Rank self() const noexcept override { return parts_.local->self(); }
  [[nodiscard]] int size() const noexcept override { return parts_.local->size(); }
  [[nodiscard]] const Capabilities& capabilities() const noexcept override { return capabilities_; }
  [[nodiscard]] Duration now() const noexcept override { return parts_.local->now(); }

  // Runs of transfers that go the same way stay together.
  void post(std::span<const Transfer> transfers) override {
    while (!transfers.empty()) {
      const bool local = is_local(transfers.front());
      const auto end = std::ranges::find_if(
          transfers, [&](const Transfer& transfer) { return is_local(transfer) != local; });
      const auto count = static_cast<std::size_t>(end - transfers.begin());
      (local ? parts_.local : parts_.remote)->post(transfers.first(count));
      if (!local) outstanding_ += count;
      transfers = transfers.subspan(count);
    }
  }

  // Asking the network costs a system call, so it is asked where something is expected of it, and
  // now and then for what it still has to do for others.
  [[nodiscard]] std::size_t poll(std::span<Completion> completions) override {
    const std::size_t local = parts_.local->poll(completions);
    if (local == completions.size()) return local;
    if (outstanding_ == 0 && ++skipped_ % kPollsPerLook != 0) return local;
    const std::size_t remote = parts_.remote->poll(completions.subspan(local));
    outstanding_ -= remote;
    return local + remote;
  }

  // Both have the same alarm, which the first call sets off.
  bool abort(const Error& cause) noexcept override {
    const bool local = parts_.local->abort(cause);
    return parts_.remote->abort(cause) && local;
  }

 private:
  [[nodiscard]] bool is_local(const Transfer& transfer) const {
    expects(transfer.peer >= 0 && transfer.peer < size(), "a transfer names no rank of the group");
    return parts_.is_local[static_cast<std::size_t>(transfer.peer)];
  }

  Parts parts_;
  Capabilities capabilities_{};
  std::size_t outstanding_ = 0;  // transfers of the remote part
  unsigned skipped_ = 0;         // polls that did not ask it
};

}  // namespace

std::unique_ptr<Transport> make_transport(Parts parts) {
  return std::make_unique<HybridTransport>(std::move(parts));
}

}  // namespace tutti::hybrid

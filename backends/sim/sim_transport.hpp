/// @file
/// The transport of one rank of a simulated cluster.
#pragma once

#include <memory>
#include <new>
#include <utility>

#include "network.hpp"

namespace tutti::v0::sim {

/// One rank's view of the network.
class SimTransport : public Transport {
 public:
  SimTransport(std::shared_ptr<Network> network, Rank self)
      : network_{std::move(network)}, self_{self} {
    capabilities_.name = "sim";
    capabilities_.tags = network_->options().tags;
    capabilities_.shorter = true;
    capabilities_.combines = network_->options().combines;
    capabilities_.visible = network_->options().visible;
    capabilities_.idle_spins = 1;  // one thread drives all ranks: read the clock at every poll
  }
  ~SimTransport() override { network_->close(self_); }

  [[nodiscard]] Rank self() const noexcept override { return self_; }
  [[nodiscard]] int size() const noexcept override { return network_->options().size; }
  [[nodiscard]] const Capabilities& capabilities() const noexcept override { return capabilities_; }
  [[nodiscard]] Duration now() const noexcept override { return network_->now(); }
  void post(std::span<const Transfer> transfers) override { network_->post(self_, transfers); }
  using Transport::poll;
  void poll() override {
    unexpected_ = network_->unclaimed(self_);
    for (const Completion& completion : network_->poll(self_)) complete(completion);
  }
  void find_unmatched(std::uint64_t pending, bool /*thoroughly*/) override {
    network_->find_unmatched(self_, pending);
  }
  [[nodiscard]] std::optional<Unexpected> probe(Rank from, std::uint32_t tag) override {
    return network_->probe(self_, from, tag);
  }
  [[nodiscard]] std::byte* open_result(AccessId access, std::uint32_t ordinal,
                                       std::size_t bytes) override {
    return network_->open_result(self_, access, ordinal, bytes);
  }
  void signal(AccessId access, bool is_stored) override {
    network_->signal(self_, access, is_stored);
  }
  bool abort(const Error& cause) noexcept override {
    try {
      network_->abort(self_, cause);
    } catch (const std::bad_alloc&) {
      // Without memory the other ranks get no notice, and fail at their deadlines.
      network_->close(self_);
    }
    return true;
  }

 protected:
  [[nodiscard]] const Network& network() const noexcept { return *network_; }

 private:
  std::shared_ptr<Network> network_;
  Rank self_;
  Capabilities capabilities_{};
};

}  // namespace tutti::v0::sim

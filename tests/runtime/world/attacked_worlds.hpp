/// @file
/// Worlds that intruders attack while they start.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tutti/spi/communicator.hpp>
#include <tutti/spi/memory.hpp>
#include <tutti/tutti.hpp>

#include "runtime/world/world.hpp"
#include "tests/runtime/ranks.hpp"

namespace tutti::test {

/// Delays its rank when all listen: before it gets the others' addresses.
class LateChannel final : public Channel {
 public:
  /// @param channel of the ranks. @param when_all_listen called once.
  LateChannel(std::unique_ptr<Channel> channel, std::function<void()> when_all_listen)
      : channel_{std::move(channel)}, when_all_listen_{std::move(when_all_listen)} {}
  [[nodiscard]] Rank rank() const noexcept override { return channel_->rank(); }
  [[nodiscard]] int size() const noexcept override { return channel_->size(); }
  [[nodiscard]] std::string describe() const override { return channel_->describe(); }
  [[nodiscard]] bool is_private() const noexcept override { return channel_->is_private(); }
  [[nodiscard]] std::vector<std::string> all_gather(std::string_view own,
                                                    Deadline deadline) override {
    auto all = channel_->all_gather(own, deadline);
    if (own.find("tutti-") != own.npos) when_all_listen_();  // where this rank listens
    return all;
  }

 private:
  std::unique_ptr<Channel> channel_;
  std::function<void()> when_all_listen_;
};

/// A world whose ranks are dealt out to two hosts, so that each listens at a port and a Unix
/// socket. @param channel of all ranks. @return it.
inline Communicator besieged_world(Channel& channel) {
  constexpr std::chrono::seconds kConnecting{600};
  constexpr std::chrono::seconds kCall{kAmple};
  runtime::WorldOptions options{.links = {.segment_bytes = std::size_t{1} << 30}};
  options.mesh.host.name += std::to_string(channel.rank() % 2);
  options.mesh.host.boot += std::to_string(channel.rank() % 2);
  options.mesh.interface = "127.0.0.1";
  options.mesh.secret = secret_of(1);
  return make_communicator(
      runtime::World::connect(channel, options, in(kConnecting))->communicator_parts(),
      make_host_memory(), {.timeout = kCall});
}

}  // namespace tutti::test

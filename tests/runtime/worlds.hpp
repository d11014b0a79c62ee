/// @file
/// Worlds of ranks that are threads, some of which pretend to be on other hosts.
#pragma once

#include <functional>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <tutti/spi/communicator.hpp>
#include <tutti/spi/memory.hpp>
#include <tutti/tutti.hpp>

#include "runtime/world/world.hpp"
#include "tests/runtime/links/forwarding_channel.hpp"
#include "tests/runtime/ranks.hpp"

namespace tutti::test {

/// Ranks, and how they connect.
struct Setting {
  int n;
  std::string transports;
  int hosts;  // pretended; ranks are dealt out to them
  bool tls = false;
  int network_megabits = 0;
};

inline std::ostream& operator<<(std::ostream& out, const Setting& setting) {
  return out << setting.n << "_ranks_" << setting.transports << "_" << setting.hosts << "_hosts"
             << (setting.tls ? "_tls" : "");
}

/// Runs a body on every rank of a world. @param patience until it must stand. @param bytes of
/// memory that each rank can share.
inline std::vector<Outcome> in_world(
    const Setting& setting, const std::function<void(Communicator&)>& body,
    milliseconds patience = kAmple, std::size_t bytes = std::size_t{1} << 30,
    const CommunicatorOptions& communicator = {.timeout = kAmple}) {
  const auto channels = local_channels(setting.n, true);
  return run_ranks(setting.n, [&](Rank rank) {
    runtime::WorldOptions options{.transports = runtime::transports_of(setting.transports),
                                  .links = {.segment_bytes = bytes}};
    options.mesh.host.name += std::to_string(rank % setting.hosts);
    options.mesh.host.boot += std::to_string(rank % setting.hosts);
    options.mesh.interface = "127.0.0.1";
    options.links.tls = setting.tls;
    options.network_megabits = setting.network_megabits;
    Channel& channel = *channels[static_cast<std::size_t>(rank)];
    Communicator world = make_communicator(
        runtime::World::connect(channel, options, in(patience))->communicator_parts(),
        make_host_memory(), communicator);
    body(world);
  });
}

/// A channel around another one, into which a test may meddle.
class Meddling final : public ForwardingChannel {
 public:
  /// Gets the number of earlier exchanges, and the text of each rank.
  using Meddle = std::function<void(int, std::vector<std::string>&)>;

  Meddling(Channel& inner, Meddle meddle) : ForwardingChannel{inner}, meddle_{std::move(meddle)} {}
  [[nodiscard]] std::vector<std::string> all_gather(std::string_view own,
                                                    Deadline deadline) override {
    std::vector<std::string> heard = inner_.all_gather(own, deadline);
    meddle_(exchanges_++, heard);
    return heard;
  }

 private:
  Meddle meddle_;
  int exchanges_ = 0;
};

/// Every rank contributes its number times an element's.
inline void check_sums(Communicator& communicator, std::span<const Rank> world_ranks,
                       std::size_t count, std::span<std::int64_t> values) {
  std::int64_t total = 0;
  for (const Rank rank : world_ranks) total += rank + 1;
  const std::int64_t own = world_ranks[static_cast<std::size_t>(communicator.rank())] + 1;
  for (std::size_t i = 0; i < count; ++i) values[i] = own * static_cast<std::int64_t>(i + 1);
  communicator.all_reduce(values.first(count));
  for (std::size_t i = 0; i < count; ++i)
    ASSERT_EQ(values[i], total * static_cast<std::int64_t>(i + 1)) << "element " << i;
}

inline void check_sums(Communicator& communicator, std::span<const Rank> world_ranks) {
  std::vector<std::int64_t> values(100'000);
  for (const std::size_t count : {1U, 100U, 5'000U, 100'000U})
    check_sums(communicator, world_ranks, count, values);
}

inline std::vector<Rank> everyone(int n) {
  std::vector<Rank> ranks(static_cast<std::size_t>(n));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

/// @return the cost model that explain() names.
inline std::string cost_model_of(Communicator& communicator) {
  std::vector<double> values(8);
  const std::string text = communicator.explain(call::all_reduce(values, std::span{values}, sum));
  const std::size_t begin = text.find("\n  at ") + 1;
  return text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace tutti::test

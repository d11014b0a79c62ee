// Every collective over TCP, a thread for each rank, against oracles that share no code with it.
#include <gtest/gtest.h>

#include <tutti/spi/communicator.hpp>
#include <tutti/spi/memory.hpp>

#include "tests/conformance/loopback.hpp"
#include "tests/support/threaded_run.hpp"

namespace tutti::harness {
namespace {

/// The ranks of a communicator over TCP.
class TcpWorld {
 public:
  TcpWorld(int size, const tcp::Options& options) {
    const auto memory = make_host_memory();
    std::vector<Rank> members{};
    for (Rank rank = 0; rank < size; ++rank) members.push_back(rank);
    for (const auto& fabric : conformance::connect_fabrics(size, options))
      communicators_.push_back(make_communicator(
          fabric->transport(1, members, std::make_shared<FailureSignal>()), memory));
  }
  [[nodiscard]] int size() const noexcept { return static_cast<int>(communicators_.size()); }

  /// @return the communicator of each rank.
  [[nodiscard]] std::span<Communicator> ranks() noexcept { return communicators_; }

 private:
  std::vector<Communicator> communicators_{};
};

class TcpCollectives : public ::testing::TestWithParam<int> {};

TEST_P(TcpCollectives, GiveTheRightResults) {
  for (const bool summed : {false, true}) {
    TcpWorld world{GetParam(), {.payload_checksum = summed, .idle_spins = 20}};
    for (int kind = 0; kind < kCollectives; ++kind)
      for (const std::size_t count : {0u, 1u, 7u, 1000u, 40000u, 600000u}) {
        const auto collective = static_cast<Collective>(kind);
        EXPECT_EQ(run_in_threads(world.ranks(),
                                 {.collective = collective,
                                  .size = world.size(),
                                  .counts = cut(count, blocks_of(collective, world.size())),
                                  .root = is_rooted(collective) ? world.size() - 1 : 0,
                                  .model = model_of(Datatype::f32, OperatorKind::sum),
                                  .salt = count}),
                  "");
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, TcpCollectives, ::testing::Values(2, 4));

}  // namespace
}  // namespace tutti::harness

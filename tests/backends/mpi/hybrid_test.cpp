// Shared memory inside a host, MPI between hosts: on one machine, whose ranks pretend to be on two.
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include <tutti/spi/communicator.hpp>

#include "tests/support/patience.hpp"
#include "two_hosts.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

// Every rank contributes its number plus one, times an element's.
void check_sums(Communicator& communicator, std::span<const Rank> members) {
  const std::int64_t total = std::accumulate(members.begin(), members.end(), std::int64_t{0}) +
                             static_cast<std::int64_t>(members.size());
  const std::int64_t own = members[static_cast<std::size_t>(communicator.rank())] + 1;
  for (const std::size_t count : {std::size_t{1}, std::size_t{5000}, std::size_t{300'000}}) {
    std::vector<std::int64_t> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = own * static_cast<std::int64_t>(i + 1);
    communicator.all_reduce(std::span{values});
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(values[i], total * static_cast<std::int64_t>(i + 1)) << "element " << i;
  }
}

std::vector<Rank> everyone(const Communicator& world) {
  std::vector<Rank> ranks(static_cast<std::size_t>(world.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

/// @return the ranks that are equal to the own one modulo a number of colors.
std::vector<Rank> of_color(const Communicator& world, int colors) {
  std::vector<Rank> members;
  for (const Rank rank : everyone(world))
    if (rank % colors == world.rank() % colors) members.push_back(rank);
  return members;
}

TEST(MpiHybrid, RunsCollectives) {
  Communicator world = world_on_two_hosts(kAmple);
  check_sums(world, everyone(world));
  if (world.size() == 1) return;
  EXPECT_EQ(transport_of(world).capabilities().name, "shm+mpi");
  EXPECT_NE(world.describe().find("on 2 hosts by MPI, over shared memory and MPI"),
            std::string::npos)
      << world.describe();
  std::vector<float> values(100);
  const std::string why = world.explain(call::all_reduce(values, std::span{values}, sum));
  EXPECT_NE(why.find("at 4.0 us per message, "), std::string::npos) << why;
  EXPECT_NE(why.find(" between hosts, over MPI"), std::string::npos) << why;
}

// A measurement chooses the route of a call; both give the right results.
TEST(MpiHybrid, TakesTcpOrTheMpiByTheCall) {
  Communicator world = world_on_two_hosts(kAmple, true);
  check_sums(world, everyone(world));
  if (world.size() == 1) return;
  EXPECT_EQ(transport_of(world).capabilities().name, "shm+tcp|mpi");
  EXPECT_NE(world.describe().find("over shared memory and TCP and MPI"), std::string::npos)
      << world.describe();
  std::vector<std::int64_t> values(1000, 1);
  for (const char* const way : {"tcp", "mpi", "mpi", "tcp"}) {
    const std::string why =
        world.explain(call::all_reduce(values, std::span{values}, sum), {.transport = way});
    EXPECT_NE(why.find(" by shm+" + std::string{way} + " ("), std::string::npos) << why;
    world.all_reduce(std::span{values}, sum, {.transport = way});
  }
  EXPECT_EQ(values.back(), std::int64_t{world.size()} * world.size() * world.size() * world.size());
  const std::string why = world.explain(call::all_reduce(values, std::span{values}, sum));
  EXPECT_NE(why.find("measured: between hosts"), std::string::npos) << why;
  EXPECT_NE(why.find("\nnot chosen, "), std::string::npos) << why;
  Communicator part = world.split(world.rank() % 2);  // of one host
  check_sums(part, of_color(world, 2));
}

TEST(MpiHybrid, IsOfOneWayWithinAHost) {
  Communicator fastest = mpi::init(MPI_COMM_WORLD, {.transport = "fastest", .timeout = kAmple});
  check_sums(fastest, everyone(fastest));
  EXPECT_EQ(transport_of(fastest).capabilities().name, "shm") << "all ranks are on one host";
}

TEST(MpiHybrid, TakesHostsForGroups) {
  Communicator world = world_on_two_hosts(kAmple);
  const auto size = static_cast<std::size_t>(world.size());
  for (const std::size_t count : {std::size_t{1}, std::size_t{20'000}}) {
    std::vector<Rank> own(count, world.rank()), all(count * size), sums(count * size), part(count);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = static_cast<Rank>(i);
    const Options by_hosts{.algorithm = "hierarchical(circulant, ring)"};
    world.all_gather(own, all, by_hosts);
    world.reduce_scatter(sums, part, sum, by_hosts);
    world.barrier({.algorithm = "hierarchical(dissemination, dissemination)"});
    for (std::size_t i = 0; i < all.size(); ++i)
      ASSERT_EQ(all[i], static_cast<Rank>(i / count)) << "element " << i;
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(part[i],
                world.size() * (world.rank() * static_cast<Rank>(count) + static_cast<Rank>(i)));
  }
  if (world.size() < 3) return;
  std::vector<float> values(9);
  const std::string why = world.explain(call::all_reduce(values, std::span{values}, sum),
                                        {.algorithm = "hierarchical(circulant, ring)"});
  EXPECT_NE(why.find("hierarchical(circulant, ring):ranks=0+1+0"), std::string::npos) << why;
}

TEST(MpiHybrid, DividesWithinAndAcrossHosts) {
  Communicator world = world_on_two_hosts(kAmple);
  for (const int colors : {2, 3}) {  // hosts, and mixtures of them
    const int color = world.rank() % colors;
    Communicator part = world.split(color);
    check_sums(part, of_color(world, colors));
  }
}

TEST(MpiHybrid, TellsAllRanksOfAMismatch) {
  Communicator world = world_on_two_hosts(kAmple);
  if (world.size() == 1) return;
  std::vector<float> values(world.rank() == 0 ? 10U : 11U);
  try {
    world.all_reduce(std::span{values});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.cause(), ErrorCode::mismatch) << error.what();
  }
}

TEST(MpiHybrid, IsATransportOfInit) {
  Communicator world = mpi::init(MPI_COMM_WORLD, {.transport = "shm+mpi", .timeout = kAmple});
  check_sums(world, everyone(world));  // all on one host
}

}  // namespace
}  // namespace tutti::test

// Connecting when it is known who is where: ways that fail, ranks that go, intruders that flood.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <latch>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "runtime/links/mesh_links.hpp"
#include "runtime/links/process_links.hpp"
#include "tests/runtime/intruders.hpp"
#include "tests/runtime/ranks.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;
using namespace tutti::runtime;

/// Ranks that know where the others are: the part below peer info.
class Links : public ::testing::Test {
 protected:
  explicit Links(int n = 3) : plans_(static_cast<std::size_t>(n)), listeners_(plans_.size()) {
    MeshPlan shared;
    for (Rank rank = 0; rank < n; ++rank) {
      auto& listeners = listeners_[static_cast<std::size_t>(rank)];
      const std::string name =
          "tutti-links-test-" + std::to_string(::getpid()) + "-" + std::to_string(rank);
      listeners.push_back({listen_on(loopback()), false});
      listeners.push_back({listen_locally(name), true});
      PeerInfo info;
      info.host = this_host();
      info.host.name = "host" + std::to_string(rank);
      info.has_memory = true;
      shared.infos.push_back(info);
      shared.addresses.push_back(bound_endpoint(listeners.front().socket.get()));
      shared.names.push_back(name);
    }
    for (Rank rank = 0; rank < n; ++rank) {
      MeshPlan& plan = plans_[static_cast<std::size_t>(rank)] = shared;
      plan.self = {.job = 7, .size = n, .rank = rank, .secret = secret_of(1), .versions = {}};
    }
  }

  /// Connects a rank, which stays until the test ends or resets it.
  void connect(Rank rank, milliseconds time, bool lends = true) {
    const auto index = static_cast<std::size_t>(rank);
    const Descriptor memory = memory_of(rank);
    plans_[index].memory = lends ? memory.get() : -1;
    ranks_[index].emplace(plans_[index], std::move(listeners_[index]), in(time));
    ranks_[index]->run();
  }

  /// Connects a rank, which goes away at an error.
  void connect_or_go(Rank rank, milliseconds time) {
    try {
      connect(rank, time);
    } catch (const Error&) {
      ranks_[static_cast<std::size_t>(rank)].reset();
      throw;
    }
  }

  /// One of ranks 0 and 1 connects to the other, and dies while rank 2 is awaited.
  void expect_noticed(Rank leaver) {
    const Rank other = 1 - leaver;
    const auto outcomes = run_ranks(
        2, [&](Rank rank) { connect_or_go(rank, rank == other ? kAmple : milliseconds{1000}); });
    const Outcome& outcome = outcomes[static_cast<std::size_t>(other)];
    const std::string number = std::to_string(leaver);
    EXPECT_EQ(outcome.text(),
              "rank " + number + " (host host" + number + ") disconnected while the world started");
    EXPECT_LT(outcome.elapsed, kLongBefore);
  }

  std::vector<MeshPlan> plans_;
  std::vector<std::vector<Listener>> listeners_;
  std::array<std::optional<MeshConnector>, 3> ranks_;
};

TEST_F(Links, AreOfTCPWhereUnixDoesNotReach) {
  // Abstract names are local to a network namespace: no process listens there.
  for (MeshPlan& plan : plans_) plan.names[0] += "-elsewhere";
  expect_no_error(run_ranks(3, [&](Rank rank) { connect(rank, kAmple); }));
  for (Rank rank = 0; rank < 3; ++rank)
    for (const MeshLink& link : ranks_[static_cast<std::size_t>(rank)]->take_links())
      EXPECT_EQ(link.local, link.peer != 0 && rank != 0);
}

TEST_F(Links, AreOfTCPWhereMemoryDoesNotArrive) {
  const int before = open_descriptors();
  expect_no_error(run_ranks(3, [&](Rank rank) { connect(rank, kAmple, rank != 1); }));
  for (Rank rank = 0; rank < 3; ++rank)
    for (const MeshLink& link : ranks_[static_cast<std::size_t>(rank)]->take_links())
      EXPECT_EQ(link.local, link.peer != 1 && rank != 1);
  for (auto& rank : ranks_) rank.reset();
  EXPECT_EQ(open_descriptors(), before - 6);  // the listeners are closed too
}

TEST_F(Links, NameTheMissingRankAndItsHost) {
  const auto outcomes = run_ranks(
      2, [&](Rank rank) { connect_or_go(rank, rank == 0 ? milliseconds{1000} : kAmple); });
  const std::string text = outcomes[0].text();
  EXPECT_TRUE(text.starts_with("rank 0 waited ")) << text;
  EXPECT_NE(text.find(" s for rank 2 (host host2) of 3; present: 0 (host host0), 1 (host host1)"),
            std::string::npos)
      << text;
}

TEST_F(Links, NameTheRankThatIsGone) {
  listeners_[1].clear();
  const auto outcomes = run_ranks(3, [&](Rank rank) {  // rank 0 waits for rank 1 in vain
    if (rank != 1) connect_or_go(rank, kAmple);
  });
  EXPECT_NE(outcomes[2].text().find("rank 1 (host host1) cannot be reached: cannot connect to"),
            std::string::npos)
      << outcomes[2].text();
  EXPECT_EQ(outcomes[2].error->culprit(), 1);
  EXPECT_LT(outcomes[2].elapsed, kLongBefore);
}

TEST_F(Links, NoticeThatAPeerGoesAway) {
  expect_noticed(0);
}

TEST_F(Links, NoticeThatAHigherPeerGoesAway) {
  expect_noticed(1);
}

// The last rank has connected to no other, so none would notice.
TEST_F(Links, LetNobodyWaitForARankThatLeaves) {
  std::latch others{2};
  const auto outcomes = run_ranks(3, [&](Rank rank) {
    const auto index = static_cast<std::size_t>(rank);
    try {
      if (rank < 2) {
        others.count_down();
        return connect(rank, kAmple);
      }
      others.wait();
      ranks_[index].emplace(plans_[index], std::move(listeners_[index]), in(kAmple));
      throw Error{ErrorCode::bug, "gives up"};
    } catch (...) {
      ranks_[index]->abort();
      throw;
    }
  });
  EXPECT_EQ(outcomes[0].text(), "rank 2 (host host2) disconnected while the world started");
  for (const Outcome& outcome : outcomes) {
    EXPECT_TRUE(outcome.error);
    EXPECT_LT(outcome.elapsed, kLongBefore);
  }
}

TEST_F(Links, ComeTogetherInAFlood) {
  std::atomic<int> done{0};
  const auto outcomes = run_ranks(5, [&](Rank thread) {
    if (thread < 3) {
      if (thread == 2) std::this_thread::sleep_for(300ms);
      try {
        connect(thread, kAmple);
      } catch (...) {
        ++done;
        throw;
      }
      ++done;
      return;
    }
    const auto index = static_cast<std::size_t>(thread - 3);
    const std::uint16_t port = port_of(plans_[0].addresses[index]);
    for (unsigned seed = 1; done < 3; ++seed) (void)disturb({port, {}}, seed);
  });
  expect_no_error(outcomes);
}

std::array<Descriptor, 2> socket_pair() {
  std::array<int, 2> ends{-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
  return {Descriptor{ends[0]}, Descriptor{ends[1]}};
}

TEST(SharedLinks, AreFoundByNobodyWhereOneCannotBeMade) {
  const int before = open_descriptors();
  {
    LinkSettings settings;
    settings.options.segment_bytes = std::size_t{1} << 26;
    runtime::ProcessLinks links{settings, 3};
    const std::array<std::uint64_t, 3> processes{links.process(), 7, 8};
    const std::array<std::uint64_t, 3> others{links.process(), 9, 10};
    auto [control, far_control] = socket_pair();
    auto [data, far_data] = socket_pair();
    auto [lifeline, far_lifeline] = socket_pair();
    Mesh mesh;
    mesh.infos.resize(3);
    mesh.links.push_back({.peer = 1, .control = std::move(control), .data = std::move(data)});
    mesh.links.push_back({.peer = 2,
                          .local = true,
                          .control = std::move(lifeline),
                          .memory = Descriptor{::open("/dev/null", O_RDWR | O_CLOEXEC)}});
    EXPECT_THROW((void)links.add(mesh, processes, 0), Error);
    Mesh without_links;
    without_links.infos.resize(3);
    const auto numbers = links.add(without_links, others, 0);
    EXPECT_TRUE(links.find(processes, 0).numbers.empty());
    EXPECT_EQ(links.find(others, 0).numbers, numbers);
  }
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace tutti::test

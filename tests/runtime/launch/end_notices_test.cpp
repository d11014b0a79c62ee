// Notices of a launcher to ranks that wait for one that has ended.
#include <poll.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/launch/end_notices.hpp"
#include "tests/runtime/meeting.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;
using runtime::EndNotices;
using runtime::Protection;

constexpr int kJobRanks = 4;

std::string folder_of_test() {
  return ::testing::TempDir() + "tutti-end-notices-" + std::to_string(::getpid());
}

std::uint16_t free_port() {
  return runtime::port_of(runtime::bound_endpoint(runtime::listen_on(runtime::loopback()).get()));
}

/// @return the places where ranks can meet.
std::vector<std::string> meeting_places() {
  return {"unix://tutti-end-notices-" + std::to_string(::getpid()),
          "tcp://127.0.0.1:" + std::to_string(free_port()), "file://" + folder_of_test()};
}

runtime::Launch launch_of(Rank rank, const std::string& url) {
  return {.rank = rank,
          .size = kJobRanks,
          .exchange = runtime::Exchange::url,
          .url = url,
          .hosts = {"a", "b", "c", "d"}};
}

/// The time after which the last rank comes: rank 0 may have been notified and have left by then.
constexpr auto kLate = 600ms;

/// The outcomes of all ranks but some, while a launcher sends its notices.
std::vector<Outcome> outcomes_without(const std::vector<Rank>& ended, const std::string& url,
                                      EndNotices& notices) {
  auto all = std::async(std::launch::async, [&] {
    return run_ranks(kJobRanks, [&](Rank rank) {
      if (std::ranges::find(ended, rank) != ended.end()) return;
      if (rank == 3) std::this_thread::sleep_for(kLate);
      Protection protection{.secret = secret_of(1)};
      talk(*runtime::open_channel(launch_of(rank, url), protection, in(kAmple)));
    });
  });
  while (all.wait_for(0s) != std::future_status::ready) {
    notices.progress();
    pollfd entry{.fd = notices.descriptor(), .events = POLLIN, .revents = 0};
    ::poll(&entry, 1, std::min(20, runtime::milliseconds_until(notices.next_deadline())));
  }
  return all.get();
}

TEST(EndNotices, AreHeardByAllWhoWait) {
  for (const std::string& url : meeting_places())
    for (const std::vector<Rank>& ended : {std::vector<Rank>{0}, {1}, {0, 2}, {2, 0}}) {
      SCOPED_TRACE(url + " without rank " + std::to_string(ended.front()));
      const int before = open_descriptors();
      {
        EndNotices notices{launch_of(-1, url), {.secret = secret_of(1)}};
        for (const Rank rank : ended) notices.add(rank, "exited with status 3");
        const auto outcomes = outcomes_without(ended, url, notices);
        for (Rank rank = 0; rank < kJobRanks; ++rank) {
          const Outcome& outcome = outcomes[static_cast<std::size_t>(rank)];
          if (std::ranges::find(ended, rank) != ended.end()) continue;
          ASSERT_TRUE(outcome.error) << rank;
          EXPECT_EQ(outcome.error->code(), ErrorCode::peer_dead);
          EXPECT_EQ(outcome.error->culprit(), ended.front());
          EXPECT_NE(outcome.text().find(" has ended and did not join the world: it exited with "
                                        "status 3"),
                    std::string::npos)
              << outcome.text();
          EXPECT_LT(outcome.elapsed, kLongBefore);
        }
      }
      EXPECT_EQ(open_descriptors(), before);
      EXPECT_FALSE(std::filesystem::exists(folder_of_test()));
    }
}

// A process that a rank left behind may be the rank: then the launcher's notice comes too late.
TEST(EndNotices, DisturbNoRankThatHasCome) {
  for (const std::string& url : meeting_places()) {
    {
      EndNotices notices{launch_of(-1, url), {.secret = secret_of(1)}};
      expect_no_error(outcomes_without({}, url, notices));
      for (const Rank rank : {1, 0}) notices.add(rank, "exited with status 0");
      for (int i = 0; i < 3; ++i) notices.progress();
    }
    EXPECT_FALSE(std::filesystem::exists(folder_of_test()));
  }
}

// A rank of a smaller world that meets at the same place is not taken for one that waits.
TEST(EndNotices, DisturbNoWorldOfAnotherSize) {
  for (const std::string& url : meeting_places()) {
    runtime::Launch larger = launch_of(-1, url);
    larger.size = kJobRanks + 1;
    EndNotices notices{larger, {.secret = secret_of(1)}};
    notices.add(1, "exited with status 0");
    expect_no_error(outcomes_without({}, url, notices));
  }
}

}  // namespace
}  // namespace tutti::test

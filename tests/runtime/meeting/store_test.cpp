// The store: ranks meet at an address, and errors reach the ranks concerned before their deadline.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "tests/runtime/intruders.hpp"
#include "tests/runtime/meeting.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;
using runtime::has_cryptography;
using runtime::open_store;
using runtime::StoreOptions;

StoreOptions local_options(Rank rank, const std::string& name) {
  StoreOptions options = options_at({}, rank, 4);
  options.local_name = name;
  return options;
}

class StoreOf : public ::testing::TestWithParam<int> {};

TEST_P(StoreOf, GathersWhatEveryRankSays) {
  const int n = GetParam();
  const int before = open_descriptors();
  Meeting meeting{n};
  expect_no_error(run_ranks(n, [&](Rank rank) {
    const auto channel = open_store(meeting.options(rank), in(kAmple));
    EXPECT_EQ(channel->rank(), rank);
    EXPECT_EQ(channel->size(), n);
    EXPECT_FALSE(channel->is_private());
    EXPECT_EQ(channel->describe(), "tcp://127.0.0.1:" + std::to_string(meeting.port()));
    talk(*channel);
  }));
  EXPECT_EQ(open_descriptors(), before);
}

INSTANTIATE_TEST_SUITE_P(Ranks, StoreOf, ::testing::Values(1, 2, 3, 4, 8));

TEST(Store, MeetsAtAUnixSocketAgainAndAgain) {
  const std::string name = "tutti-store-test-" + std::to_string(::getpid());
  const int before = open_descriptors();
  for (int world = 0; world < 20; ++world)
    expect_no_error(run_ranks(4, [&](Rank rank) {
      StoreOptions options = local_options(rank, name);
      if (rank == world % 4) std::this_thread::sleep_for(10ms);
      const auto channel = open_store(options, in(kAmple));
      EXPECT_TRUE(channel->is_private());
      EXPECT_EQ(channel->describe(), "unix://" + name);
      talk(*channel);
    }));
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Store, MissesRank0AtAUnixSocket) {
  const auto channel = open_store(local_options(1, "tutti-nobody-listens-here"), in(kAmple));
  try {
    static_cast<void>(channel->all_gather("x", in(200ms)));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::timeout);
    const std::string text = error.what();
    EXPECT_TRUE(text.starts_with("rank 1 waited 0.")) << text;
    EXPECT_TRUE(text.ends_with(" s for rank 0 at unix://tutti-nobody-listens-here")) << text;
  }
}

TEST(Store, SaysThatItsRanksAreMoreThanItsDescriptors) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low{.rlim_cur = 200, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  try {
    StoreOptions options = local_options(0, "tutti-descriptors-" + std::to_string(::getpid()));
    options.size = 1'000'000;
    static_cast<void>(open_store(options, in(kAmple))->all_gather("x", in(kAmple)));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::transport);
    EXPECT_EQ(error.culprit(), 0);
    const std::string text = error.what();
    EXPECT_NE(text.find("too few file descriptors for a world of 1000000 ranks"), text.npos)
        << text;
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(Store, TakesMoreRanksThanStrangersMayWait) {
  constexpr int kRanks = 150;
  Meeting meeting{kRanks};
  expect_no_error(run_ranks(
      kRanks, [&](Rank rank) { talk(*open_store(meeting.options(rank), in(kAmple)), kAmple, 2); }));
}

TEST(Store, TakesValuesUpToTheirLimit) {
  Meeting meeting{4};
  expect_no_error(run_ranks(4, [&](Rank rank) {
    const auto channel = open_store(meeting.options(rank), in(kAmple));
    const std::string own(64 * 1024, static_cast<char>('a' + rank));
    const auto all = channel->all_gather(own, in(kAmple));
    for (std::size_t other = 0; other < 4; ++other)
      EXPECT_EQ(all[other], std::string(64 * 1024, static_cast<char>('a' + other)));
    EXPECT_THROW((void)channel->all_gather(own + "x", in(kAmple)), Error);
    talk(*channel);
  }));
}

TEST(Store, WaitsForARankThatComesLate) {
  Meeting meeting{2};
  expect_no_error(run_ranks(2, [&](Rank rank) {
    if (rank == 1) std::this_thread::sleep_for(300ms);
    const auto channel = open_store(meeting.options(rank), in(kAmple));
    talk(*channel);
  }));
}

TEST(Store, WaitsForRank0ThatComesLate) {
  // A port that was free a moment ago: rank 1 is refused there until rank 0 comes.
  const std::uint16_t port = free_port();
  expect_no_error(run_ranks(2, [&](Rank rank) {
    if (rank == 0) std::this_thread::sleep_for(300ms);
    const StoreOptions options = options_at({"127.0.0.1", port}, rank, 2);
    const auto channel = open_store(options, in(kAmple));
    talk(*channel);
  }));
}

TEST(Store, NamesTheMissingRanksToEveryone) {
  std::vector<Outcome> outcomes;
  const auto are_told = [&outcomes](milliseconds time) {
    Meeting meeting{4};
    outcomes = run_ranks(2, [&](Rank rank) {
      const auto channel = open_store(meeting.options(rank), in(kAmple));
      talk(*channel, time);
    });
    return std::ranges::all_of(outcomes, [](const Outcome& outcome) {
      return outcome.text().find("rank 0 waited ") != std::string::npos &&
             outcome.text().find(
                 " for ranks 2 and 3 of 4; present: 0 (host host0), 1 (host "
                 "host1)") != std::string::npos;
    });
  };
  EXPECT_TRUE(with_enough_time(1000ms, are_told)) << outcomes[0].text() << outcomes[1].text();
  for (const Outcome& outcome : outcomes) {
    ASSERT_TRUE(outcome.error);
    EXPECT_EQ(outcome.error->code(), ErrorCode::timeout);
    EXPECT_EQ(outcome.error->culprit(), 2);
  }
}

TEST(Store, NamesThisHostAsTheSystemDoes) {
  std::array<char, 256> name{};
  ASSERT_EQ(::gethostname(name.data(), name.size() - 1), 0);
  Meeting meeting{2};
  StoreOptions options = meeting.options(0);
  options.host.clear();
  const auto outcomes = run_ranks(1, [&](Rank) { talk(*open_store(options, in(kAmple)), 200ms); });
  EXPECT_NE(outcomes[0].text().find("present: 0 (host " + std::string{name.data()} + ")"),
            std::string::npos)
      << outcomes[0].text();
}

TEST(Store, NamesTheHostsOfTheMissingWhereTheLauncherTells) {
  std::vector<Outcome> outcomes;
  const auto are_named = [&outcomes](milliseconds time) {
    Meeting meeting{4};
    outcomes = run_ranks(2, [&](Rank rank) {
      StoreOptions options = meeting.options(rank);
      options.hosts = {"called0", "called1", "called1", "called2"};
      talk(*open_store(options, in(kAmple)), time);
    });
    return std::ranges::all_of(outcomes, [](const Outcome& outcome) {
      return outcome.text().find(
                 " for ranks 2 (host called1) and 3 (host called2) of 4; present: "
                 "0 (host host0), 1 (host host1)") != std::string::npos;
    });
  };
  EXPECT_TRUE(with_enough_time(300ms, are_named)) << outcomes[0].text() << outcomes[1].text();
}

TEST(Store, KnowsTheHostOfAllAtAUnixSocket) {
  StoreOptions options = local_options(0, "tutti-store-test-" + std::to_string(::getpid()));
  options.host = "here";
  const auto outcomes = run_ranks(1, [&](Rank) { talk(*open_store(options, in(kAmple)), 200ms); });
  EXPECT_NE(outcomes[0].text().find(" for ranks 1 (host here), 2 (host here) and 3 (host here)"),
            std::string::npos)
      << outcomes[0].text();
}

TEST(Store, SaysWhatASecondRank0AtAUnixSocketCanDo) {
  const std::string name = "tutti-store-test-" + std::to_string(::getpid());
  const auto first = open_store(local_options(0, name), in(kAmple));
  try {
    static_cast<void>(open_store(local_options(0, name), in(kAmple)));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::mismatch);
    EXPECT_EQ(error.culprit(), 0);
    const std::string text = error.what();
    EXPECT_TRUE(text.starts_with("rank 0 cannot listen at unix://" + name + ": process " +
                                 std::to_string(::getpid()) + " listens there already. "))
        << text;
    EXPECT_NE(text.find("start each rank once"), std::string::npos) << text;
    EXPECT_NE(text.find("give each job a name of its own"), std::string::npos) << text;
  }
}

TEST(Store, EndsForAllAtTheEarliestDeadline) {
  Meeting meeting{3};
  const auto outcomes = run_ranks(2, [&](Rank rank) {
    const auto channel = open_store(meeting.options(rank), in(kAmple));
    talk(*channel, rank == 1 ? 2000ms : milliseconds{kAmple});
  });
  for (const Outcome& outcome : outcomes) {
    EXPECT_NE(outcome.text().find("for rank 2 of 3"), std::string::npos) << outcome.text();
    EXPECT_LT(outcome.elapsed, kLongBefore);
  }
}

TEST(Store, SaysTheSameErrorAgain) {
  Meeting meeting{2};
  const auto outcomes = run_ranks(1, [&](Rank rank) {
    const auto channel = open_store(meeting.options(rank), in(kAmple));
    std::string first;
    try {
      (void)channel->all_gather("", in(100ms));
    } catch (const Error& error) {
      first = error.what();
    }
    EXPECT_NE(first, "");
    try {
      (void)channel->all_gather("", in(kAmple));
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), first);
      throw;
    }
  });
  EXPECT_TRUE(outcomes[0].error);
  EXPECT_LT(outcomes[0].elapsed, kLongBefore);
}

TEST(Store, TellsEveryoneWhoWentAway) {
  Meeting meeting{4};
  const auto outcomes = run_ranks(4, [&](Rank rank) {
    const auto channel = open_store(meeting.options(rank), in(kAmple));
    talk(*channel, kAmple, 1);
    if (rank == 2) return;  // dies between two rounds
    talk(*channel, kAmple, 1);
  });
  for (const Rank rank : {0, 1, 3}) {
    const Outcome& outcome = outcomes[static_cast<std::size_t>(rank)];
    EXPECT_EQ(outcome.text(), "rank 2 (host host2) disconnected while the world started");
    EXPECT_EQ(outcome.error->culprit(), 2);
    EXPECT_EQ(outcome.error->code(), ErrorCode::peer_dead);
    EXPECT_LT(outcome.elapsed, kLongBefore);
  }
}

TEST(Store, TellsEveryoneThatRank0WentAway) {
  Meeting meeting{3};
  const auto outcomes = run_ranks(3, [&](Rank rank) {
    const auto channel = open_store(meeting.options(rank), in(kAmple));
    talk(*channel, kAmple, 1);
    if (rank != 0) talk(*channel, kAmple, 1);
  });
  for (const Rank rank : {1, 2}) {
    const Outcome& outcome = outcomes[static_cast<std::size_t>(rank)];
    EXPECT_NE(outcome.text().find("rank 0 at tcp://127.0.0.1:"), std::string::npos);
    EXPECT_EQ(outcome.error->culprit(), 0);
    EXPECT_LT(outcome.elapsed, kLongBefore);
  }
}

TEST(Store, SaysThatThePortIsInUse) {
  const UnauthenticatedPeer squatter{0};
  const StoreOptions options = options_at({"127.0.0.1", squatter.listening_port()}, 0, 1);
  const auto outcomes = run_ranks(1, [&](Rank) { (void)open_store(options, in(kAmple)); });
  EXPECT_EQ(outcomes[0].text(),
            "cannot listen on 127.0.0.1:" + std::to_string(squatter.listening_port()) +
                ": Address already in use");
  EXPECT_LT(outcomes[0].elapsed, kLongBefore);
}

TEST(Store, SaysThatRank0IsNotOnThatHost) {
  if (!has_cryptography()) GTEST_SKIP() << "built without OpenSSL";
  StoreOptions options = options_at({"192.0.2.1", 12345}, 0, 1);
  options.secret = secret_of(1);
  const auto outcomes = run_ranks(1, [&](Rank) { (void)open_store(options, in(kAmple)); });
  EXPECT_TRUE(outcomes[0].text().starts_with(
      "rank 0 cannot listen at tcp://192.0.2.1:12345: this host does not have 192.0.2.1:12345; set "
      "TUTTI_ADDRESS on rank 0 to the interface or address at which the others reach it, of lo "))
      << outcomes[0].text();
}

TEST(Store, ListensAtAllAddressesOfAName) {
  StoreOptions options = options_at({"localhost", free_port()}, 0, 2);
  const auto server = open_store(options, in(kAmple));
  for (const auto& address : runtime::resolve(options.address, in(kAmple))) {
    if (!runtime::try_listen_on(runtime::with_port(address, 0))) continue;  // no IPv6 here
    EXPECT_NO_THROW(static_cast<void>(runtime::connect_to(address, in(kAmple))))
        << runtime::text_of(address);
  }
}

TEST(Store, PrintsNumbersOfIpv6AsTheyAreRead) {
  EXPECT_EQ(url_of(options_at({"fd00::1", 5}, 1, 2)), "tcp://[fd00::1]:5");
  EXPECT_EQ(url_of(options_at({"node", 5}, 1, 2)), "tcp://node:5");
}

TEST(Store, SaysThatTheMasterCannotBeReached) {
  const StoreOptions options = options_at({"127.0.0.1", free_port()}, 1, 2);
  const auto outcomes = run_ranks(1, [&](Rank) { talk(*open_store(options, in(kAmple)), 500ms); });
  EXPECT_EQ(outcomes[0].error->code(), ErrorCode::timeout);
  EXPECT_NE(outcomes[0].text().find("for rank 0 at tcp://127.0.0.1:"), std::string::npos);
  EXPECT_NE(outcomes[0].text().find("Connection refused"), std::string::npos) << outcomes[0].text();
  EXPECT_LT(outcomes[0].elapsed, kLongBefore);
}

TEST(Store, SaysThatTheHostIsUnknown) {
  const StoreOptions options = options_at({"no-such-host.invalid", 1}, 1, 2);
  const auto outcomes = run_ranks(1, [&](Rank) { talk(*open_store(options, in(1s)), 1s); });
  EXPECT_NE(outcomes[0].text().find("no-such-host.invalid"), std::string::npos);
}

TEST(Store, SaysThatSomethingElseListensThere) {
  UnauthenticatedPeer other{0};
  std::thread talker{[&] { other.accept_and_send(std::string(300, 'S')); }};
  const StoreOptions options = options_at({"127.0.0.1", other.listening_port()}, 1, 2);
  const auto outcomes = run_ranks(1, [&](Rank) { talk(*open_store(options, in(kAmple)), kAmple); });
  talker.join();
  EXPECT_NE(outcomes[0].text().find("does not use tutti's protocol"), std::string::npos)
      << outcomes[0].text();
  EXPECT_LT(outcomes[0].elapsed, kLongBefore);
}

TEST(Store, RefusesARankThatDoesNotExist) {
  for (const Rank rank : {-1, 2}) {
    const StoreOptions options = options_at({"127.0.0.1", 1}, rank, 2);
    EXPECT_THROW((void)open_store(options, in(kAmple)), Error);
  }
}

TEST(Store, ListensOnANetworkOnlyWithASecret) {
  if (!has_cryptography()) GTEST_SKIP() << "built without OpenSSL";
  StoreOptions options = options_at({"0.0.0.0", 0}, 0, 1);
  const auto without = run_ranks(1, [&](Rank) { (void)open_store(options, in(kAmple)); });
  EXPECT_NE(without[0].text().find("without a secret"), std::string::npos) << without[0].text();
  options.secret = secret_of(1);
  const auto with = run_ranks(1, [&](Rank) { (void)open_store(options, in(kAmple)); });
  EXPECT_EQ(with[0].text(), "");
  options.secret.reset();
  options.insecure = true;
  const auto insecure = run_ranks(1, [&](Rank) { (void)open_store(options, in(kAmple)); });
  EXPECT_EQ(insecure[0].text(), "");
}

TEST(Store, LeavesNothingBehindInManyStarts) {
  const auto cycle = [] {
    Meeting meeting{2};
    expect_no_error(run_ranks(
        2, [&](Rank rank) { talk(*open_store(meeting.options(rank), in(kAmple)), kAmple, 1); }));
  };
  for (int i = 0; i < 20; ++i) cycle();
  const int descriptors = open_descriptors();
  const long memory = resident_kib();
  for (int i = 0; i < 200; ++i) cycle();
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_LT(resident_kib(), memory + 4096);
}

}  // namespace
}  // namespace tutti::test

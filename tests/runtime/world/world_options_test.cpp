// Options of worlds: each changes what it says, and those that must agree are compared.
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>

#include <tutti/spi/communicator.hpp>
#include <tutti/spi/costs.hpp>
#include <tutti/spi/init.hpp>
#include <tutti/transports.hpp>

#include "runtime/security/tls.hpp"
#include "selector/tuning.hpp"
#include "tests/runtime/idle_network.hpp"
#include "tests/runtime/worlds.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;
using namespace tutti::runtime;

/// @return the outcomes of two ranks that start with options of their own.
std::vector<Outcome> start_two(const InitOptions& first, const InitOptions& second) {
  const auto channels = local_channels(2, true);
  return run_ranks(2, [&](Rank rank) {
    Communicator world =
        init(*channels[static_cast<std::size_t>(rank)], rank == 0 ? first : second);
    check_sums(world, everyone(2));
  });
}

TEST(World, MeasuresNoNetworkWhereItMustStandSoon) {
  const auto said = [](milliseconds patience, int megabits = 0) {
    std::mutex mutex;
    std::set<std::string> cost_models;
    expect_no_error(in_world(
        {2, "auto", 2, false, megabits},
        [&](Communicator& world) {
          const std::lock_guard lock{mutex};
          cost_models.insert(cost_model_of(world));
        },
        patience));
    EXPECT_EQ(cost_models.size(), 1U);
    return *cost_models.begin();
  };
  EXPECT_NE(said(30s).find("measured"), std::string::npos) << said(30s);
  EXPECT_NE(said(3s).find("no time to measure"), std::string::npos) << said(3s);
  EXPECT_NE(said(30s, 250).find("as configured: 250 Mbit/s"), std::string::npos) << said(30s, 250);
}

TEST(World, RefusesOptionsThatDifferBetweenRanks) {
  const auto expect_refusal = [](const InitOptions& first, const InitOptions& second,
                                 const std::string& text) {
    for (const Outcome& outcome : start_two(first, second)) {
      ASSERT_TRUE(outcome.error) << text;
      EXPECT_EQ(outcome.error->code(), ErrorCode::mismatch);
      EXPECT_EQ(outcome.text(), text + "; all ranks must give equal options");
    }
  };
  expect_refusal({.heartbeat_timeout = 1s}, {.heartbeat_timeout = 60s},
                 "rank 1 was started with heartbeat_timeout 60000 ms, rank 0 with "
                 "heartbeat_timeout 1000 ms");
  expect_refusal({.transport = "shm"}, {.transport = "tcp"},
                 "rank 1 was started with transport tcp, rank 0 with transport shm");
  expect_refusal({}, {.transport = "tcp"},
                 "rank 1 was started with transport tcp, rank 0 with transport auto");
  expect_refusal({.payload_checksum = true}, {},
                 "rank 1 was started with payload_checksum off, rank 0 with payload_checksum on");
  expect_refusal({.network_megabits = 100}, {},
                 "rank 1 was started with network_megabits 0, rank 0 with network_megabits 100");
  expect_refusal({}, {.communicator = {.segments_in_flight = 2}},
                 "rank 1 was started with segments_in_flight 2, rank 0 with segments_in_flight 4");
  expect_no_error(start_two({.timeout = kAmple}, {.timeout = 2 * kAmple}));
}

TEST(World, SaysThatATuningFileIsOfAnotherMachine) {
  const std::string path = ::testing::TempDir() + "tutti_tuning_of_another_machine.json";
  std::ofstream{path} << detail::text_of(
      {.machine = {.processor = "another processor", .cores = 3}});
  std::vector<std::string> warnings;
  const auto channels = local_channels(2, true);
  ::testing::internal::CaptureStderr();
  expect_no_error(run_ranks(2, [&](Rank rank) {
    InitOptions options{.tuning = path};
    if (rank == 0) options.warn = [&](std::string_view text) { warnings.emplace_back(text); };
    Communicator world = init(*channels[static_cast<std::size_t>(rank)], options);
    std::vector<float> data(8);
    const std::string told = world.explain(call::all_reduce(data, data, sum));
    EXPECT_NE(told.find(path + " was measured on 3 cores of another processor"), std::string::npos)
        << told;
  }));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "") << "the library prints";
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("it is not used; measure here with tutti tune"), std::string::npos)
      << warnings[0];
  std::filesystem::remove(path);
}

TEST(World, NamesTheRankWhoseOptionIsNotThatOfMost) {
  for (const Rank odd : {0, 1, 3}) {
    const auto channels = local_channels(4, true);
    const auto outcomes = run_ranks(4, [&](Rank rank) {
      (void)init(*channels[static_cast<std::size_t>(rank)],
                 {.transport = rank == odd ? "tcp" : "shm"});
    });
    for (const Outcome& outcome : outcomes) {
      ASSERT_TRUE(outcome.error);
      EXPECT_EQ(outcome.error->code(), ErrorCode::mismatch) << outcome.text();
      EXPECT_EQ(outcome.error->culprit(), odd) << outcome.text();
      EXPECT_LT(outcome.elapsed, kLongBefore);
    }
  }
}

TEST(World, MayWaitForEver) {
  for (const char* const transport : {"auto", "tcp"}) {
    const InitOptions options{.transport = transport,
                              .timeout = Duration::max(),
                              .heartbeat_timeout = Duration::max(),
                              .communicator = {.timeout = Duration::max()}};
    expect_no_error(start_two(options, options));
  }
}

TEST(World, RefusesTimesThatAreNegative) {
  for (const InitOptions& options :
       {InitOptions{.timeout = -1ns}, InitOptions{.heartbeat_timeout = -1s},
        InitOptions{.communicator = {.timeout = -1ms}}})
    for (const Outcome& outcome : start_two(options, options)) {
      ASSERT_TRUE(outcome.error);
      EXPECT_EQ(outcome.error->code(), ErrorCode::invalid_argument) << outcome.text();
    }
}

TEST(World, HasOneNetworkBetweenHosts) {
  for (const Rank with : {0, 1}) {
    const auto channels = local_channels(2, true);
    const auto outcomes = run_ranks(2, [&](Rank rank) {
      Channel& channel = *channels[static_cast<std::size_t>(rank)];
      if (rank == with) (void)init(channel, {}, std::make_shared<IdleNetwork>());
      else (void)init(channel, {});
    });
    const std::string text =
        with == 0 ? "network TCP, rank 0 with network MPI" : "network MPI, rank 0 with network TCP";
    for (const Outcome& outcome : outcomes) {
      ASSERT_TRUE(outcome.error);
      EXPECT_EQ(outcome.error->code(), ErrorCode::mismatch);
      EXPECT_EQ(outcome.text(),
                "rank 1 was started with " + text + "; all ranks must give equal options");
    }
  }
}

TEST(World, SumsPayloadsWhereTheOptionSaysSo) {
  for (const bool summed : {false, true}) {
    const auto channels = local_channels(2, true);
    const InitOptions options{.transport = "tcp", .payload_checksum = summed};
    expect_no_error(run_ranks(2, [&](Rank rank) {
      Communicator world = init(*channels[static_cast<std::size_t>(rank)], options);
      check_sums(world, everyone(2));
      EXPECT_EQ(world.describe().ends_with("over TCP with payload checksums"), summed)
          << world.describe();
    }));
  }
}

TEST(World, RefusesTransportsThatAreNot) {
  try {
    static_cast<void>(transports_of("infiniband"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_STREQ(error.what(),
                 "there is no transport 'infiniband'; choose auto, shm or tcp (mpi is that of "
                 "tutti::mpi::communicator, shm+mpi one of tutti::mpi::init)");
  }
}

TEST(World, MakesEveryTransportButThoseOfAnMpi) {
  for (const TransportTraits& transport : kTransports) {
    if (transport.is_of_mpi) continue;
    EXPECT_NO_THROW(static_cast<void>(transports_of(transport.name))) << transport.name;
  }
}

TEST(World, SaysWhoSharesNoMemory) {
  const auto outcomes = in_world({3, "shm", 2}, [](Communicator&) {});
  for (const Outcome& outcome : outcomes) {
    ASSERT_TRUE(outcome.error);
    EXPECT_EQ(outcome.error->code(), ErrorCode::invalid_argument);
    EXPECT_NE(outcome.text().find("shares no memory with"), std::string::npos) << outcome.text();
  }
}

// The second exchange tells what is known, beginning with the good news that there is no error.
TEST(World, BelievesNoSpeedThatIsNone) {
  const auto channels = local_channels(2, true);
  expect_no_error(run_ranks(2, [&](Rank rank) {
    WorldOptions options{.links = {.segment_bytes = std::size_t{1} << 26}};
    options.mesh.host.name += std::to_string(rank);
    options.mesh.host.boot += std::to_string(rank);
    options.mesh.interface = "127.0.0.1";
    Meddling channel{*channels[static_cast<std::size_t>(rank)],
                     [](int exchanges, std::vector<std::string>& heard) {
                       if (exchanges != 1) return;
                       heard[0][1] = '\x02';
                       heard[0].back() = '\xc8';
                     }};
    Communicator world = make_communicator(
        World::connect(channel, options, in(kAmple))->communicator_parts(), make_host_memory());
    EXPECT_NE(cost_model_of(world).find("measured"), std::string::npos) << cost_model_of(world);
  }));
}

std::size_t addresses_taken() {
  std::size_t pages = 0;
  std::ifstream{"/proc/self/statm"} >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// Rank 1 has no addresses left for the memory of rank 0, which has them for that of rank 1.
TEST(World, StartsOnAllRanksOrNone) {
  constexpr std::size_t kMany = std::size_t{1} << 33;
  const auto channels = local_channels(2, true);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  const auto outcomes = run_ranks(2, [&](Rank rank) {
    const WorldOptions options{
        .transports = TransportSet::shm,
        .links = {.segment_bytes = rank == 0 ? kMany : std::size_t{1} << 26}};
    Meddling channel{*channels[static_cast<std::size_t>(rank)],
                     [&](int exchanges, std::vector<std::string>&) {
                       if (rank != 0 || exchanges != 3) return;  // all ranks have their own
                       const rlimit few{addresses_taken() + kMany / 8, before.rlim_max};
                       EXPECT_EQ(::setrlimit(RLIMIT_AS, &few), 0);
                     }};
    static_cast<void>(World::connect(channel, options, in(kAmple)));
  });
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  for (const Outcome& outcome : outcomes) {
    ASSERT_TRUE(outcome.error);
    EXPECT_NE(outcome.text().find("cannot map shared memory"), std::string::npos) << outcome.text();
    EXPECT_EQ(outcome.error->culprit(), 1);
    EXPECT_LT(outcome.elapsed, kLongBefore);
  }
}

TEST(World, SaysThatItEncrypts) {
  if (!has_tls()) GTEST_SKIP() << "built without OpenSSL";
  expect_no_error(in_world({2, "tcp", 1, true}, [](Communicator& world) {
    EXPECT_NE(world.describe().find("over TCP with TLS"), std::string::npos) << world.describe();
  }));
}

TEST(World, EncryptsOnAllRanksOrNone) {
  if (!has_tls()) GTEST_SKIP() << "built without OpenSSL";
  for (const Rank odd : {0, 1}) {
    const auto channels = local_channels(3, true);
    const auto outcomes = run_ranks(3, [&](Rank rank) {
      WorldOptions options;
      options.links.tls = (rank == 1) == (odd == 1);
      (void)World::connect(*channels[static_cast<std::size_t>(rank)], options, in(kAmple));
    });
    for (const Outcome& outcome : outcomes) {
      ASSERT_TRUE(outcome.error);
      EXPECT_EQ(outcome.error->code(), ErrorCode::mismatch);
      EXPECT_EQ(outcome.error->culprit(), 1);
      EXPECT_NE(outcome.text().find(odd == 1 ? "uses TLS, but rank 0 does not; all ranks must"
                                             : "does not use TLS, but rank 0 does; all ranks must"),
                std::string::npos)
          << outcome.text();
    }
  }
}

TEST(World, IsNotWatchedTooImpatiently) {
  const auto made = try_init({.heartbeat_timeout = 99ms});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), ErrorCode::invalid_argument);
  EXPECT_NE(std::string{made.error().what()}.find("100 ms"), std::string::npos);
}

}  // namespace
}  // namespace tutti::test

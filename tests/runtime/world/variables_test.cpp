// Variables of the environment, and options of one rank, where a channel connects the ranks
// already.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <functional>
#include <memory>
#include <string>

#include <tutti/spi/init.hpp>

#include "tests/runtime/idle_network.hpp"
#include "tests/runtime/ranks.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

/// A variable, as long as this lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_{name} { ::setenv(name, value, 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { ::unsetenv(name_); }

 private:
  const char* const name_;
};

using Start = std::function<void(Channel&, const InitOptions&)>;

const std::vector<Start>& starts() {
  static const std::vector<Start> all{
      [](Channel& channel, const InitOptions& options) { (void)init(channel, options); },
      [](Channel& channel, const InitOptions& options) {
        (void)init(channel, options, std::make_shared<IdleNetwork>());
      },
      [](Channel& channel, const InitOptions& options) { (void)watch_ranks(channel, options); }};
  return all;
}

/// Expects that all of two ranks get an error with this text, although only some may be at fault.
void expect_refusal(const InitOptions& first, const InitOptions& second, const std::string& text) {
  for (const Start& start : starts()) {
    const auto channels = local_channels(2, true);
    const auto outcomes = run_ranks(2, [&](Rank rank) {
      start(*channels[static_cast<std::size_t>(rank)], rank == 0 ? first : second);
    });
    for (const Outcome& outcome : outcomes) {
      ASSERT_TRUE(outcome.error) << text;
      EXPECT_EQ(outcome.error->code(), ErrorCode::invalid_argument) << outcome.text();
      EXPECT_NE(outcome.text().find(text), std::string::npos) << outcome.text();
      EXPECT_LT(outcome.elapsed, kLongBefore);
    }
  }
}

TEST(Variables, AreReadOverAChannel) {
  {
    const Variable file{"TUTTI_SECRET_FILE", "/no/such/secret"};
    expect_refusal({}, {}, "the secret file /no/such/secret");
  }
  {
    const Variable address{"TUTTI_ADDRESS", "nonsense0"};
    expect_refusal({}, {}, "TUTTI_ADDRESS, or InitOptions::address, is 'nonsense0'");
  }
  {
    const Variable timeout{"TUTTI_TIMEOUT", "soon"};
    expect_refusal({}, {}, "TUTTI_TIMEOUT is 'soon'");
  }
}

TEST(Variables, BoundTheWaitOverAChannel) {
  const Variable timeout{"TUTTI_TIMEOUT", "0.2"};
  EXPECT_EQ(init_timeout(Duration::zero()), 200ms);
  EXPECT_EQ(init_timeout(1s), 1s);
  for (const Start& start : starts()) {
    const auto channels = local_channels(2, true);
    const auto outcomes = run_ranks(2, [&](Rank rank) {
      if (rank == 0) start(*channels.front(), {});
    });
    ASSERT_TRUE(outcomes.front().error);
    EXPECT_EQ(outcomes.front().error->code(), ErrorCode::timeout) << outcomes.front().text();
    EXPECT_LT(outcomes.front().elapsed, kLongBefore);
  }
}

TEST(Variables, OptionsOfOneRankFailAllRanks) {
  const InitOptions good{.timeout = kAmple};
  expect_refusal(good, {.timeout = kAmple, .secret_file = "/no/such/secret"},
                 "rank 1: the secret file /no/such/secret");
  expect_refusal({.timeout = kAmple, .address = "nonsense0"}, good, "rank 0: TUTTI_ADDRESS, or");
  expect_refusal(good, {.transport = "pigeon", .timeout = kAmple}, "rank 1: ");
  expect_refusal(good, {.timeout = -1s}, "rank 1: the timeout must not be less than zero");
  expect_refusal(good, {.timeout = kAmple, .heartbeat_timeout = 1ms}, "rank 1: the heartbeat");
  expect_refusal(good, {.timeout = kAmple, .network_megabits = -1}, "rank 1: the network's speed");
}

}  // namespace
}  // namespace tutti::test

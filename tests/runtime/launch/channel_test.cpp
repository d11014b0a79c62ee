// The contract of every Channel, in threads of one process: in memory, and through a folder.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "runtime/launch/channel_local.hpp"
#include "runtime/launch/channel_rules.hpp"
#include "runtime/sockets/missing_ranks.hpp"
#include "tests/runtime/channels.hpp"

namespace tutti::runtime {
namespace {

using namespace std::chrono_literals;

std::string text_of(Rank rank, int round) {
  // Any bytes, any length: also none, zeros and line ends.
  if (round == 1) return "";
  if (round == 2) return std::string(64U << 10U, static_cast<char>(rank));
  return std::string("\0\n \xff=", 5) + std::to_string(rank) + "." + std::to_string(round);
}

void exchange(Channel& channel) {
  for (int round = 0; round < 5; ++round) {
    const auto heard = channel.all_gather(text_of(channel.rank(), round), in(kAmple));
    ASSERT_EQ(heard.size(), static_cast<std::size_t>(channel.size()));
    for (Rank rank = 0; rank < channel.size(); ++rank)
      EXPECT_EQ(heard[static_cast<std::size_t>(rank)], text_of(rank, round));
  }
  EXPECT_THROW(
      static_cast<void>(channel.all_gather(std::string((64U << 10U) + 1, 'x'), in(kAmple))), Error);
}

TEST(Channel, EveryRankHearsEveryRank) {
  const test::TemporaryFolder scratch;
  for (const int size : {1, 2, 3, 7}) {
    Channels local = local_channels(size);
    expect_none(run(local, exchange));
    Channels file = folder_channels((scratch / "world").string(), size);
    expect_none(run(file, exchange));
    file.clear();
    EXPECT_FALSE(fs::exists((scratch / "world").string())) << size;
  }
}

void expect_missing(const std::vector<std::optional<Error>>& errors) {
  for (const std::size_t rank : {0U, 2U}) {
    ASSERT_TRUE(errors[rank]);
    EXPECT_EQ(errors[rank]->code(), ErrorCode::timeout) << errors[rank]->what();
    EXPECT_EQ(errors[rank]->culprit(), 1);
    // Ranks that have met have the hosts of all.
    EXPECT_TRUE(std::regex_search(
        errors[rank]->what(),
        std::regex{"for ranks 1( \\(host [^()]+\\))? and 3( \\(host [^()]+\\))? of 4 over "}))
        << errors[rank]->what();
  }
}

TEST(Channel, NamesTheMissingRanks) {
  const auto late = [](Channel& channel) {
    if (channel.rank() % 2 == 0) static_cast<void>(channel.all_gather("x", in(200ms)));
  };
  const test::TemporaryFolder scratch;
  Channels local = local_channels(4);
  expect_missing(run(local, late));
  Channels file = folder_channels((scratch / "world").string(), 4);
  expect_missing(run(file, late));
  file.clear();
  EXPECT_FALSE(fs::exists((scratch / "world").string()));
  // The rank is missing in a later exchange, not in the first.
  const auto later = [&late](Channel& channel) {
    static_cast<void>(channel.all_gather("x", in(kAmple)));
    late(channel);
  };
  local = local_channels(4);
  expect_missing(run(local, later));
  file = folder_channels((scratch / "world").string(), 4);
  expect_missing(run(file, later));
  file.clear();
  EXPECT_FALSE(fs::exists((scratch / "world").string()));
}

TEST(Channel, AFailedExchangeStaysFailed) {
  Channels local = local_channels(2);
  EXPECT_THROW(static_cast<void>(local[0]->all_gather("", in(1ms))), Error);
  EXPECT_THROW(static_cast<void>(local[1]->all_gather("", in(1ms))), Error);
}

TEST(ChannelLocal, ARankThatLeftIsNamedAtOnce) {
  Channels local = local_channels(3);
  local[1].reset();
  const auto begin = std::chrono::steady_clock::now();
  const auto errors =
      run(local, [](Channel& channel) { static_cast<void>(channel.all_gather("", in(kAmple))); });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kLongBefore);
  for (const std::size_t rank : {0U, 2U}) {
    ASSERT_TRUE(errors[rank]);
    EXPECT_EQ(errors[rank]->code(), ErrorCode::peer_dead);
    EXPECT_EQ(errors[rank]->culprit(), 1);
  }
}

TEST(MissingRanks, SaysWhoWaitedForWhom) {
  const auto text = [](const MissingRanks& known) {
    return std::string{missing_ranks(known).what()};
  };
  EXPECT_EQ(text({.self = 0, .waited = 30s, .missing = {3}, .hosts = {"a", "a", "b", ""}}),
            "rank 0 waited 30 s for rank 3 of 4; present: 0 (host a), 1 (host a), 2 (host b)");
  EXPECT_EQ(text({.self = 1,
                  .waited = 500ms,
                  .missing = {0, 2, 4},
                  .hosts = std::vector<std::string>(5),
                  .where = "PMIx"}),
            "rank 1 waited 0.5 s for ranks 0, 2 and 4 of 5 over PMIx; present: 1, 3");
  EXPECT_EQ(text({.self = 1, .waited = 1s, .missing = {}, .hosts = {"", ""}, .where = "PMI"}),
            "rank 1 waited 1 s for other ranks of 2 over PMI");
}

}  // namespace
}  // namespace tutti::runtime

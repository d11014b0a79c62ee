// Ranks' samples are the data set, also where others go on within an epoch.
#include <algorithm>
#include <numeric>
#include <set>

#include <gtest/gtest.h>
#include <tutti/training.hpp>

namespace tutti::test {
namespace {

std::vector<DistributedSampler> samplers(std::size_t samples, int ranks,
                                         const SamplerOptions& options, std::uint64_t epoch = 0) {
  std::vector<DistributedSampler> all;
  for (Rank rank = 0; rank < ranks; ++rank) {
    all.emplace_back(samples, ranks, rank, options);
    all.back().set_epoch(epoch);
  }
  return all;
}

std::vector<DistributedSampler> resumed(const SamplerState& state, int ranks) {
  std::vector<DistributedSampler> all;
  for (Rank rank = 0; rank < ranks; ++rank)
    all.push_back(DistributedSampler::resume(state, ranks, rank));
  return all;
}

/// Appends each rank's share of the next `count` samples. @return the state, which must be equal on
/// all ranks.
SamplerState draw(std::vector<DistributedSampler>& ranks, std::size_t count,
                  std::vector<std::size_t>& seen) {
  for (DistributedSampler& rank : ranks) {
    const std::vector<std::size_t> own = rank.indices();
    EXPECT_EQ(own.size(), rank.size());
    seen.insert(seen.end(), own.begin(),
                own.begin() + static_cast<std::ptrdiff_t>(std::min(count, own.size())));
    rank.advance(count);
    EXPECT_EQ(rank.state(), ranks[0].state());
  }
  return ranks[0].state();
}

bool is_data_set(std::vector<std::size_t> seen, std::size_t samples) {
  std::vector<std::size_t> all(samples);
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::ranges::sort(seen);
  return seen == all;
}

constexpr std::size_t kAll = ~std::size_t{0};

TEST(Samplers, DivideTheDataSet) {
  for (std::size_t samples = 0; samples < 40; ++samples)
    for (const int ranks : {1, 2, 3, 4, 7, 8, 16, 50})
      for (const bool shuffle : {false, true}) {
        const auto size = static_cast<std::size_t>(ranks);
        std::vector<std::size_t> seen;
        auto all = samplers(samples, ranks, {5, shuffle, SamplePadding::none}, 3);
        draw(all, kAll, seen);
        EXPECT_TRUE(is_data_set(seen, samples)) << samples << " " << ranks;

        std::vector<std::size_t> padded;
        auto equal = samplers(samples, ranks, {5, shuffle, SamplePadding::pad}, 3);
        for (const auto& rank : equal) EXPECT_EQ(rank.size(), (samples + size - 1) / size);
        draw(equal, kAll, padded);
        EXPECT_EQ(std::set(padded.begin(), padded.end()).size(), samples);

        std::vector<std::size_t> dropped;
        auto fewer = samplers(samples, ranks, {5, shuffle, SamplePadding::drop}, 3);
        for (const auto& rank : fewer) EXPECT_EQ(rank.size(), samples / size);
        draw(fewer, kAll, dropped);
        EXPECT_EQ(std::set(dropped.begin(), dropped.end()).size(), dropped.size());
        EXPECT_EQ(dropped.size(), samples / size * size);
      }
}

TEST(Samplers, GoOnAtAnotherNumberOfRanks) {
  for (const std::size_t samples : {0U, 1U, 10U, 37U, 100U})
    for (const int first : {1, 2, 3, 8})
      for (const int second : {1, 2, 5, 7})
        for (const int third : {1, 3, 4})
          for (const std::size_t taken : {0U, 1U, 3U, 6U}) {
            std::vector<std::size_t> seen;
            auto ranks = samplers(samples, first, {9, true, SamplePadding::none}, 2);
            ranks = resumed(draw(ranks, taken, seen), second);
            for (auto& rank : ranks) rank.set_epoch(2);  // as a loop over epochs does
            ranks = resumed(draw(ranks, taken, seen), third);
            const SamplerState end = draw(ranks, kAll, seen);
            EXPECT_TRUE(is_data_set(seen, samples)) << samples << " " << first << " " << second;
            EXPECT_EQ(end.consumed, samples);
          }
}

TEST(Samplers, ResumeWithPaddingAndWithout) {
  for (const SamplePadding padding : {SamplePadding::pad, SamplePadding::drop})
    for (const std::size_t samples : {50U, 53U, 101U}) {
      std::vector<std::size_t> seen;
      auto ranks = samplers(samples, 4, {1, true, padding});
      ranks = resumed(draw(ranks, 5, seen), 3);
      const std::size_t left = samples - 20;
      for (const auto& rank : ranks)
        EXPECT_EQ(rank.size(), (left + (padding == SamplePadding::pad ? 2U : 0U)) / 3);
      draw(ranks, kAll, seen);
      const std::size_t distinct = std::set(seen.begin(), seen.end()).size();
      if (padding == SamplePadding::pad) {
        EXPECT_EQ(distinct, samples);
      }
      if (padding == SamplePadding::drop) {
        EXPECT_EQ(distinct, 20 + left / 3 * 3);
      }
      if (padding == SamplePadding::drop) {
        EXPECT_EQ(distinct, seen.size());
      }
    }
}

TEST(Samplers, PermuteByEpochAndSeedAlone) {
  const auto order = [](std::uint64_t seed, std::uint64_t epoch) {
    DistributedSampler one{1000, 1, 0, {.seed = seed}};
    one.set_epoch(epoch);
    return one.indices();
  };
  EXPECT_EQ(order(1, 1), order(1, 1));
  EXPECT_NE(order(1, 1), order(1, 2));
  EXPECT_NE(order(1, 1), order(2, 1));
  EXPECT_NE(order(1, 2), order(2, 1));
  EXPECT_NE(order(0, 0), order(0, 1));
  // Rank r of 3 has every third of it.
  const DistributedSampler second{1000, 3, 1, {.seed = 1}};
  const std::vector<std::size_t> all = order(1, 0), own = second.indices();
  for (std::size_t i = 0; i < 333; ++i) EXPECT_EQ(own[i], all[3 * i + 1]);
}

TEST(Samplers, TakeEachPermutationEquallyOften) {
  std::map<std::vector<std::size_t>, int> found;
  DistributedSampler one{4, 1, 0};
  for (std::uint64_t epoch = 0; epoch < 24'000; ++epoch) {
    one.set_epoch(epoch);
    ++found[one.indices()];
  }
  EXPECT_EQ(found.size(), 24U);
  for (const auto& [order, times] : found) EXPECT_NEAR(times, 1000, 160);  // 5 standard deviations
}

TEST(Samplers, RefuseWhatMakesNoSense) {
  EXPECT_THROW((DistributedSampler{10, 0, 0}), Error);
  EXPECT_THROW((DistributedSampler{10, 2, 2}), Error);
  EXPECT_THROW((DistributedSampler{10, 2, -1}), Error);
  EXPECT_THROW((void)DistributedSampler::resume({.samples = 3, .consumed = 4}, 1, 0), Error);
}

TEST(Samplers, WarnOnceOfAnEpochThatHasEnded) {
  for (const bool shuffle : {false, true})
    for (Rank rank = 0; rank < 2; ++rank) {
      std::vector<std::string> told;
      const auto warn = [&](std::string_view text) { told.emplace_back(text); };
      DistributedSampler sampler{7, 2, rank, {.shuffle = shuffle, .warn = warn}};
      for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {  // as it should be
        sampler.set_epoch(epoch);
        EXPECT_EQ(sampler.indices().size(), 4U);
        sampler.advance(3);
        EXPECT_EQ(sampler.indices().size(), 1U);
        sampler.advance(1);
      }
      EXPECT_TRUE(told.empty());
      for (int forgotten = 0; forgotten < 3; ++forgotten) EXPECT_TRUE(sampler.indices().empty());
      EXPECT_EQ(told.size(), rank == 0 ? 1U : 0U);
      for (const std::string& text : told)
        EXPECT_NE(text.find("call set_epoch(3)"), std::string::npos) << text;
      sampler.set_epoch(3);
      EXPECT_EQ(sampler.indices().size(), 4U);
    }
}

TEST(Samplers, DoNotWarnWhereAnEpochWasOverAtTheStart) {
  std::vector<std::string> told;
  const auto warn = [&](std::string_view text) { told.emplace_back(text); };
  const DistributedSampler none{0, 1, 0, {.warn = warn}};
  EXPECT_TRUE(none.indices().empty());
  auto resumed = DistributedSampler::resume({.samples = 3, .consumed = 3}, 1, 0, warn);
  EXPECT_TRUE(resumed.indices().empty());
  EXPECT_TRUE(told.empty());
  resumed.set_epoch(1);
  resumed.advance(3);
  EXPECT_TRUE(resumed.indices().empty());
  EXPECT_EQ(told.size(), 1U);
}

TEST(Samplers, WarnOnStandardErrorWhereNobodySaysOtherwise) {
  DistributedSampler sampler{3, 1, 0};
  sampler.advance(3);
  testing::internal::CaptureStderr();
  EXPECT_TRUE(sampler.indices().empty());
  EXPECT_TRUE(sampler.indices().empty());
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "tutti: DistributedSampler: epoch 0 has ended, so indices() has no samples; call "
            "set_epoch(1) before the next epoch\n");
}

}  // namespace
}  // namespace tutti::test

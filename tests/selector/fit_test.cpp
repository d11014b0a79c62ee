// Costs fitted to times: made-up ones, of which it is known what they came from.
#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include <tutti/spi/catalog.hpp>

#include "selector/cost_models.hpp"
#include "selector/fit.hpp"

namespace tutti::detail {
namespace {

/// All algorithms of some collectives on four ranks, at these costs of messages.
class MadeUp {
 public:
  explicit MadeUp(const LinkCosts& costs) : costs_{costs} {
    for (const Collective collective : {Collective::all_reduce, Collective::broadcast})
      for (const std::size_t bytes : {64, 4096, 262144, 4194304}) add(collective, bytes);
  }
  [[nodiscard]] const std::vector<TimedRace>& races() const { return races_; }

 private:
  void add(Collective collective, std::size_t bytes) {
    const Catalog catalog;
    TimedRace race;
    for (const Algorithm* const row : catalog.rows()) {
      if (row->collective != collective || !has_default(row->parameter)) continue;
      try {
        profiles_.push_back(profile_of({.algorithm = row, .number = row->default_number}, 4, 0));
      } catch (const Error&) {
        continue;  // not on four ranks
      }
      const Profile& profile = profiles_.back();
      race.push_back(
          {&profile, bytes, 0, static_cast<double>(profile.time(bytes, 0, costs_)) * 1e-9});
    }
    races_.push_back(std::move(race));
  }

  LinkCosts costs_;
  std::deque<Profile> profiles_{};
  std::vector<TimedRace> races_{};
};

void expect_found(const LinkCosts& truth, const LinkCosts& start) {
  const MadeUp made_up{truth};
  const Fit fit = fit_costs(made_up.races(), start);
  EXPECT_LT(fit.loss, 1.01);
  EXPECT_LT(fit.median_error, 0.05);
  EXPECT_LE(fit.loss, loss_of(made_up.races(), start) + 1e-9);
}

TEST(Fit, FindsWhatTimesWereMadeOf) {
  expect_found({.alpha = 700'000'000, .beta = 60'000, .gamma = 30'000}, kDefaultCosts);
  expect_found({.alpha = 25'000'000'000, .beta = 8'000'000, .gamma = 50'000}, kDefaultCosts);
  LinkCosts crowded = detail::kCrowdedCosts;
  crowded.shared_cores = 2;
  LinkCosts truth = crowded;
  truth.alpha *= 3;
  truth.round /= 2;
  truth.beta *= 2;
  expect_found(truth, crowded);
}

TEST(Fit, KeepsWhatIsRightAlready) {
  const MadeUp made_up{kDefaultCosts};
  const Fit fit = fit_costs(made_up.races(), kDefaultCosts);
  EXPECT_EQ(fit.costs, kDefaultCosts);
  EXPECT_DOUBLE_EQ(fit.loss, 1);
  EXPECT_NEAR(fit.median_error, 0, 1e-3);
}

TEST(Fit, IsTheSameForTheSameTimes) {
  const MadeUp made_up{{.alpha = 700'000'000, .beta = 60'000, .gamma = 30'000}};
  EXPECT_EQ(fit_costs(made_up.races(), kDefaultCosts).costs,
            fit_costs(made_up.races(), kDefaultCosts).costs);
}

TEST(Fit, PrefersCostsThatChooseWell) {
  // Two algorithms whose order the start has wrong, while its predictions are nearly right.
  const MadeUp made_up{kDefaultCosts};
  std::vector<TimedRace> races = made_up.races();
  LinkCosts start = kDefaultCosts;
  start.alpha /= 50;
  EXPECT_GT(loss_of(races, start), 1.1);
  EXPECT_LT(fit_costs(races, start).loss, 1.01);
}

}  // namespace
}  // namespace tutti::detail

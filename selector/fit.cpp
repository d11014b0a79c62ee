#include "fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

namespace tutti::v0::detail {
namespace {

constexpr std::array kFitted{&LinkCosts::alpha, &LinkCosts::beta, &LinkCosts::gamma,
                             &LinkCosts::round, &LinkCosts::gamma_read};
constexpr double kErrorWeight = 0.05;  // errors decide only between costs that choose alike
constexpr int kStarts = 8;
constexpr Femtoseconds kSomething = 1'000'000;  // a cost of zero grows from here

double predicted_us(const TimedChoice& timed, const LinkCosts& costs) {
  const Femtoseconds time = timed.profile->time(timed.bytes, timed.segment_bytes, costs);
  return static_cast<double>(std::max<Femtoseconds>(time, 1)) * 1e-9;
}

double best_of(const TimedRace& race) {
  return std::ranges::min_element(race, {}, &TimedChoice::time_us)->time_us;
}

/// The logarithm of the loss of the choice that the costs make.
double log_loss(const TimedRace& race, const LinkCosts& costs) {
  const auto cost = [&](const TimedChoice& timed) { return predicted_us(timed, costs); };
  return std::log(std::ranges::min_element(race, {}, cost)->time_us / best_of(race));
}

double mean_loss(std::span<const TimedRace> races, const LinkCosts& costs) {
  double sum = 0;
  for (const TimedRace& race : races) sum += log_loss(race, costs);
  return sum / static_cast<double>(races.size());
}

double badness(std::span<const TimedRace> races, const LinkCosts& costs) {
  double squares = 0;
  std::size_t cells = 0;
  for (const TimedRace& race : races) {
    const double best = best_of(race);
    for (const TimedChoice& timed : race) {
      const double error = std::log(predicted_us(timed, costs) / timed.time_us);
      squares += error * error * best / timed.time_us;
    }
    cells += race.size();
  }
  return mean_loss(races, costs) + kErrorWeight * std::sqrt(squares / static_cast<double>(cells));
}

LinkCosts scaled(LinkCosts costs, Femtoseconds LinkCosts::*member, double factor) {
  const Femtoseconds now = costs.*member;
  costs.*member = now == 0 && factor > 1
                      ? kSomething
                      : static_cast<Femtoseconds>(static_cast<double>(now) * factor);
  return costs;
}

/// Changes one cost at a time, by shrinking steps, as long as the fit improves.
void descend(std::span<const TimedRace> races, LinkCosts& costs, double& least) {
  for (double step = 4; step > 1.03; step = std::sqrt(step))
    for (bool moved = true; moved;) {
      moved = false;
      for (const auto member : kFitted)
        for (const double factor : {step, 1 / step}) {
          const LinkCosts next = scaled(costs, member, factor);
          const double bad = badness(races, next);
          if (bad >= least - 1e-6) continue;
          costs = next;
          least = bad;
          moved = true;
        }
    }
}

double median_error_of(std::span<const TimedRace> races, const LinkCosts& costs) {
  std::vector<double> errors;
  for (const TimedRace& race : races)
    for (const TimedChoice& timed : race)
      errors.push_back(std::abs(std::log(predicted_us(timed, costs) / timed.time_us)));
  const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
  std::ranges::nth_element(errors, middle);
  return std::exp(*middle) - 1;
}

}  // namespace

double loss_of(std::span<const TimedRace> races, const LinkCosts& costs) {
  return std::exp(mean_loss(races, costs));
}

Fit fit_costs(std::span<const TimedRace> races, const LinkCosts& start) {
  std::mt19937 chance{1};  // a fixed seed, so that equal times give equal costs
  LinkCosts best = start;
  double least = badness(races, start);
  for (int attempt = 0; attempt < kStarts; ++attempt) {
    LinkCosts costs = best;
    if (attempt % 2 == 1) costs.half_duplex = !costs.half_duplex;
    if (attempt > 1)
      for (const auto member : kFitted)
        costs =
            scaled(costs, member, std::exp((static_cast<double>(chance() % 2001) - 1000) / 500));
    double bad = badness(races, costs);
    descend(races, costs, bad);
    if (bad >= least) continue;
    best = costs;
    least = bad;
  }
  return {best, loss_of(races, best), median_error_of(races, best)};
}

}  // namespace tutti::v0::detail

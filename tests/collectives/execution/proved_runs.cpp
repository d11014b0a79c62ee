#include "tests/collectives/execution/proved_runs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include <tutti/spi/algorithm.hpp>

#include "backends/sim/random.hpp"
#include "proof/verify_row.hpp"
#include "tests/collectives/execution/random_schedules.hpp"
#include "tests/proof/verify_mutator.hpp"
#include "tests/support/schedule_run.hpp"

namespace tutti::harness {
namespace {

using samples::Sample;

/// Averages of fractions, where nearly every sum and every quotient is rounded. The oracle's are
/// not, so results may differ from it a little, but not from each other.
/// @param equal whether all elements that are filled in at a time are equal.
Model half_average(bool equal) {
  Model model = model_of(Datatype::f16, OperatorKind::average);
  model.fill = [equal](Rank rank, std::size_t first, std::size_t count, void* to) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t bits = mix(rank, equal ? first : first + i);
      static_cast<Float16*>(to)[i] = Float16{static_cast<float>(bits % 4096) / 61.0F};
    }
  };
  model.reduce = [](std::span<const void* const> operands, std::size_t count, void* result) {
    for (std::size_t i = 0; i < count; ++i) {
      float sum = 0;
      for (const void* const operand : operands)
        sum += static_cast<float>(static_cast<const Float16*>(operand)[i]);
      static_cast<Float16*>(result)[i] = Float16{sum / static_cast<float>(operands.size())};
    }
  };
  model.differ = [](const void* got, const void* wanted, std::size_t count) {
    std::size_t i = 0;
    while (i < count) {
      const auto a = static_cast<float>(static_cast<const Float16*>(got)[i]);
      const auto b = static_cast<float>(static_cast<const Float16*>(wanted)[i]);
      if (!(std::abs(a - b) <= 0.01F * b + 0.01F)) break;
      ++i;
    }
    return i;
  };
  return model;
}

std::span<const Float16> halves(Experiment& experiment, Rank rank) {
  const std::span<const std::byte> bytes = experiment.result(rank);
  return {reinterpret_cast<const Float16*>(bytes.data()), bytes.size() / sizeof(Float16)};
}

/// Runs one proved set of schedules.
class Trial {
 public:
  Trial(const Sample& sample, const Facts& facts, std::uint64_t seed)
      : sample_{sample}, facts_{facts}, random_{seed} {}

  /// @return what went wrong, if anything did.
  std::string run() {
    std::string problem{};
    const Collective collective = sample_.contract.collective;
    for (const bool in_place : {false, true}) {
      in_place_ = in_place;
      if (!is_reduction(collective)) {
        try_run(problem, opaque_model(1 + random_.below(5)));
        continue;
      }
      try_run(problem, any_model());
      if (facts_.ordered.holds) try_run(problem, affine_model());
      if (facts_.rank_identical.holds && collective == Collective::all_reduce)
        try_run(problem, half_average(false), [this](Experiment& e) { return ranks_differ(e); });
      // There is no average of a prefix.
      if (facts_.size_invariant.holds && !is_prefix(collective))
        try_run(problem, half_average(true), [this](Experiment& e) { return units_differ(e); });
    }
    return problem;
  }

 private:
  using Check = std::function<std::string(Experiment&)>;

  void try_run(std::string& problem, const Model& model, const Check& check = {}) {
    if (!problem.empty()) return;
    constexpr std::size_t kSegments[] = {1, 1, 2, 5};
    const ScheduleRun how{.segments = kSegments[random_.below(4)], .seed = random_.next()};
    Experiment experiment{{.collective = sample_.contract.collective,
                           .size = sample_.contract.size,
                           .counts = counts(),
                           .root = sample_.contract.root,
                           .in_place = in_place_,
                           .model = model,
                           .salt = random_.below(100)}};
    problem = run_schedules(sample_.schedules, experiment, how);
    if (!problem.empty() || !check) return;
    problem = check(experiment);
    if (!problem.empty()) problem = experiment.what().describe() + ": " + problem;
  }
  const Model& any_model() {
    while (true) {
      const Model& model = all_models()[random_.below(all_models().size())];
      if (!is_prefix(sample_.contract.collective) || model.op.kind() != OperatorKind::average)
        return model;
    }
  }
  std::vector<std::size_t> counts() {
    constexpr std::size_t kCounts[] = {0, 1, 3, 8, 19, 40};
    std::vector<std::size_t> list(sample_.contract.blocks());
    for (std::size_t& count : list) count = kCounts[random_.below(6)];
    if (list.size() == 1) list[0] += 20;
    return list;
  }
  [[nodiscard]] std::string ranks_differ(Experiment& experiment) const {
    for (Rank rank = 1; rank < sample_.contract.size; ++rank)
      if (!std::ranges::equal(halves(experiment, 0), halves(experiment, rank)))
        return "proved rank_identical, but rank " + std::to_string(rank) + " has other bits";
    return {};
  }
  [[nodiscard]] std::string units_differ(Experiment& experiment) const {
    std::vector<Float16> seen{};
    for (Rank rank = 0; rank < sample_.contract.size; ++rank) {
      // Between ranks, only rank_identical promises anything about one and the same unit.
      if (sample_.contract.collective != Collective::reduce_scatter) seen.clear();
      for (const Float16 element : halves(experiment, rank)) seen.push_back(element);
      if (std::ranges::adjacent_find(seen, std::ranges::not_equal_to{}) != seen.end())
        return "proved size_invariant, but elements of rank " + std::to_string(rank) +
               " have other bits than their like";
    }
    return {};
  }

  const Sample& sample_;
  const Facts& facts_;
  sim::Random random_;
  bool in_place_ = false;
};

Sample mutant(Sample sample, std::uint64_t seed) {
  std::string what{};
  return seed % 2 == 0 ? samples::relisted(std::move(sample), seed)
                       : samples::Mutator{seed}.mutate(std::move(sample), what);
}

}  // namespace

Survey survey(Generator make, std::uint64_t first, std::uint64_t count) {
  Survey numbers{};
  Verifier verifier{};
  for (std::uint64_t seed = first; seed < first + count && !::testing::Test::HasFailure(); ++seed) {
    const Sample sample = make(seed);
    ++numbers.seen;
    const Verdict verdict =
        verifier.verify({.contract = sample.contract, .schedules = sample.schedules, .claims = {}});
    if (!verdict.proved()) continue;
    ++numbers.proved;
    if (is_reduction(sample.contract.collective)) {
      numbers.ordered += verdict.facts.ordered.holds ? 1 : 0;
      numbers.size_invariant += verdict.facts.size_invariant.holds ? 1 : 0;
      if (sample.contract.collective == Collective::all_reduce)
        numbers.rank_identical += verdict.facts.rank_identical.holds ? 1 : 0;
    }
    EXPECT_EQ((Trial{sample, verdict.facts, seed}.run()), "") << "seed " << seed;
  }
  return numbers;
}

Sample mutant_of_catalog(std::uint64_t seed) {
  sim::Random random{seed};
  const std::span<const Algorithm> rows = catalog();
  const Algorithm& row = rows[random.below(rows.size())];
  int size = 2 + static_cast<int>(random.below(5));
  while (!admits(row.traits.sizes, size)) --size;
  const Rank root = is_rooted(row.collective)
                        ? static_cast<Rank>(random.below(static_cast<std::uint64_t>(size)))
                        : 0;
  const std::vector<Choice> choices = verified_choices(row, size, seed);
  const Choice& choice =
      has_default(row.parameter) ? choices.front() : choices[random.below(choices.size())];
  Sample sample{{row.collective, size, root}, {}};
  const auto factor = static_cast<std::uint32_t>(1 + random.below(3));
  for (Rank rank = 0; rank < size; ++rank) {
    const Schedule schedule = choice.build(size, root, rank);
    sample.schedules.push_back(refine(schedule, schedule.units() * factor));
  }
  return mutant(std::move(sample), random.next());
}

Sample mutant_of_random_reduction(std::uint64_t seed) {
  return mutant(samples::random_reduction(seed), seed);
}

}  // namespace tutti::harness

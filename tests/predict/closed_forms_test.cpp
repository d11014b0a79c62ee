// Predicted times against the closed forms of the literature, written here from scratch and
// compared as integers: p ranks, a vector of m bytes, q = ceil(log2 p), W = m (p-1)/p.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "collectives/predict.hpp"

namespace tutti {
namespace {

struct Terms {
  std::int64_t p;
  std::int64_t m;
  std::int64_t q;  // ceil(log2 p)
  std::int64_t w;  // m (p-1) / p
  std::int64_t segments = 1;
};

// Prime, so that no two different terms are equal by chance.
constexpr std::int64_t kAlpha = 1'000'003;
constexpr std::int64_t kBeta = 101;
constexpr std::int64_t kGamma = 53;

bool any(std::int64_t) {
  return true;
}
bool power_of_two(std::int64_t p) {
  return (p & (p - 1)) == 0;
}
bool power_of_three(std::int64_t p) {
  return p == 1 || p == 3 || p == 9 || p == 27;
}
bool even(std::int64_t p) {
  return p % 2 == 0;
}
bool several(std::int64_t p) {
  return p > 1;
}
bool two_levels(std::int64_t p) {
  return power_of_two(p) && p >= 4;
}
bool three_levels(std::int64_t p) {
  return power_of_two(p) && p >= 8;
}

std::int64_t floor_log2(std::int64_t p) {
  std::int64_t log = 0;
  while ((std::int64_t{2} << log) <= p) ++log;
  return log;
}

std::int64_t log3(std::int64_t p) {
  std::int64_t log = 0;
  for (std::int64_t power = 1; power < p; power *= 3) ++log;
  return log;
}

struct Form {
  Collective collective;
  std::string choice;
  bool (*applies)(std::int64_t p);
  std::function<std::int64_t(const Terms&)> time;
  std::int64_t segments = 1;
};

std::int64_t least_volume(const Terms& t, std::int64_t messages) {
  return messages * kAlpha + 2 * t.w * kBeta + t.w * kGamma;
}
std::int64_t gathering(const Terms& t, std::int64_t messages) {
  return messages * kAlpha + t.w * kBeta;
}
std::int64_t scattering(const Terms& t, std::int64_t messages) {
  return messages * kAlpha + t.w * (kBeta + kGamma);
}
std::int64_t hop(const Terms& t) {
  return kAlpha + t.m * kBeta;
}
std::int64_t exchange(const Terms& t) {
  return kAlpha + t.m * (kBeta + kGamma);
}

std::int64_t pipelined(const Terms& t, std::int64_t first, std::int64_t others) {
  return first + (t.segments - 1) * others;
}
std::int64_t cost(std::int64_t messages, std::int64_t moved, std::int64_t reduced) {
  return messages * kAlpha + moved * kBeta + reduced * kGamma;
}

/// With eight blocks per message: three rounds spread a block, the others fill what is between.
std::int64_t pat_rounds(const Terms& t) {
  return t.p <= 16 ? t.q : 3 + t.p / 8 - 1;
}

/// Trees that run in segments: the way of one, and what the busiest rank does with each other one.
std::vector<Form> pipelines() {
  using enum Collective;
  std::vector<Form> forms;
  for (const std::int64_t segments : {1, 4}) {
    forms.push_back({broadcast, "double_binary_tree", two_levels,
                     [](auto& t) {
                       const std::int64_t m = t.m / t.segments;
                       return pipelined(t, cost(2 * t.q, t.q * m, 0), cost(2, m, 0));
                     },
                     segments});
    forms.push_back({reduce, "double_binary_tree", two_levels,
                     [](auto& t) {
                       const std::int64_t m = t.m / t.segments;
                       return pipelined(t, cost(t.q + 1, (t.q + 1) * m / 2, t.q * m),
                                        cost(2, m, m));
                     },
                     segments});
    forms.push_back({all_reduce, "double_binary_tree", two_levels,
                     [](auto& t) {
                       const std::int64_t m = t.m / t.segments;
                       return pipelined(t, cost(3 * t.q + 1, (3 * t.q + 1) * m / 2, t.q * m),
                                        cost(4, 2 * m, m));
                     },
                     segments});
    forms.push_back({all_reduce, "dual_root", three_levels,
                     [](auto& t) {
                       const std::int64_t m = t.m / t.segments;
                       const std::int64_t up = t.q - 1;
                       return pipelined(t, cost(3 * up, 3 * up * m, 2 * up * m),
                                        cost(3, 3 * m, 3 * m));
                     },
                     segments});
  }
  return forms;
}

std::vector<Form> reductions() {
  using enum Collective;
  return {
      {all_reduce, "recursive_doubling", power_of_two, [](auto& t) { return t.q * exchange(t); }},
      {all_reduce, "recursive_doubling", any,
       [](auto& t) {
         const std::int64_t extra = power_of_two(t.p) ? 0 : 2 * hop(t) + t.m * kGamma;
         return floor_log2(t.p) * exchange(t) + extra;
       }},
      {all_reduce, "rabenseifner", power_of_two, [](auto& t) { return least_volume(t, 2 * t.q); }},
      {all_reduce, "circulant", any, [](auto& t) { return least_volume(t, 2 * t.q); }},
      {all_reduce, "ring", any, [](auto& t) { return least_volume(t, 2 * (t.p - 1)); }},
      {all_reduce, "direct", any, [](auto& t) { return least_volume(t, 2 * (t.p - 1)); }},
      {all_reduce, "one_shot", any, [](auto& t) { return (t.p - 1) * exchange(t); }},
      {all_reduce, "segmented_ring", any,
       [](auto& t) { return least_volume(t, 4 * 2 * (t.p - 1)); }, 4},
      {all_reduce, "reduce_broadcast", power_of_two,
       [](auto& t) { return t.q * (exchange(t) + hop(t)); }},
      {all_reduce, "recursive_multiplying:k=2", any,
       [](auto& t) {
         const std::int64_t extra = power_of_two(t.p) ? 0 : 2 * hop(t) + t.m * kGamma;
         return floor_log2(t.p) * exchange(t) + extra;
       }},
      {all_reduce, "recursive_multiplying:k=3", power_of_three,
       [](auto& t) { return 2 * log3(t.p) * exchange(t); }},
      {all_reduce, "swing", even, [](auto& t) { return least_volume(t, 2 * t.q); }},
      {all_reduce, "bine", power_of_two, [](auto& t) { return least_volume(t, 2 * t.q); }},
      {all_reduce, "parameter_server", several,
       [](auto& t) { return cost(t.p, 2 * (t.p - 1) * t.m, (t.p - 1) * t.m); }},
      {reduce, "binomial", power_of_two, [](auto& t) { return t.q * exchange(t); }},
      {reduce, "bine", power_of_two, [](auto& t) { return t.q * exchange(t); }},
      {reduce, "direct", several,
       [](auto& t) { return cost(1, (t.p - 1) * t.m, (t.p - 1) * t.m); }},
      {reduce, "circulant:b=4", power_of_two,
       [](auto& t) {
         const std::int64_t rounds = t.p == 1 ? 0 : 3 + t.q;
         return cost(rounds, rounds * t.m / 4, rounds * t.m / 4);
       }},
      {reduce, "chain", several,
       [](auto& t) {
         return (t.segments + t.p - 2) * (kAlpha + t.m / t.segments * (kBeta + kGamma));
       },
       4},
      {reduce, "reduce_scatter_gather", power_of_two,
       [](auto& t) { return least_volume(t, 2 * t.q); }},
      {reduce_scatter, "circulant", any, [](auto& t) { return scattering(t, t.q); }},
      {reduce_scatter, "recursive_halving", power_of_two,
       [](auto& t) { return scattering(t, t.q); }},
      {reduce_scatter, "ring", any, [](auto& t) { return scattering(t, t.p - 1); }},
      {reduce_scatter, "direct", any, [](auto& t) { return scattering(t, t.p - 1); }},
      {reduce_scatter, "swing", even, [](auto& t) { return scattering(t, t.q); }},
      {reduce_scatter, "bine", power_of_two, [](auto& t) { return scattering(t, t.q); }},
      {reduce_scatter, "pat", power_of_two, [](auto& t) { return scattering(t, pat_rounds(t)); }},
      {reduce_scatter, "pat:a=1", any, [](auto& t) { return scattering(t, t.p - 1); }},
  };
}

std::vector<Form> movements() {
  using enum Collective;
  const auto per_rank = [](const Terms& t) { return t.m / t.p * (t.p - 1) / t.p; };
  return {
      {broadcast, "binomial", any, [](auto& t) { return t.q * hop(t); }},
      {broadcast, "knomial:k=3", power_of_three, [](auto& t) { return 2 * log3(t.p) * hop(t); }},
      {broadcast, "chain", several, [](auto& t) { return (t.p - 1) * hop(t); }},
      {broadcast, "chain", several,
       [](auto& t) { return (t.segments + t.p - 2) * (kAlpha + t.m / t.segments * kBeta); }, 4},
      {broadcast, "scatter_all_gather", power_of_two,
       [](auto& t) { return 2 * gathering(t, t.q); }},
      {broadcast, "bine", power_of_two, [](auto& t) { return t.q * hop(t); }},
      {broadcast, "circulant:b=4", several,
       [](auto& t) { return cost(3 + t.q, (3 + t.q) * t.m / 4, 0); }},
      {broadcast, "circulant:b=1", any, [](auto& t) { return t.q * hop(t); }},
      {scatter, "binomial", power_of_two, [](auto& t) { return gathering(t, t.q); }},
      {scatter, "direct", any, [](auto& t) { return gathering(t, t.p - 1); }},
      {scatter, "linear:k=3", any, [](auto& t) { return gathering(t, t.p - 1); }},
      {all_gather, "ring", any, [](auto& t) { return gathering(t, t.p - 1); }},
      {all_gather, "direct", any, [](auto& t) { return gathering(t, t.p - 1); }},
      {all_gather, "recursive_doubling", power_of_two, [](auto& t) { return gathering(t, t.q); }},
      {all_gather, "bruck", any, [](auto& t) { return gathering(t, t.q); }},
      {all_gather, "bruck:k=3", power_of_three,
       [](auto& t) { return gathering(t, 2 * log3(t.p)); }},
      {all_gather, "circulant", any, [](auto& t) { return gathering(t, t.q); }},
      {all_gather, "neighbor_exchange", even, [](auto& t) { return gathering(t, t.p / 2); }},
      {all_gather, "sparbit", any, [](auto& t) { return gathering(t, t.q); }},
      {all_gather, "swing", even, [](auto& t) { return gathering(t, t.q); }},
      {all_gather, "bine", power_of_two, [](auto& t) { return gathering(t, t.q); }},
      {all_gather, "pat", power_of_two, [](auto& t) { return gathering(t, pat_rounds(t)); }},
      {all_gather, "pat:a=1", any, [](auto& t) { return gathering(t, t.p - 1); }},
      {all_to_all, "bruck", power_of_two,
       [](auto& t) { return cost(t.q, t.q * t.m / t.p / 2, 0); }},
      {all_to_all, "linear:k=2", any,
       [=](auto& t) { return (t.p - 1) * kAlpha + per_rank(t) * kBeta; }},
      {all_to_all, "pairwise", any,
       [=](auto& t) { return (t.p - 1) * kAlpha + per_rank(t) * kBeta; }},
      {all_to_all, "direct", any,
       [=](auto& t) { return (t.p - 1) * kAlpha + per_rank(t) * kBeta; }},
  };
}

void expect_equal(const Form& form) {
  for (std::int64_t p : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 27, 32, 33}) {
    if (!form.applies(p)) continue;
    Terms t{.p = p,
            .m = 64 * p * p,
            .q = floor_log2(p) + !power_of_two(p),
            .w = 0,
            .segments = form.segments};
    t.w = t.m / p * (p - 1);
    const Choice choice = parse_choice(form.collective, form.choice);
    const auto bytes = static_cast<std::size_t>(t.m);
    const std::size_t segment =
        form.segments == 1 ? 0 : bytes / static_cast<std::size_t>(form.segments);
    const Profile profile = profile_of(choice, static_cast<int>(p), 0);
    EXPECT_EQ(profile.time(bytes, segment, {kAlpha, kBeta, kGamma}), form.time(t))
        << name_of(form.collective) << " " << form.choice << " on " << p << " ranks";
  }
}

TEST(ClosedForms, OfReductionsAreMet) {
  for (const Form& form : reductions()) expect_equal(form);
}

TEST(ClosedForms, OfMovementsAreMet) {
  for (const Form& form : movements()) expect_equal(form);
}

TEST(ClosedForms, OfPipelinesAreMet) {
  for (const Form& form : pipelines()) expect_equal(form);
}

// Rounds: k transfers at a time, and as many as there are digits, or blocks and doublings.
TEST(ClosedForms, OfRoundsAreMet) {
  const auto rounds = [](Collective collective, const char* choice, int size) {
    return profile_of(parse_choice(collective, choice), size, 0).rounds;
  };
  EXPECT_EQ(rounds(Collective::all_to_all, "linear:k=4", 10), 3U);
  EXPECT_EQ(rounds(Collective::all_to_all, "linear:k=4", 9), 2U);
  EXPECT_EQ(rounds(Collective::scatter, "linear:k=4", 10), 3U);
  EXPECT_EQ(rounds(Collective::gather, "linear:k=4", 9), 2U);
  EXPECT_EQ(rounds(Collective::all_to_all, "bruck:k=3", 28), 4U);
  EXPECT_EQ(rounds(Collective::broadcast, "circulant:b=20", 33), 25U);
  EXPECT_EQ(rounds(Collective::all_gather, "circulant_blocks:b=20", 33), 25U);
  EXPECT_EQ(rounds(Collective::all_gather, "pat:a=4", 64), 17U);
  EXPECT_EQ(rounds(Collective::all_reduce, "recursive_multiplying:k=8", 64), 2U);
  EXPECT_EQ(rounds(Collective::all_reduce, "parameter_server:s=3", 64), 2U);
}

TEST(ClosedForms, OfTheBarrierAreMet) {
  const auto time = [](const char* choice, int size) {
    return profile_of(parse_choice(Collective::barrier, choice), size, 0)
        .time(0, 0, {kAlpha, kBeta, kGamma});
  };
  EXPECT_EQ(time("dissemination", 1), 0);
  EXPECT_EQ(time("dissemination", 5), 3 * kAlpha);
  EXPECT_EQ(time("dissemination", 64), 6 * kAlpha);
  EXPECT_EQ(time("dissemination:k=4", 64), 3 * 3 * kAlpha);
}

TEST(ClosedForms, DoNotDependOnTheRoot) {
  for (const char* name : {"binomial", "knomial:k=3", "chain", "scatter_all_gather",
                           "double_binary_tree", "circulant"}) {
    const Choice choice = parse_choice(Collective::broadcast, name);
    for (const Rank root : {0, 3, 8})
      EXPECT_EQ(profile_of(choice, 9, root), profile_of(choice, 9, 0)) << name << " " << root;
  }
}

}  // namespace
}  // namespace tutti

#include "closed_forms.hpp"

#include <algorithm>

namespace tutti::closed_forms {

std::int64_t levels(std::int64_t p, std::int64_t k) {
  std::int64_t count = 0;
  for (std::int64_t power = 1; power < p; power *= k) ++count;
  return count;
}

namespace {

std::int64_t floor_log2(std::int64_t p) {
  std::int64_t log = 0;
  while ((std::int64_t{2} << log) <= p) ++log;
  return log;
}

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
bool odd(std::int64_t p) {
  return p > 1 && p % 2 == 1;
}
bool multiple_of_three(std::int64_t p) {
  return p % 3 == 0;
}
bool slim_fly(std::int64_t p) {
  return p == 18 || p == 32;
}
bool two_levels(std::int64_t p) {
  return power_of_two(p) && p >= 4;
}
bool three_levels(std::int64_t p) {
  return power_of_two(p) && p >= 8;
}

/// Children of the root of a k-nomial tree: k - 1 on every level, as far as there are ranks.
std::int64_t root_children(std::int64_t p, std::int64_t k) {
  std::int64_t count = 0;
  for (std::int64_t power = 1; power < p; power *= k) count += std::min(k - 1, (p - 1) / power);
  return count;
}

/// Links between the root of a k-nomial tree and the rank that is furthest from it: the
/// distance of a rank is the number of its digits other than zero, and 1, 11, 111, ... are the
/// first ranks at 1, 2, 3, ...
std::int64_t depth(std::int64_t p, std::int64_t k) {
  std::int64_t count = 0;
  for (std::int64_t first = 1; first < p; first = first * k + 1) ++count;
  return count;
}

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

/// Rabenseifner's butterfly of p ranks, a power of two.
std::int64_t halving_and_doubling(std::int64_t m, std::int64_t p) {
  const std::int64_t w = m / p * (p - 1);
  return cost(2 * levels(p, 2), 2 * w, w);
}

/// The first rank of a pair that stands for one sends its vector away, and receives its block at
/// the end. The pairs come first, so that rank 1 has the most blocks in every round.
std::int64_t recursive_halving(const Terms& t) {
  const std::int64_t core = std::int64_t{1} << floor_log2(t.p);
  const std::int64_t pairs = t.p - core;
  const std::int64_t block = t.m / t.p;
  std::int64_t kept = 0;
  for (std::int64_t half = core / 2; half > 0; half /= 2)
    kept += (half + std::min(half, pairs)) * block;
  const std::int64_t halved = cost(floor_log2(t.p), kept, kept);
  return pairs == 0 ? halved : halved + exchange(t) + cost(1, block, 0);
}

/// A rank receives both its children's vectors before it sends its own; the last one passes the
/// result on to the root. Halves are rounded down, so that the way to them is the longest.
std::int64_t in_order_binary(const Terms& t) {
  const std::int64_t height = floor_log2(t.p);
  const std::int64_t both = 2 * t.p >= 3 << height ? 1 : 0;  // the last node has two children
  return cost(height + 1, (height + both + 1) * t.m, (2 * height - 1 + both) * t.m);
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
      {all_reduce, "recursive_doubling", any,
       [](auto& t) {
         const std::int64_t extra = power_of_two(t.p) ? 0 : 2 * hop(t) + t.m * kGamma;
         return floor_log2(t.p) * exchange(t) + extra;
       }},
      {all_reduce, "rabenseifner", any,
       [](auto& t) {
         const std::int64_t core = std::int64_t{1} << floor_log2(t.p);
         const std::int64_t extra = power_of_two(t.p) ? 0 : 2 * hop(t) + t.m * kGamma;
         return halving_and_doubling(t.m, core) + extra;
       }},
      {all_reduce, "circulant", any, [](auto& t) { return least_volume(t, 2 * t.q); }},
      {all_reduce, "ring", any, [](auto& t) { return least_volume(t, 2 * (t.p - 1)); }},
      {all_reduce, "direct", any, [](auto& t) { return least_volume(t, 2 * (t.p - 1)); }},
      {all_reduce, "one_shot", any, [](auto& t) { return (t.p - 1) * exchange(t); }},
      {all_reduce, "segmented_ring", any,
       [](auto& t) { return least_volume(t, 4 * 2 * (t.p - 1)); }, 4},
      {all_reduce, "reduce_broadcast", any,
       [](auto& t) { return cost(depth(t.p, 2) + t.q, 2 * t.q * t.m, t.q * t.m); }},
      {all_reduce, "recursive_multiplying:k=2", any,
       [](auto& t) {
         const std::int64_t extra = power_of_two(t.p) ? 0 : 2 * hop(t) + t.m * kGamma;
         return floor_log2(t.p) * exchange(t) + extra;
       }},
      {all_reduce, "recursive_multiplying:k=3", power_of_three,
       [](auto& t) { return 2 * levels(t.p, 3) * exchange(t); }},
      {all_reduce, "swing", even, [](auto& t) { return least_volume(t, 2 * t.q); }},
      {all_reduce, "bine", power_of_two, [](auto& t) { return least_volume(t, 2 * t.q); }},
      {all_reduce, "parameter_server", several,
       [](auto& t) { return cost(t.p, 2 * (t.p - 1) * t.m, (t.p - 1) * t.m); }},
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
      {reduce, "reduce_scatter_gather", any,
       [](auto& t) { return least_volume(t, t.q + depth(t.p, 2)); }},
      {reduce_scatter, "circulant", any, [](auto& t) { return scattering(t, t.q); }},
      {reduce_scatter, "recursive_halving", any, recursive_halving},
      {reduce_scatter, "pairwise", any,
       [](auto& t) {
         // Operands of higher ranks are folded by themselves, and joined last.
         const std::int64_t joined = t.p > 2 ? t.m / t.p : 0;
         return scattering(t, t.p - 1) + joined * kGamma;
       }},
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
      {broadcast, "chain", several, [](auto& t) { return (t.p - 1) * hop(t); }},
      {broadcast, "chain", several,
       [](auto& t) { return (t.segments + t.p - 2) * (kAlpha + t.m / t.segments * kBeta); }, 4},
      {broadcast, "scatter_all_gather", any, [](auto& t) { return 2 * gathering(t, t.q); }},
      {broadcast, "bine", power_of_two, [](auto& t) { return t.q * hop(t); }},
      {broadcast, "circulant:b=4", several,
       [](auto& t) { return cost(3 + t.q, (3 + t.q) * t.m / 4, 0); }},
      {broadcast, "circulant:b=1", any, [](auto& t) { return t.q * hop(t); }},
      {scatter, "binomial", any, [](auto& t) { return gathering(t, t.q); }},
      {scatter, "direct", any, [](auto& t) { return gathering(t, t.p - 1); }},
      {scatter, "linear:k=3", any, [](auto& t) { return gathering(t, t.p - 1); }},
      {gather, "binomial", any, [](auto& t) { return gathering(t, depth(t.p, 2)); }},
      {gather, "direct", several, [](auto& t) { return gathering(t, 1); }},
      {gather, "linear:k=3", several, [](auto& t) { return gathering(t, 1); }},
      {all_gather, "ring", any, [](auto& t) { return gathering(t, t.p - 1); }},
      {all_gather, "direct", any, [](auto& t) { return gathering(t, t.p - 1); }},
      {all_gather, "recursive_doubling", power_of_two, [](auto& t) { return gathering(t, t.q); }},
      {all_gather, "bruck", any, [](auto& t) { return gathering(t, t.q); }},
      {all_gather, "bruck:k=3", power_of_three,
       [](auto& t) { return gathering(t, 2 * levels(t.p, 3)); }},
      {all_gather, "circulant", any, [](auto& t) { return gathering(t, t.q); }},
      {all_gather, "circulant_blocks:b=4", several, [](auto& t) { return gathering(t, 3 + t.q); }},
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

std::vector<Form> trees() {
  using enum Collective;
  std::vector<Form> forms{{reduce, "in_order_binary", several, in_order_binary}};
  for (const std::int64_t k : {2, 3, 4}) {
    const std::string name = k == 2 ? "binomial" : "knomial:k=" + std::to_string(k);
    forms.push_back(
        {broadcast, name, any, [k](auto& t) { return root_children(t.p, k) * hop(t); }});
    forms.push_back({reduce, name, any, [k](auto& t) {
                       const std::int64_t vectors = root_children(t.p, k) * t.m;
                       return cost(depth(t.p, k), vectors, vectors);
                     }});
  }
  return forms;
}

/// Without its own operand a rank starts one place further, and the last one of a chain reduces
/// nothing.
std::vector<Form> prefixes() {
  using enum Collective;
  std::vector<Form> forms{
      {scan, "hillis_steele", any, [](auto& t) { return t.q * exchange(t); }},
      {exscan, "hillis_steele", several,
       [](auto& t) { return hop(t) + levels(t.p - 1, 2) * exchange(t); }},
  };
  for (const std::int64_t segments : {1, 4}) {
    forms.push_back({scan, "chain", several,
                     [](auto& t) {
                       const std::int64_t m = t.m / t.segments;
                       return (t.segments + t.p - 2) * cost(1, m, m);
                     },
                     segments});
    forms.push_back({exscan, "chain", several,
                     [](auto& t) {
                       const std::int64_t m = t.m / t.segments;
                       const std::int64_t reduced = t.p > 2 ? t.segments + t.p - 3 : 0;
                       return cost(t.segments + t.p - 2, (t.segments + t.p - 2) * m, reduced * m);
                     },
                     segments});
  }
  return forms;
}

/// The forms of multitree, bucket and multi_ring on networks: on a ring both ways at once, on a
/// complete graph all ranks at once, on a torus a ring for each side.
std::vector<Form> networks() {
  using enum Collective;
  const auto sides = [](const Terms& t) { return 3 - 1 + t.p / 3 - 1; };
  const auto once = [](const Terms& t) { return t.p - 1; };
  std::vector<Form> forms{
      {all_reduce, "multi_ring:graph=ring:#", any,
       [](auto& t) { return least_volume(t, (t.p > 2 ? 4 : 2) * (t.p - 1)); }},
      {all_reduce, "multi_ring:graph=complete:#", odd,
       [](auto& t) { return least_volume(t, 2 * (t.p - 1) * (t.p - 1)); }},
      // Twice in rows and twice between them, and with a partner; q^2 blocks.
      {all_reduce, "slim_fly", slim_fly,
       [](auto& t) {
         const std::int64_t q = t.p == 18 ? 3 : 4;
         return cost(4 * (q - 1) + 1, 2 * t.m - t.m / (q * q), t.m);
       }},
  };
  const auto add = [&](const std::string& name, bool (*applies)(std::int64_t), std::int64_t rows,
                       auto messages) {
    forms.push_back({all_reduce, name, applies,
                     [=](auto& t) { return least_volume(t, 2 * messages(t)); }, 1, rows});
    forms.push_back({reduce_scatter, name, applies,
                     [=](auto& t) { return scattering(t, messages(t)); }, 1, rows});
    forms.push_back(
        {all_gather, name, applies, [=](auto& t) { return gathering(t, messages(t)); }, 1, rows});
  };
  add("multitree:graph=ring:#", any, 1, once);
  add("multitree:graph=complete:#", any, 1, once);
  add("bucket:graph=torus:3x#", multiple_of_three, 3, sides);
  return forms;
}

/// Three groups of equal size, whose stages follow each other.
std::vector<Form> hierarchies() {
  using enum Collective;
  const auto rounds = [](const Terms& t) { return levels(t.p / 3, 2) + levels(3, 2); };
  const auto links = [](const Terms& t) { return depth(t.p / 3, 2) + depth(3, 2); };
  const std::string circulants = "hierarchical(circulant, circulant):groups=3";
  const std::string binomials = "hierarchical(binomial, binomial):groups=3";
  return {
      {all_reduce, circulants, multiple_of_three,
       [=](auto& t) { return least_volume(t, 2 * rounds(t)); }},
      {reduce_scatter, circulants, multiple_of_three,
       [=](auto& t) { return scattering(t, rounds(t)); }},
      {all_gather, circulants, multiple_of_three, [=](auto& t) { return gathering(t, rounds(t)); }},
      {broadcast, binomials, multiple_of_three, [=](auto& t) { return rounds(t) * hop(t); }},
      {reduce, binomials, multiple_of_three,
       [=](auto& t) { return cost(links(t), rounds(t) * t.m, rounds(t) * t.m); }},
      {scatter, binomials, multiple_of_three, [=](auto& t) { return gathering(t, rounds(t)); }},
      {gather, binomials, multiple_of_three, [=](auto& t) { return gathering(t, links(t)); }},
      {all_to_all, "hierarchical(direct, direct):groups=3", multiple_of_three,
       [](auto& t) {
         const std::int64_t others = t.p / 3 - 1;  // of the group; and two of the lane
         return cost(others + 2, (others * 3 + 2 * (t.p / 3)) * (t.m / t.p / t.p), 0);
       }},
  };
}

}  // namespace

std::vector<Form> every_form() {
  std::vector<Form> all;
  for (const auto& forms :
       {reductions(), movements(), pipelines(), trees(), prefixes(), networks(), hierarchies()})
    all.insert(all.end(), forms.begin(), forms.end());
  return all;
}

}  // namespace tutti::closed_forms

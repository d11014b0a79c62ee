#include "perf/sweep/workload.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "collectives/binding/call_fields.hpp"

namespace tutti::perf {

namespace {

constexpr std::array<std::pair<Collective, std::string_view>, 5> kUneven{
    {{Collective::scatter, "scatterv"},
     {Collective::gather, "gatherv"},
     {Collective::all_gather, "all_gatherv"},
     {Collective::reduce_scatter, "reduce_scatterv"},
     {Collective::all_to_all, "all_to_allv"}}};

// Elements of the blocks before one.
std::size_t block_offset(const Problem& problem, Rank rank) {
  const auto r = static_cast<std::size_t>(rank);
  if (!problem.uneven) return r * problem.count;
  const auto n = static_cast<std::size_t>(problem.size);
  const std::size_t total = problem.count * n;
  const std::size_t shares = n * (n + 1);
  const std::size_t before = r * (r + 1);
  return total / shares * before + total % shares * before / shares;
}

// Elements of an all_to_all that one rank has for those before another one, or gets from them.
std::size_t pair_offset(const Problem& problem, Rank rank, Rank other) {
  std::size_t sum = 0;
  for (Rank r = 0; r < other; ++r) sum += block_count(problem, (rank + r) % problem.size);
  return sum;
}

// Also of a gather, where only the root gets the blocks.
Layout layout_of_gathering(const Problem& problem, Rank rank, bool gets) {
  const std::size_t own = block_offset(problem, rank);
  const std::size_t count = block_count(problem, rank);
  Layout layout{.in_count = count,
                .out_count = gets ? problem.count * static_cast<std::size_t>(problem.size) : 0,
                .input = {{0, count, rank, own}},
                .shared_offset = own};
  if (!gets) return layout;
  for (Rank r = 0; r < problem.size; ++r) {
    const std::size_t first = block_offset(problem, r);
    layout.output.push_back({first, block_count(problem, r), r, first});
  }
  return layout;
}

Layout layout_of_prefix(const Problem& problem, Rank rank) {
  const bool exclusive = problem.collective == Collective::exscan;
  Layout layout{problem.count, problem.count, {{0, problem.count, rank, 0}}, {}};
  const Rank contributors = exclusive ? rank : rank + 1;
  if (contributors > 0) layout.output = {{0, problem.count, Region::first_ranks(contributors), 0}};
  return layout;
}

Layout layout_of_all_to_all(const Problem& problem, Rank rank) {
  const auto total = problem.count * static_cast<std::size_t>(problem.size);
  Layout layout{.in_count = total, .out_count = total, .input = {{0, total, rank, 0}}};
  for (Rank r = 0; r < problem.size; ++r)
    layout.output.push_back({pair_offset(problem, rank, r),
                             block_count(problem, (rank + r) % problem.size), r,
                             pair_offset(problem, r, rank)});
  return layout;
}

// Ranks between those of a ping-pong have nothing.
Layout layout_of_messages(const Problem& problem, Rank rank) {
  const bool is_ring = problem.point_to_point == PointToPoint::sendrecv;
  const Rank last = problem.size - 1;
  if (!is_ring && rank != 0 && rank != last) return {};
  const Rank from = is_ring ? (rank + last) % problem.size : last - rank;
  return {
      problem.count, problem.count, {{0, problem.count, rank, 0}}, {{0, problem.count, from, 0}}};
}

}  // namespace

std::optional<Collective> uneven_named(std::string_view name) noexcept {
  const auto found =
      std::ranges::find(kUneven, name, [](const auto& entry) { return entry.second; });
  return found == kUneven.end() ? std::nullopt : std::optional{found->first};
}

std::size_t block_count(const Problem& problem, Rank rank) {
  return block_offset(problem, rank + 1) - block_offset(problem, rank);
}

bool knows_own_counts_only(const Problem& problem) noexcept {
  return problem.uneven && detail::may_have_own_counts(problem.collective);
}

std::string_view name_of(const Problem& problem) noexcept {
  for (const auto& [collective, name] : kUneven)
    if (problem.uneven && problem.collective == collective) return name;
  return is_collective(problem) ? tutti::name_of(problem.collective)
                                : tutti::name_of(problem.point_to_point);
}

std::string refusal_of(const Problem& problem) {
  if (problem.point_to_point == PointToPoint::send && problem.size < 2)
    return "a ping-pong needs two ranks or more";
  return {};
}

int trips(const Problem& problem) noexcept {
  return problem.point_to_point == PointToPoint::send ? 2 : 1;
}

Layout layout_of(const Problem& problem, Rank rank) {
  if (!is_collective(problem)) return layout_of_messages(problem, rank);
  const std::size_t count = problem.count;
  const auto total = count * static_cast<std::size_t>(problem.size);
  const std::size_t own = block_offset(problem, rank);
  const std::size_t block = block_count(problem, rank);
  const bool is_root = rank == problem.root;
  switch (problem.collective) {
    case Collective::all_reduce:
      return {count, count, {{0, count, rank, 0}}, {{0, count, Region::kAllRanks, 0}}};
    case Collective::reduce:
      return is_root
                 ? Layout{count, count, {{0, count, rank, 0}}, {{0, count, Region::kAllRanks, 0}}}
                 : Layout{count, count, {{0, count, rank, 0}}, {}};
    case Collective::broadcast:
      return is_root ? Layout{count, count, {{0, count, rank, 0}}, {{0, count, rank, 0}}}
                     : Layout{count, count, {}, {{0, count, problem.root, 0}}};
    case Collective::scatter:
      return {is_root ? total : 0,
              block,
              is_root ? std::vector<Region>{{0, total, rank, 0}} : std::vector<Region>{},
              {{0, block, problem.root, own}},
              own};
    case Collective::reduce_scatter:
      return {total, block, {{0, total, rank, 0}}, {{0, block, Region::kAllRanks, own}}, own};
    case Collective::gather: return layout_of_gathering(problem, rank, is_root);
    case Collective::all_gather: return layout_of_gathering(problem, rank, true);
    case Collective::scan:
    case Collective::exscan: return layout_of_prefix(problem, rank);
    case Collective::all_to_all: return layout_of_all_to_all(problem, rank);
    case Collective::barrier: break;
  }
  return {};
}

bool has_in_place(const Problem& problem) noexcept {
  return is_collective(problem) && problem.collective != Collective::all_to_all;
}

bool is_same_everywhere(const Problem& problem) noexcept {
  const Collective collective = problem.collective;
  return is_collective(problem) &&
         (collective == Collective::all_reduce || collective == Collective::broadcast ||
          collective == Collective::all_gather);
}

std::size_t total_bytes(const Problem& problem) {
  if (!is_collective(problem)) return problem.count * size_of(problem.type);
  if (problem.collective == Collective::barrier) return 0;
  const std::size_t ranks =
      is_blockwise(problem.collective) ? static_cast<std::size_t>(problem.size) : 1;
  return problem.count * ranks * size_of(problem.type);
}

Problem with_bytes(Problem problem, std::size_t bytes) {
  problem.count = 1;
  const std::size_t unit = total_bytes(problem);
  if (unit == 0) {
    problem.count = 0;
  } else {
    problem.count = std::max<std::size_t>(1, bytes / unit + (bytes % unit * 2 >= unit ? 1 : 0));
  }
  return problem;
}

double bus_factor(const Problem& problem) {
  const double n = problem.size;
  if (!is_collective(problem)) return 1;
  switch (problem.collective) {
    case Collective::all_reduce: return 2 * (n - 1) / n;
    case Collective::scatter:
    case Collective::gather:
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all: return (n - 1) / n;
    case Collective::scan:
    case Collective::exscan:
    case Collective::reduce:
    case Collective::broadcast: return 1;
    case Collective::barrier: break;
  }
  return 0;
}

}  // namespace tutti::perf

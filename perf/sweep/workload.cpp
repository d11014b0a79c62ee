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

// Elements of the blocks of lower ranks.
std::size_t block_offset(const Workload& workload, Rank rank) {
  const auto r = static_cast<std::size_t>(rank);
  if (!workload.uneven) return r * workload.count;
  const auto n = static_cast<std::size_t>(workload.size);
  const std::size_t total = workload.count * n;
  const std::size_t shares = n * (n + 1);
  const std::size_t before = r * (r + 1);
  return total / shares * before + total % shares * before / shares;
}

// In an all_to_all, elements that one rank sends to ranks below another one, or receives from them.
std::size_t pair_offset(const Workload& workload, Rank rank, Rank other) {
  std::size_t sum = 0;
  for (Rank r = 0; r < other; ++r) sum += block_count(workload, (rank + r) % workload.size);
  return sum;
}

// For an all_gather, and a gather, in which only the root gets the blocks.
BufferContents contents_of_gathering(const Workload& workload, Rank rank, bool gets) {
  const std::size_t own = block_offset(workload, rank);
  const std::size_t count = block_count(workload, rank);
  BufferContents contents{
      .in_count = count,
      .out_count = gets ? workload.count * static_cast<std::size_t>(workload.size) : 0,
      .input = {{0, count, rank, own}},
      .shared_offset = own};
  if (!gets) return contents;
  for (Rank r = 0; r < workload.size; ++r) {
    const std::size_t first = block_offset(workload, r);
    contents.output.push_back({first, block_count(workload, r), r, first});
  }
  return contents;
}

BufferContents contents_of_prefix(const Workload& workload, Rank rank) {
  const bool exclusive = traits_of(workload.collective).writers == Holders::all_but_first;
  BufferContents contents{workload.count, workload.count, {{0, workload.count, rank, 0}}, {}};
  const Rank contributors = exclusive ? rank : rank + 1;
  if (contributors > 0)
    contents.output = {{0, workload.count, Region::first_ranks(contributors), 0}};
  return contents;
}

BufferContents contents_of_all_to_all(const Workload& workload, Rank rank) {
  const auto total = workload.count * static_cast<std::size_t>(workload.size);
  BufferContents contents{.in_count = total, .out_count = total, .input = {{0, total, rank, 0}}};
  for (Rank r = 0; r < workload.size; ++r)
    contents.output.push_back({pair_offset(workload, rank, r),
                               block_count(workload, (rank + r) % workload.size), r,
                               pair_offset(workload, r, rank)});
  return contents;
}

// In a ping-pong, only the first and the last rank have buffers.
BufferContents contents_of_messages(const Workload& workload, Rank rank) {
  const bool is_ring = workload.point_to_point == PointToPoint::sendrecv;
  const Rank last = workload.size - 1;
  if (!is_ring && rank != 0 && rank != last) return {};
  const Rank from = is_ring ? (rank + last) % workload.size : last - rank;
  return {workload.count,
          workload.count,
          {{0, workload.count, rank, 0}},
          {{0, workload.count, from, 0}}};
}

}  // namespace

std::optional<Collective> uneven_named(std::string_view name) noexcept {
  const auto found =
      std::ranges::find(kUneven, name, [](const auto& entry) { return entry.second; });
  return found == kUneven.end() ? std::nullopt : std::optional{found->first};
}

std::size_t block_count(const Workload& workload, Rank rank) {
  return block_offset(workload, rank + 1) - block_offset(workload, rank);
}

bool knows_own_counts_only(const Workload& workload) noexcept {
  return workload.uneven && detail::may_have_own_counts(workload.collective);
}

std::string_view name_of(const Workload& workload) noexcept {
  for (const auto& [collective, name] : kUneven)
    if (workload.uneven && workload.collective == collective) return name;
  return is_collective(workload) ? tutti::name_of(workload.collective)
                                 : tutti::name_of(workload.point_to_point);
}

std::string refusal_of(const Workload& workload) {
  if (workload.point_to_point == PointToPoint::send && workload.size < 2)
    return "a ping-pong needs two ranks or more";
  return {};
}

int trips(const Workload& workload) noexcept {
  return workload.point_to_point == PointToPoint::send ? 2 : 1;
}

BufferContents contents_of(const Workload& workload, Rank rank) {
  if (!is_collective(workload)) return contents_of_messages(workload, rank);
  const CollectiveTraits& traits = traits_of(workload.collective);
  const bool reads = is_among(traits.readers, rank, workload.root);
  const bool writes = is_among(traits.writers, rank, workload.root);
  if (traits.output == Extent::nothing) return {};
  if (traits.is_prefix) return contents_of_prefix(workload, rank);
  if (is_gathering(workload.collective)) return contents_of_gathering(workload, rank, writes);
  if (is_between_pairs(workload.collective)) return contents_of_all_to_all(workload, rank);

  BufferContents contents{.in_count = workload.count, .out_count = workload.count};
  if (is_scattering(workload.collective)) {
    contents.in_count = reads ? workload.count * static_cast<std::size_t>(workload.size) : 0;
    contents.out_count = block_count(workload, rank);
    contents.shared_offset = block_offset(workload, rank);
  }
  const Rank source = traits.is_reduction ? Region::kAllRanks : workload.root;
  if (reads) contents.input = {{0, contents.in_count, rank, 0}};
  if (writes) contents.output = {{0, contents.out_count, source, contents.shared_offset}};
  return contents;
}

bool has_in_place(const Workload& workload) noexcept {
  return is_collective(workload) && !is_between_pairs(workload.collective);
}

bool is_same_everywhere(const Workload& workload) noexcept {
  const Collective collective = workload.collective;
  return is_collective(workload) &&
         (collective == Collective::all_reduce || collective == Collective::broadcast ||
          collective == Collective::all_gather);
}

std::size_t total_bytes(const Workload& workload) {
  if (!is_collective(workload)) return workload.count * size_of(workload.type);
  if (workload.collective == Collective::barrier) return 0;
  const std::size_t ranks =
      is_blockwise(workload.collective) ? static_cast<std::size_t>(workload.size) : 1;
  return workload.count * ranks * size_of(workload.type);
}

Workload with_bytes(Workload workload, std::size_t bytes) {
  workload.count = 1;
  const std::size_t unit = total_bytes(workload);
  if (unit == 0) {
    workload.count = 0;
  } else {
    workload.count = std::max<std::size_t>(1, bytes / unit + (bytes % unit * 2 >= unit ? 1 : 0));
  }
  return workload;
}

double bus_factor(const Workload& workload) {
  const double n = workload.size;
  if (!is_collective(workload)) return 1;
  if (traits_of(workload.collective).output == Extent::nothing) return 0;
  if (is_blockwise(workload.collective)) return (n - 1) / n;
  return workload.collective == Collective::all_reduce ? 2 * (n - 1) / n : 1;
}

}  // namespace tutti::perf

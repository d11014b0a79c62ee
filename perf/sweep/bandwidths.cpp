#include "perf/sweep/bandwidths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "perf/sweep/record.hpp"
#include "perf/units.hpp"

namespace tutti::perf {

namespace {

// Columns time, algbw, busbw and #wrong of nccl-tests.
constexpr auto kHalf = "{:>9} {:>7} {:>7} {:>6}";

std::string half_of(const std::optional<Raced>& raced, std::size_t i) {
  if (!raced || raced->verdict.summaries[i].samples == 0)
    return fmt::format(kHalf, "-", "-", "-", "-");
  const Measured& measured = raced->result.measured[i];
  const Cell cell{.workload = raced->result.workload, .summary = raced->verdict.summaries[i]};
  return fmt::format(kHalf, format_us(cell.summary.median),
                     fmt::format("{:.2f}", cell.algbw_gb_s()),
                     fmt::format("{:.2f}", cell.busbw_gb_s()),
                     measured.checked ? std::to_string(measured.wrong) : "-");
}

char mark_of(const std::optional<Raced>& raced, std::size_t i) {
  if (!raced) return ' ';
  if (raced->verdict.standings[i] == Standing::best) return '*';
  return raced->verdict.standings[i] == Standing::tie ? '~' : ' ';
}

std::string size_of_row(const Workload& workload) {
  const bool reduces = is_collective(workload) && is_reduction(workload.collective);
  const bool has_root = is_collective(workload) && is_rooted(workload.collective);
  return fmt::format("{:>12} {:>11} {:>6} {:>7} {:>4}", total_bytes(workload), workload.count,
                     tutti::name_of(workload.type), reduces ? tutti::name_of(workload.op) : "none",
                     has_root ? workload.root : -1);
}

// The algorithm. For auto, also the algorithm that it chose.
std::string name_of_row(const Measured& measured) {
  if (measured.candidate.kind != CandidateType::automatic) return measured.candidate.label;
  return fmt::format("{}: {}", measured.candidate.label, measured.runs);
}

// Candidates with a time: native, auto, then the others, fastest first.
std::vector<std::size_t> order_of(const Halves& halves) {
  const auto median = [](const std::optional<Raced>& raced, std::size_t i) {
    const bool has = raced && raced->verdict.summaries[i].samples > 0;
    return has ? raced->verdict.summaries[i].median : std::numeric_limits<double>::infinity();
  };
  const auto time = [&](std::size_t i) {
    return std::pair{median(halves.out_of_place, i), median(halves.in_place, i)};
  };
  const Raced& some = halves.out_of_place ? *halves.out_of_place : *halves.in_place;
  const auto turn = [&](std::size_t i) {
    const CandidateType kind = some.result.measured[i].candidate.kind;
    return kind == CandidateType::native ? 0 : kind == CandidateType::automatic ? 1 : 2;
  };
  std::vector<std::size_t> order(some.result.measured.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t i) {
    return median(halves.out_of_place, i) == median(halves.in_place, i) &&
           median(halves.in_place, i) == std::numeric_limits<double>::infinity();
  });
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return std::pair{turn(i), time(i)}; });
  return order;
}

}  // namespace

std::vector<std::string> bandwidth_heading() {
  const std::string names = fmt::format(kHalf, "time", "algbw", "busbw", "#wrong");
  const std::string units = fmt::format(kHalf, "(us)", "(GB/s)", "(GB/s)", "");
  return {fmt::format("#{:>44} {:>32} {:>32}", "", "out-of-place", "in-place"),
          fmt::format("#{:>11} {:>11} {:>6} {:>7} {:>4} {} {}     algorithm", "size", "count",
                      "type", "redop", "root", names, names),
          fmt::format("#{:>11} {:>11} {:>6} {:>7} {:>4} {} {}", "(B)", "(elements)", "", "", "",
                      units, fmt::format("{:>9} {:>7} {:>7}", "(us)", "(GB/s)", "(GB/s)"))};
}

std::vector<std::string> bandwidth_rows(const Halves& halves) {
  const Raced& some = halves.out_of_place ? *halves.out_of_place : *halves.in_place;
  std::vector<std::string> rows;
  for (const std::size_t i : order_of(halves))
    rows.push_back(fmt::format("{} {} {}  {}{} {}", size_of_row(some.result.workload),
                               half_of(halves.out_of_place, i), half_of(halves.in_place, i),
                               mark_of(halves.out_of_place, i), mark_of(halves.in_place, i),
                               name_of_row(some.result.measured[i])));
  return rows;
}

}  // namespace tutti::perf

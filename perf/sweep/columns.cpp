#include "perf/sweep/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "perf/sweep/familiar.hpp"
#include "perf/sweep/record.hpp"
#include "perf/units.hpp"

namespace tutti::perf {

namespace {

// The index of the candidate that the columns show.
std::optional<std::size_t> shown_of(const Raced& raced) {
  const std::vector<Summary>& summaries = raced.verdict.summaries;
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    if (summaries[i].samples == 0) continue;
    if (raced.result.measured[i].candidate.kind == CandidateType::automatic) return i;
    if (!first) first = i;
  }
  return first;
}

// The values of the columns of one half; nothing if it was not measured.
std::optional<Cell> shown_in(const std::optional<Raced>& raced) {
  const std::optional<std::size_t> shown = raced ? shown_of(*raced) : std::nullopt;
  if (!shown) return {};
  return Cell{.workload = raced->result.workload,
              .measured = raced->result.measured[*shown],
              .summary = raced->verdict.summaries[*shown]};
}

// OSU's micro-benchmarks, as printed without -f.
class OsuColumns final : public Columns {
 public:
  std::vector<std::string> heading(const Workload& workload) override {
    const std::string name = title_of(workload);
    const bool has_sizes = total_bytes(workload) > 0;
    return {fmt::format("# OSU MPI {}Latency Test: its columns, measured by tutti sweep", name),
            fmt::format("{:<10}{:>18}", has_sizes ? "# Size" : "#",
                        is_collective(workload) ? "Avg Latency(us)" : "Latency (us)")};
  }

  std::string row(const Halves& halves) override {
    std::optional<Cell> cell = shown_in(halves.out_of_place);
    if (!cell) cell = shown_in(halves.in_place);
    if (!cell) return {};
    const std::string time = fmt::format("{:.2f}", cell->summary.median);
    if (total_bytes(cell->workload) == 0) return fmt::format("{:>17}", time);
    return fmt::format("{:<10}{:>18}", size_of_message(cell->workload), time);
  }

 private:
  // "Allreduce ", "Alltoallv "; nothing for the ping-pong.
  static std::string title_of(const Workload& workload) {
    if (workload.point_to_point == PointToPoint::send) return {};
    const std::string_view ours = name_of(workload);
    constexpr std::pair<std::string_view, std::string_view> kOther[] = {
        {"reduce_scatter", "Reduce_scatter"},
        {"all_to_all", "All-to-All Personalized Exchange"},
        {"all_to_allv", "All-to-Allv Personalized Exchange"}};
    std::string name;
    for (const auto& [from, to] : kOther)
      if (ours == from) name = to;
    if (name.empty()) {
      for (const char c : ours)
        if (c != '_') name += c;
      name.front() = static_cast<char>(name.front() - 'a' + 'A');
    }
    return name + ' ';
  }

  // OSU counts the block of a rank, except in a reduce_scatter.
  static std::size_t size_of_message(const Workload& workload) {
    const bool counts_block = is_collective(workload) && is_blockwise(workload.collective) &&
                              workload.collective != Collective::reduce_scatter;
    return counts_block ? workload.count * size_of(workload.type) : total_bytes(workload);
  }
};

class NcclColumns final : public Columns {
 public:
  std::vector<std::string> heading(const Workload& workload) override {
    bandwidths_.clear();
    wrong_ = 0;
    return {
        fmt::format("# Collective test starting: {}, measured by tutti sweep", name_of(workload)),
        fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}  {:>22}  {:>33}", "", "", "", "", "",
                    "out-of-place", "in-place"),
        fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6} {} {}", "size", "count", "type", "redop",
                    "root", half("time", "algbw", "busbw", "#wrong"),
                    half("time", "algbw", "busbw", "#wrong")),
        fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6} {} {}", "(B)", "(elements)", "", "", "",
                    half("(us)", "(GB/s)", "(GB/s)", ""), half("(us)", "(GB/s)", "(GB/s)", ""))};
  }

  std::string row(const Halves& halves) override {
    const auto out_of_place = shown_in(halves.out_of_place);
    const auto in_place = shown_in(halves.in_place);
    if (!out_of_place && !in_place) return {};
    const Workload& workload = (out_of_place ? out_of_place : in_place)->workload;
    const bool reduces = is_collective(workload) && is_reduction(workload.collective);
    const bool has_root = is_collective(workload) && is_rooted(workload.collective);
    return fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6} {} {}", total_bytes(workload),
                       workload.count, theirs_of(std::string{tutti::name_of(workload.type)}),
                       reduces ? theirs_of(std::string{tutti::name_of(workload.op)}) : "none",
                       has_root ? workload.root : -1, half_of(out_of_place), half_of(in_place));
  }

  std::vector<std::string> end() override {
    double sum = 0;
    for (const double bandwidth : bandwidths_) sum += bandwidth;
    const double mean = bandwidths_.empty() ? 0 : sum / static_cast<double>(bandwidths_.size());
    return {fmt::format("# Out of bounds values : {} {}", wrong_, wrong_ == 0 ? "OK" : "FAILED"),
            fmt::format("# Avg bus bandwidth    : {:.6g} ", mean), "#"};
  }

 private:
  static std::string half(std::string_view time, std::string_view algbw, std::string_view busbw,
                          std::string_view wrong) {
    return fmt::format("{:>8} {:>7} {:>7} {:>6}", time, algbw, busbw, wrong);
  }

  std::string half_of(const std::optional<Cell>& cell) {
    if (!cell) return half("N/A", "N/A", "N/A", "N/A");
    bandwidths_.push_back(cell->busbw_gb_s());
    wrong_ += cell->measured.wrong;
    return half(format_us(cell->summary.median), fmt::format("{:.2f}", cell->algbw_gb_s()),
                fmt::format("{:.2f}", cell->busbw_gb_s()),
                cell->measured.checked ? std::to_string(cell->measured.wrong) : "N/A");
  }

  std::vector<double> bandwidths_{};  // of the collective so far
  std::size_t wrong_ = 0;
};

}  // namespace

std::unique_ptr<Columns> make_columns(const std::string& format) {
  if (format == "osu") return std::make_unique<OsuColumns>();
  if (format == "nccl-tests") return std::make_unique<NcclColumns>();
  return nullptr;
}

}  // namespace tutti::perf

// The output of `tutti lint`.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json_text.hpp"
#include "perf/command_line.hpp"
#include "perf/failure.hpp"
#include "perf/sweep/context.hpp"
#include "perf/tuning/lint.hpp"
#include "perf/units.hpp"

namespace tutti::perf {

namespace {

nlohmann::ordered_json record_of(const Finding& finding) {
  return {{"collective", name_of(finding.workload)},
          {"bytes", total_bytes(finding.workload)},
          {"guideline", finding.guideline},
          {"call_us", finding.call_us},
          {"other_us", finding.other_us},
          {"ratio", finding.comparison.ratio},
          {"ratio_low", finding.comparison.interval.low},
          {"ratio_high", finding.comparison.interval.high},
          {"broken", finding.is_broken},
          {"help", finding.help}};
}

}  // namespace

void Linter::announce() const {
  print_out(
      "tutti lint: {} ranks, calls of {}; a guideline is broken where a call takes {:.0f}% "
      "longer, twice\n",
      world_.communicator().size(), checks_library_ ? world_.library() : "tutti",
      options_.threshold * 100);
  print_out("{:14} {:>6} {:>9} {:>9} {:>6}  faster\n", "collective", "bytes", "us", "us", "ratio");
}

void Linter::note(const Finding& finding, bool is_told) {
  findings_.push_back(finding);
  if (!finding.is_broken || !is_told) return;
  print_out("{:14} {:>6} {:>9} {:>9} {:>6.2f}  {}\n{:39}{}\n", name_of(finding.workload),
            format_bytes(total_bytes(finding.workload)), format_us(finding.call_us),
            format_us(finding.other_us), finding.comparison.ratio, finding.guideline, "",
            finding.help);
}

void Linter::close() const {
  std::size_t broken = 0;
  for (const Finding& finding : findings_) broken += finding.is_broken ? 1 : 0;
  print_out("{}{} of {} guidelines are broken\n", interrupted_ ? "interrupted; " : "", broken,
            findings_.size());
  if (wrong_ > 0) print_out("{} wrong results: a collective of these is wrong\n", wrong_);
  if (broken > 0 && checks_library_)
    print_out(
        "settings apply to all sizes: check them with `tutti lint`; for a choice by size: "
        "tutti tune --transport mpi, then tutti export\n");
}

void Linter::save() const {
  if (options_.sweep.json.empty()) return;
  nlohmann::ordered_json findings = nlohmann::ordered_json::array();
  for (const Finding& finding : findings_) findings.push_back(record_of(finding));
  const nlohmann::ordered_json json{{"library", checks_library_ ? world_.library() : "tutti"},
                                    {"ranks", world_.communicator().size()},
                                    {"threshold", options_.threshold},
                                    {"interrupted", interrupted_},
                                    {"wrong", wrong_},
                                    {"findings", findings}};
  write_text(detail::text_of_json(json, 1) + "\n", options_.sweep.json);
}

}  // namespace tutti::perf

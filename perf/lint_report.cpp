// What `tutti lint` prints and writes.
#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "perf/lint.hpp"
#include "perf/sweep_context.hpp"
#include "perf/sweep_failure.hpp"
#include "perf/sweep_units.hpp"

namespace tutti::perf {

namespace {

nlohmann::ordered_json record_of(const Finding& finding) {
  return {{"collective", name_of(finding.problem)},
          {"bytes", total_bytes(finding.problem)},
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
  fmt::print(
      "tutti lint: {} ranks, calls of {}; a guideline is broken where a call takes {:.0f}% "
      "longer, twice\n",
      world_.communicator().size(), checks_library_ ? world_.library() : "tutti",
      options_.threshold * 100);
  fmt::print("{:14} {:>6} {:>9} {:>9} {:>6}  faster\n", "collective", "bytes", "us", "us", "ratio");
  std::fflush(stdout);
}

void Linter::note(const Finding& finding, bool is_told) {
  findings_.push_back(finding);
  if (!finding.is_broken || !is_told) return;
  fmt::print("{:14} {:>6} {:>9} {:>9} {:>6.2f}  {}\n{:39}{}\n", name_of(finding.problem),
             format_bytes(total_bytes(finding.problem)), format_us(finding.call_us),
             format_us(finding.other_us), finding.comparison.ratio, finding.guideline, "",
             finding.help);
  std::fflush(stdout);
}

void Linter::close() const {
  std::size_t broken = 0;
  for (const Finding& finding : findings_) broken += finding.is_broken ? 1 : 0;
  fmt::print("{}{} of {} guidelines are broken\n", interrupted_ ? "interrupted; " : "", broken,
             findings_.size());
  if (wrong_ > 0) fmt::print("{} wrong results: a collective of these is wrong\n", wrong_);
  if (broken > 0 && checks_library_)
    fmt::print(
        "settings hold for all sizes: see that they help by `tutti lint` under them; a file "
        "that says what runs from which size on: tutti tune --transport mpi, tutti export\n");
}

void Linter::save() const {
  if (options_.json_path.empty()) return;
  nlohmann::ordered_json findings = nlohmann::ordered_json::array();
  for (const Finding& finding : findings_) findings.push_back(record_of(finding));
  const nlohmann::ordered_json json{{"library", checks_library_ ? world_.library() : "tutti"},
                                    {"ranks", world_.communicator().size()},
                                    {"threshold", options_.threshold},
                                    {"interrupted", interrupted_},
                                    {"wrong", wrong_},
                                    {"findings", findings}};
  std::ofstream file{options_.json_path};
  file << json.dump(1) << "\n";
  if (!file.flush())
    throw Failure{ExitCode::environment, "--json: cannot write " + options_.json_path};
}

}  // namespace tutti::perf

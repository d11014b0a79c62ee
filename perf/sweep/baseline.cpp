#include "perf/sweep/baseline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>

#include <tutti/error.hpp>

#include "base/json_text.hpp"
#include "base/text_file.hpp"
#include "perf/failure.hpp"
#include "perf/units.hpp"

namespace tutti::perf {

namespace {

using Parsed = nlohmann::json;

std::string text_of_baseline(const std::string& path) try {
  return detail::read_text_file(path);
} catch (const Error& error) {
  throw Failure{ExitCode::usage, error.what()};
}

std::vector<Parsed> read_records(const std::string& path) {
  std::vector<Parsed> records;
  std::istringstream lines{text_of_baseline(path)};
  for (std::string line; std::getline(lines, line);) {
    try {
      records.push_back(detail::parse_json<Parsed>(line));
    } catch (const Error&) {
      records.emplace_back();
    }
    if (!records.back().is_object() || !records.back().contains("record"))
      throw Failure{ExitCode::usage, fmt::format("line {} of '{}' is not a record of tutti sweep "
                                                 "--json",
                                                 records.size(), path)};
  }
  return records;
}

// Two cells with equal values of these are the same configuration. The segment is not among them:
// tutti chose it, and may have chosen worse.
constexpr std::array kKeys{"collective", "algorithm", "parameters", "transport", "ranks",   "hosts",
                           "bytes",      "dtype",     "op",         "in_place",  "buffers", "root"};

// Cells of GPUs have no alignment.
std::string alignment_in(const Parsed& cell) {
  if (!cell.contains("align")) return cell.value("buffers", "").starts_with("cuda") ? "" : "page";
  const Parsed& align = cell.at("align");
  return align.is_string() ? align.get<std::string>() : "";
}

bool is_same(const Parsed& a, const Parsed& b) {
  // Defaults for older files without these keys: no graphs, arrays of the host at pages, calls back
  // to back.
  if (a.value("graph", false) != b.value("graph", false)) return false;
  if (alignment_in(a) != alignment_in(b)) return false;
  if (a.value("pattern", "back_to_back") != b.value("pattern", "back_to_back")) return false;
  return std::all_of(kKeys.begin(), kKeys.end(), [&](const char* key) {
    return a.value(key, Parsed{}) == b.value(key, Parsed{});
  });
}

}  // namespace

RecordedRun recorded_run(const std::string& path) {
  for (const Parsed& record : read_records(path)) {
    if (record.value("record", "") != "context") continue;
    try {
      return {.arguments = record.at("arguments").get<std::vector<std::string>>(),
              .ranks = record.value("ranks", 1),
              .mpi = record.value("mpi", "")};
    } catch (const Parsed::exception&) {
      break;
    }
  }
  throw Failure{ExitCode::usage, fmt::format("'{}' has no context record with arguments", path)};
}

Baseline::Baseline(const std::string& path, bool touch) {
  for (Parsed& record : read_records(path)) {
    const std::string kind = record.value("record", "");
    if (kind == "context" && record.value("touch", Parsed(touch)) != Parsed(touch))
      throw Failure{ExitCode::usage,
                    fmt::format("'{}' was measured {} --no-touch: its times cannot be compared",
                                path, touch ? "with" : "without")};
    if (kind == "cell") cells_.push_back(std::move(record));
  }
  if (cells_.empty())
    throw Failure{ExitCode::usage, fmt::format("'{}' has no cells to compare with", path)};
}

std::optional<std::string> Baseline::slower(const Cell& cell, double fail_over) {
  const Parsed now = json_of(cell);
  const auto same = [&](const Parsed& old) { return is_same(old, now); };
  const auto found = std::find_if(cells_.begin(), cells_.end(), same);
  if (found == cells_.end()) {
    ++unmatched_;
    return {};
  }
  ++matched_;
  const double before = found->value("median_us", 0.0);
  const bool is_much = cell.summary.median > before * (1 + fail_over);
  const bool is_disjoint = cell.summary.interval.low > found->value("ci_high_us", 0.0);
  if (!is_much || !is_disjoint) return {};
  return fmt::format(
      "!! {} {} at {} bytes is slower than the baseline: {} us now, {} us then (+{:.0f}%)",
      name_of(cell.workload), cell.measured.candidate.label, total_bytes(cell.workload),
      format_us(cell.summary.median), format_us(before), (cell.summary.median / before - 1) * 100);
}

}  // namespace tutti::perf

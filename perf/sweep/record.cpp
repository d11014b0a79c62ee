#include "perf/sweep/record.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_text.hpp"

namespace tutti::perf {

namespace {

using Json = nlohmann::ordered_json;

// A column: its name, and its value for a cell. The CSV file and the JSON record share the list.
struct Column {
  const char* name;
  Json (*value)(const Cell&);
};

// Rounds to six digits: further digits are noise.
double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10.0, 5 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

constexpr std::array kColumns{
    Column{"collective", [](const Cell& c) { return Json(name_of(c.workload)); }},
    Column{"algorithm",
           [](const Cell& c) {
             const std::string& label = c.measured.candidate.label;
             const std::size_t copy = label.find('#');
             if (copy == std::string::npos) return Json(c.measured.candidate.algorithm);
             return Json(c.measured.candidate.algorithm +
                         label.substr(copy, label.find('@', copy) - copy));
           }},
    Column{"parameters", [](const Cell& c) { return Json(c.measured.candidate.parameters); }},
    Column{"transport", [](const Cell& c) { return Json(c.transport); }},
    Column{"ranks", [](const Cell& c) { return Json(c.workload.size); }},
    Column{"hosts", [](const Cell& c) { return Json(c.hosts); }},
    Column{"bytes", [](const Cell& c) { return Json(total_bytes(c.workload)); }},
    Column{"count", [](const Cell& c) { return Json(c.workload.count); }},
    Column{"dtype", [](const Cell& c) { return Json(name_of(c.workload.type)); }},
    Column{"op",
           [](const Cell& c) {
             const bool reduces = is_collective(c.workload) && is_reduction(c.workload.collective);
             return Json(reduces ? tutti::name_of(c.workload.op) : "");
           }},
    Column{"in_place", [](const Cell& c) { return Json(c.workload.in_place); }},
    Column{"buffers", [](const Cell& c) { return Json(c.buffers); }},
    Column{"segment_bytes", [](const Cell& c) { return Json(c.measured.segment_bytes); }},
    Column{"iterations",
           [](const Cell& c) {
             return Json(static_cast<std::int64_t>(c.summary.samples) * c.measured.batch);
           }},
    Column{"min_us", [](const Cell& c) { return Json(rounded(c.summary.min)); }},
    Column{"p10_us", [](const Cell& c) { return Json(rounded(c.summary.p10)); }},
    Column{"median_us", [](const Cell& c) { return Json(rounded(c.summary.median)); }},
    Column{"ci_low_us", [](const Cell& c) { return Json(rounded(c.summary.interval.low)); }},
    Column{"ci_high_us", [](const Cell& c) { return Json(rounded(c.summary.interval.high)); }},
    Column{"p90_us", [](const Cell& c) { return Json(rounded(c.summary.p90)); }},
    Column{"p99_us", [](const Cell& c) { return Json(rounded(c.summary.p99)); }},
    Column{"max_us", [](const Cell& c) { return Json(rounded(c.summary.max)); }},
    Column{"algbw_gb_s", [](const Cell& c) { return Json(rounded(c.algbw_gb_s())); }},
    Column{"busbw_gb_s", [](const Cell& c) { return Json(rounded(c.busbw_gb_s())); }},
    Column{
        "wrong",
        [](const Cell& c) { return c.measured.checked ? Json(c.measured.wrong) : Json(nullptr); }},
    Column{"root",
           [](const Cell& c) {
             const bool has_root = is_collective(c.workload) && is_rooted(c.workload.collective);
             return has_root ? Json(c.workload.root) : Json(nullptr);
           }},
    Column{"graph", [](const Cell& c) { return Json(c.graph); }},
    Column{"align", [](const Cell& c) { return c.align.empty() ? Json(nullptr) : Json(c.align); }},
    Column{"pattern", [](const Cell& c) { return Json(name_of(c.pattern)); }},
};

std::string csv_field(const Json& value) {
  if (value.is_null()) return "";
  const std::string text =
      value.is_string() ? value.get<std::string>() : detail::text_of_json(value);
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

}  // namespace

double Cell::algbw_gb_s() const {
  if (summary.median <= 0) return 0;
  return static_cast<double>(total_bytes(workload)) / summary.median / 1e3;
}

double Cell::busbw_gb_s() const {
  return algbw_gb_s() * bus_factor(workload);
}

std::string csv_header() {
  std::string line;
  for (const Column& column : kColumns)
    line += (line.empty() ? "" : ",") + std::string{column.name};
  return line;
}

std::string csv_row(const Cell& cell) {
  std::string line;
  for (const Column& column : kColumns)
    line += (&column == kColumns.data() ? "" : ",") + csv_field(column.value(cell));
  return line;
}

Json json_of(const Cell& cell) {
  Json record{{"record", "cell"}};
  for (const Column& column : kColumns) record[column.name] = column.value(cell);
  record["label"] = cell.measured.candidate.label;
  record["runs"] = cell.measured.runs;
  record["samples"] = cell.summary.samples;
  record["batch"] = cell.measured.batch;
  record["first_us"] = rounded(cell.measured.first_us);
  record["injected"] = cell.measured.candidate.inject;
  record["bit_equal"] = cell.measured.checked ? Json(cell.measured.bit_equal) : Json(nullptr);
  record["standing"] = name_of(cell.standing);
  record["ratio_to_best"] = rounded(cell.against_best.ratio);
  record["ratio_ci_low"] = rounded(cell.against_best.interval.low);
  record["ratio_ci_high"] = rounded(cell.against_best.interval.high);
  record["p_value"] = cell.against_best.p;
  return record;
}

}  // namespace tutti::perf

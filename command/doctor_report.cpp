#include "command/doctor_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>

#include "base/json_text.hpp"
#include "perf/build.hpp"
#include "perf/measured_world.hpp"

namespace tutti::command::doctor {

using nlohmann::ordered_json;

namespace {

std::string packed(const RankReport& report) {
  ordered_json json{{"rank", report.rank}, {"host", report.host}};
  json["checks"] = ordered_json::array();
  for (const Check& check : report.checks)
    json["checks"].push_back(
        {check.name, static_cast<int>(check.verdict), check.found, check.cure});
  return detail::text_of_json(json, -1);
}

RankReport unpacked(const std::string& text) {
  const ordered_json json = ordered_json::parse(text);
  RankReport report{.rank = json.at("rank"), .host = json.at("host")};
  for (const ordered_json& check : json.at("checks"))
    report.checks.push_back({.name = check.at(0),
                             .verdict = static_cast<Verdict>(check.at(1).get<int>()),
                             .found = check.at(2),
                             .cure = check.at(3)});
  return report;
}

// Texts such as sizes of free memory differ between ranks that need the same cure.
void add(std::vector<Finding>& findings, const Check& check, int rank) {
  const auto same = std::ranges::find_if(findings, [&](const Finding& finding) {
    return finding.check.verdict == check.verdict && finding.check.cure == check.cure;
  });
  if (same != findings.end()) same->ranks.push_back(rank);
  else findings.push_back({.check = check, .ranks = {rank}});
}

std::vector<Finding> findings_of(const std::string& name, const std::vector<RankReport>& reports) {
  std::vector<Finding> findings;
  for (const RankReport& report : reports)
    for (const Check& check : report.checks)
      if (check.name == name) add(findings, check, report.rank);
  const bool is_common = findings.size() == 1;
  std::ranges::stable_sort(findings, [](const Finding& a, const Finding& b) {
    return a.check.verdict > b.check.verdict;
  });
  if (findings.front().check.verdict != Verdict::ok)
    std::erase_if(findings, [](const Finding& f) { return f.check.verdict == Verdict::ok; });
  for (Finding& finding : findings) finding.is_common = is_common;
  return findings;
}

std::vector<std::string> names_in(const std::vector<RankReport>& reports) {
  std::vector<std::string> names;
  for (const RankReport& report : reports)
    for (const Check& check : report.checks)
      if (std::ranges::find(names, check.name) == names.end()) names.push_back(check.name);
  return names;
}

// "0-3, 7"
std::string ranges_of(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t first = 0, last = 0; first < ranks.size(); first = ++last) {
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    text += text.empty() ? "" : ", ";
    text += first == last ? fmt::format("{}", ranks[first])
                          : fmt::format("{}-{}", ranks[first], ranks[last]);
  }
  return text;
}

std::ptrdiff_t count(const Report& report, Verdict verdict) {
  return std::ranges::count_if(
      report.findings, [&](const Finding& finding) { return finding.check.verdict == verdict; });
}

std::string line_of(const Finding& finding) {
  const Check& check = finding.check;
  std::string text = fmt::format("{:<16}{:<9}{}", check.name, name_of(check.verdict), check.found);
  if (!finding.is_common && check.verdict != Verdict::ok)
    text +=
        fmt::format(" (rank{} {})", finding.ranks.size() > 1 ? "s" : "", ranges_of(finding.ranks));
  if (!check.cure.empty()) text += fmt::format("\n{:<16}{:<9}{}", "", "cure:", check.cure);
  return text + "\n";
}

}  // namespace

std::vector<RankReport> gather_reports(Communicator& communicator, const RankReport& own) {
  const std::string text = packed(own);
  std::array<double, 1> longest{static_cast<double>(text.size())};
  perf::max_over_ranks(communicator, longest);
  const auto bytes = static_cast<std::size_t>(longest[0]);
  std::string padded = text;
  padded.resize(bytes, ' ');
  std::vector<char> all(bytes * static_cast<std::size_t>(communicator.size()));
  communicator.all_gather(std::span<const char>{padded}, std::span{all});
  std::vector<RankReport> reports;
  for (std::size_t at = 0; at < all.size(); at += bytes)
    reports.push_back(unpacked({all.data() + at, bytes}));
  return reports;
}

Report merged(const std::vector<RankReport>& reports) {
  Report report{.ranks = static_cast<int>(reports.size())};
  for (const RankReport& rank : reports)
    if (std::ranges::find(report.hosts, rank.host) == report.hosts.end())
      report.hosts.push_back(rank.host);
  for (const std::string& name : names_in(reports))
    for (Finding& finding : findings_of(name, reports))
      report.findings.push_back(std::move(finding));
  return report;
}

bool has_fault(const Report& report) {
  return count(report, Verdict::fault) > 0;
}

std::string text_of(const Report& report) {
  std::string text =
      fmt::format("tutti {} on {}, {} rank{}\n", perf::build_version(),
                  fmt::join(report.hosts, ", "), report.ranks, report.ranks == 1 ? "" : "s");
  for (const Finding& finding : report.findings) text += line_of(finding);
  return text + fmt::format("faults: {}, warnings: {}\n", count(report, Verdict::fault),
                            count(report, Verdict::warning));
}

std::string json_of(const Report& report) {
  ordered_json json{{"version", perf::build_version()},
                    {"hosts", report.hosts},
                    {"ranks", report.ranks},
                    {"faults", count(report, Verdict::fault)},
                    {"warnings", count(report, Verdict::warning)},
                    {"checks", ordered_json::array()}};
  for (const Finding& finding : report.findings)
    json["checks"].push_back({{"name", finding.check.name},
                              {"verdict", name_of(finding.check.verdict)},
                              {"found", finding.check.found},
                              {"cure", finding.check.cure},
                              {"ranks", finding.ranks}});
  return detail::text_of_json(json, 1) + "\n";
}

}  // namespace tutti::command::doctor

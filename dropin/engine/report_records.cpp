#include "dropin/engine/report_records.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json_text.hpp"
#include "dropin/engine/source_lines.hpp"

namespace tutti::dropin {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMicro = 1e-6;
constexpr std::size_t kLeastBegin = 4;  // bytes: sweeps measure elements of so many

void append_times(Json& record, const TimesByRunner& times) {
  for (std::size_t i = 0; i < kRunners; ++i)
    record[i == 0 ? "tutti" : "mpi"] = {{"calls", times[i].calls()},
                                        {"seconds", times[i].seconds()},
                                        {"median_us", times[i].quantile_us(0.5)},
                                        {"p99_us", times[i].quantile_us(0.99)},
                                        {"compared", times[i].compared().calls},
                                        {"wait_seconds", times[i].compared().wait_seconds},
                                        {"move_seconds", times[i].compared().move_seconds}};
}

Json record_of(const KindOfCalls& kind, const std::map<const Site*, std::string>& names) {
  Json record{{"record", "calls"}, {"collective", name_of(kind.collective)}};
  record["bytes"] = kind.bytes ? Json(*kind.bytes) : Json();
  append_times(record, kind.times);
  record["saved_seconds"] = saved_seconds(kind.times).value_or(0);
  Json& sites = record["sites"] = Json::array();
  for (const auto& [site, times] : kind.sites) {
    Json& one = sites.emplace_back(Json{
        {"site", names.at(site)}, {"module", site->module}, {"offset", hexadecimal(site->offset)}});
    append_times(one, times);
  }
  return record;
}

// The arguments of a sweep that repeats the collectives and sizes.
Json arguments_of(const std::vector<KindOfCalls>& kinds) {
  std::set<std::string> collectives;
  std::size_t least = ~std::size_t{0}, most = 0;
  for (const KindOfCalls& kind : kinds) {
    if (kind.collective != Collective::barrier)
      collectives.insert(std::string{name_of(kind.collective)});
    if (kind.bytes) least = std::min(least, *kind.bytes), most = std::max(most, *kind.bytes);
  }
  std::string names;
  for (const std::string& name : collectives) names += (names.empty() ? "" : ",") + name;
  Json arguments = Json::array();
  if (!names.empty()) arguments.push_back("--collective=" + names);
  if (most == 0) return arguments;
  arguments.push_back("--begin=" + std::to_string(std::max(least, kLeastBegin)));
  arguments.push_back("--end=" + std::to_string(std::max(most, kLeastBegin)));
  arguments.push_back("--factor=2");
  arguments.push_back("--align=malloc");
  return arguments;
}

Json late_json(const std::map<int, LateCalls>& late) {
  Json ranks = Json::array();
  for (const auto& [rank, calls] : late)
    ranks.push_back({{"rank", rank},
                     {"calls", calls.calls},
                     {"mean_us", calls.wait_seconds / static_cast<double>(calls.calls) / kMicro}});
  return ranks;
}

}  // namespace

std::optional<double> saved_seconds(const TimesByRunner& times) {
  const auto& [tutti, mpi] = times;
  if (tutti.calls() == 0 || mpi.calls() == 0) return {};
  const double saved =
      (mpi.quantile_us(0.5) - tutti.quantile_us(0.5)) * kMicro * static_cast<double>(tutti.calls());
  return std::round(saved * 1e6) / 1e6 + 0.0;
}

std::string records_of(const Job& job, const std::vector<KindOfCalls>& kinds,
                       const std::map<int, LateCalls>& late,
                       const std::map<const Site*, std::string>& names) {
  const Json context{{"record", "context"},     {"mpi", job.mpi},
                     {"program", job.program},  {"ranks", job.ranks},
                     {"hosts", job.hosts},      {"wall_seconds", job.wall_seconds},
                     {"late", late_json(late)}, {"arguments", arguments_of(kinds)}};
  std::string text = detail::text_of_json(context) + "\n";
  for (const KindOfCalls& kind : kinds) text += detail::text_of_json(record_of(kind, names)) + "\n";
  return text;
}

}  // namespace tutti::dropin

#include "dropin/engine/times.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "base/json_text.hpp"

namespace tutti::dropin {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kPerOctave = 4;
constexpr std::size_t kMostLines = 20;
constexpr std::size_t kLeastBegin = 4;  // bytes: sweeps measure elements of so many

// The bytes of a row with a unit. Rows end at the next power of two.
std::string text_of(std::optional<std::size_t> bytes) {
  constexpr std::array<std::string_view, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  if (!bytes) return "any";
  std::size_t unit = 0, count = *bytes;
  for (; count >= 1024 && unit + 1 < kUnits.size(); ++unit) count /= 1024;
  return std::to_string(count) + " " + std::string{kUnits[unit]};
}

template <class... A>
std::string format(const char* pattern, A... arguments) {
  std::array<char, 200> line{};
  std::snprintf(line.data(), line.size(), pattern, arguments...);
  return line.data();
}

// Calls, seconds, median and 99th percentile.
std::string columns_of(const Durations& times) {
  if (times.calls() == 0) return format("  %9s %8s %8s %8s", "-", "-", "-", "-");
  return format("  %9llu %8.3f %8.1f %8.1f", static_cast<unsigned long long>(times.calls()),
                times.seconds(), times.quantile_us(0.5), times.quantile_us(0.99));
}

// Seconds that calls of tutti would have taken longer, or the MPI's, as the other's median says.
double saved_seconds(const Durations& tutti, const Durations& mpi) {
  constexpr double kMicro = 1e-6;
  if (tutti.calls() == 0 || mpi.calls() == 0) return 0;
  const double saved =
      (mpi.quantile_us(0.5) - tutti.quantile_us(0.5)) * kMicro * static_cast<double>(tutti.calls());
  return std::round(saved * 1e6) / 1e6 + 0.0;
}

}  // namespace

void Durations::add(std::chrono::nanoseconds time) noexcept {
  const auto nanoseconds = static_cast<double>(std::max<std::int64_t>(1, time.count()));
  const auto bucket = static_cast<std::size_t>(kPerOctave * std::log2(nanoseconds));
  ++counts_[std::min(bucket, kBuckets - 1)];
  ++calls_;
  seconds_ += nanoseconds * 1e-9;
}

double Durations::quantile_us(double share) const noexcept {
  if (calls_ == 0) return 0;
  const auto wanted = share * static_cast<double>(calls_);
  double seen = 0;
  std::size_t bucket = 0;
  for (; bucket + 1 < kBuckets; ++bucket) {
    seen += static_cast<double>(counts_[bucket]);
    if (seen >= wanted) break;
  }
  return std::exp2((static_cast<double>(bucket) + 0.5) / kPerOctave) * 1e-3;
}

void Times::add(const SimilarCalls& calls, Runner runner, std::chrono::nanoseconds time) {
  Key key{calls.collective, calls.bytes};
  if (key.bytes) key.bytes = std::bit_floor(*key.bytes);
  const std::scoped_lock lock{mutex_};
  rows_[key][static_cast<std::size_t>(runner)].add(time);
}

std::vector<std::string> Times::lines() const {
  const std::scoped_lock lock{mutex_};
  std::vector<std::pair<double, std::string>> rows;
  for (const auto& [key, row] : rows_) {
    const Durations& tutti = row[0];
    const Durations& mpi = row[1];
    std::string line =
        format("%-14s %8s%s%s", std::string{name_of(key.collective)}.c_str(),
               text_of(key.bytes).c_str(), columns_of(tutti).c_str(), columns_of(mpi).c_str());
    if (tutti.calls() > 0 && mpi.calls() > 0) line += format(" %8.3f", saved_seconds(tutti, mpi));
    rows.emplace_back(tutti.seconds() + mpi.seconds(), std::move(line));
  }
  if (rows.empty()) return {};
  std::ranges::stable_sort(rows, std::ranges::greater{}, [](const auto& row) { return row.first; });
  std::vector<std::string> lines{format("%-14s %8s  %9s %8s %8s %8s  %9s %8s %8s %8s %8s", "call",
                                        "size", "by tutti", "s", "us p50", "us p99", "by MPI", "s",
                                        "us p50", "us p99", "s saved")};
  for (std::size_t i = 0; i < std::min(rows.size(), kMostLines); ++i)
    lines.push_back(std::move(rows[i].second));
  if (rows.size() > kMostLines)
    lines.push_back(format("and %zu rows with less time", rows.size() - kMostLines));
  return lines;
}

std::string Times::records(const Job& job) const {
  const std::scoped_lock lock{mutex_};
  std::set<std::string> collectives;
  std::size_t least = ~std::size_t{0}, most = 0;
  std::string calls;
  for (const auto& [key, row] : rows_) {
    Json record{{"record", "calls"}, {"collective", name_of(key.collective)}};
    if (key.collective != Collective::barrier) collectives.insert(record.at("collective"));
    record["bytes"] = key.bytes ? Json(*key.bytes) : Json();
    if (key.bytes) least = std::min(least, *key.bytes), most = std::max(most, *key.bytes);
    for (std::size_t i = 0; i < kRunners; ++i)
      record[i == 0 ? "tutti" : "mpi"] = {{"calls", row[i].calls()},
                                          {"seconds", row[i].seconds()},
                                          {"median_us", row[i].quantile_us(0.5)},
                                          {"p99_us", row[i].quantile_us(0.99)}};
    record["saved_seconds"] = saved_seconds(row[0], row[1]);
    calls += detail::text_of_json(record) + "\n";
  }
  std::string names;
  for (const std::string& name : collectives) names += (names.empty() ? "" : ",") + name;
  Json arguments = Json::array();
  if (!names.empty()) arguments.push_back("--collective=" + names);
  if (most > 0) {
    arguments.push_back("--begin=" + std::to_string(std::max(least, kLeastBegin)));
    arguments.push_back("--end=" + std::to_string(std::max(most, kLeastBegin)));
    arguments.push_back("--factor=2");
    arguments.push_back("--align=malloc");
  }
  const Json context{{"record", "context"},
                     {"mpi", job.mpi},
                     {"program", job.program},
                     {"ranks", job.ranks},
                     {"arguments", arguments}};
  return detail::text_of_json(context) + "\n" + calls;
}

}  // namespace tutti::dropin

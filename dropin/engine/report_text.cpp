#include "dropin/engine/report_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <tutti/version.hpp>

#include "base/number_text.hpp"
#include "dropin/engine/kept_calls.hpp"
#include "dropin/engine/report_records.hpp"

namespace tutti::dropin {
namespace {

using v0::detail::fixed_text;
using Cells = std::vector<std::string>;

// The lines of a report are 25 at most, with its head, the calls by reason, the head of the table,
// the number of rows that are left out, the late rank, and the share of shared memory.
constexpr std::size_t kMostRows = 19;
constexpr double kMicro = 1e-6;
constexpr const char* kNothing = "-";

// The bytes of a row with a unit. Rows end at the next power of two.
std::string text_of(std::optional<std::size_t> bytes) {
  constexpr std::array<std::string_view, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  if (!bytes) return "any";
  std::size_t unit = 0, count = *bytes;
  for (; count >= 1024 && unit + 1 < kUnits.size(); ++unit) count /= 1024;
  return std::to_string(count) + " " + std::string{kUnits[unit]};
}

std::string seconds_text(double seconds) {
  return fixed_text(seconds, seconds < 10 ? 3 : seconds < 100 ? 2 : seconds < 1000 ? 1 : 0);
}

// The seconds of calls that were not compared.
double rest_of(const Durations& times) {
  const Compared& compared = times.compared();
  return times.seconds() - compared.wait_seconds - compared.move_seconds;
}

// "wait+move", and a third number if some of the calls were not compared.
std::string divided_seconds(const Durations& times) {
  const Compared& compared = times.compared();
  if (compared.calls == 0) return seconds_text(times.seconds());
  std::string text =
      seconds_text(compared.wait_seconds) + "+" + seconds_text(compared.move_seconds);
  if (compared.calls < times.calls()) text += "+" + seconds_text(std::max(0.0, rest_of(times)));
  return text;
}

void append_columns(Cells& cells, const Durations& times) {
  if (times.calls() == 0) {
    cells.insert(cells.end(), 4, kNothing);
    return;
  }
  cells.insert(cells.end(),
               {std::to_string(times.calls()), divided_seconds(times),
                fixed_text(times.quantile_us(0.5), 1), fixed_text(times.quantile_us(0.99), 1)});
}

// Columns as wide as their widest cell; the first and the last are aligned to the left. Columns
// with nothing in them are left out.
std::vector<std::string> aligned(const std::vector<Cells>& rows) {
  std::vector<std::string> lines(rows.size());
  for (std::size_t column = 0; column < rows[0].size(); ++column) {
    std::size_t width = 0;
    for (const Cells& row : rows) width = std::max(width, row[column].size());
    const bool is_empty = std::all_of(rows.begin() + 1, rows.end(), [column](const Cells& row) {
      return row[column] == kNothing;
    });
    if (is_empty) continue;
    const bool is_last = column + 1 == rows[0].size();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::string& cell = rows[i][column];
      const std::string padding(width - cell.size(), ' ');
      lines[i] += column == 0 ? cell + padding : is_last ? "  " + cell : "  " + padding + cell;
    }
  }
  return lines;
}

// Whole percent. @param all not 0.
std::string percent(double part, double all) {
  return fixed_text(100 * part / all, 0) + " %";
}

// The rank for which the others waited most, and how many times were compared.
std::string late_line(const std::map<int, LateCalls>& late, const std::vector<KindOfCalls>& kinds) {
  std::uint64_t compared = 0, calls = 0;
  for (const KindOfCalls& kind : kinds)
    for (const Durations& times : kind.times) {
      compared += times.compared().calls;
      if (needs_all_ranks(kind.collective)) calls += times.calls();
    }
  if (compared == 0) return {};
  const auto& [rank, most] =
      *std::ranges::max_element(late, {}, [](const auto& one) { return one.second.wait_seconds; });
  const auto last = static_cast<double>(most.calls);
  return "late: rank " + std::to_string(rank) + " last in " +
         percent(last, static_cast<double>(compared)) + " of calls, mean " +
         fixed_text(most.wait_seconds / last / kMicro, 1) + " us; compared " +
         std::to_string(compared) + " of " + std::to_string(calls);
}

// Some MPIs write "MPICH Version:\t4.0.2".
std::string short_name(std::string mpi) {
  constexpr std::string_view kVersion = " Version:";
  if (const std::size_t place = mpi.find(kVersion); place != std::string::npos)
    mpi.erase(place, kVersion.size());
  std::ranges::replace(mpi, '\t', ' ');
  return mpi;
}

std::string number_of(int count, std::string_view thing) {
  return std::to_string(count) + " " + std::string{thing} + (count == 1 ? "" : "s");
}

}  // namespace

TimesText::TimesText(Job job, const Times& times)
    : job_{std::move(job)}, kinds_{times.kinds()}, late_{times.late()} {
  std::vector<const Site*> sites;
  for (const KindOfCalls& kind : kinds_)
    for (const auto& [site, of_site] : kind.sites) sites.push_back(site);
  names_ = names_of(sites);
}

std::string TimesText::head() const {
  Durations all;
  for (const KindOfCalls& kind : kinds_)
    for (const Durations& times : kind.times) all.add(times);
  const double seconds = all.seconds();
  const Compared& compared = all.compared();
  std::string line = "tutti-mpi " + std::string{version()} + "  " + short_name(job_.mpi) + "  " +
                     job_.program + ", " + number_of(job_.ranks, "rank");
  if (job_.hosts > 0) line += " on " + number_of(job_.hosts, "host");
  line += "  wall " + seconds_text(job_.wall_seconds) + " s  collectives " + seconds_text(seconds) +
          " s";
  if (job_.wall_seconds > 0) line += " (" + percent(seconds, job_.wall_seconds) + ")";
  if (compared.calls == 0) return line;
  line += ": waiting for late ranks " + seconds_text(compared.wait_seconds) + ", moving " +
          seconds_text(compared.move_seconds);
  if (compared.calls < all.calls()) line += ", not compared " + seconds_text(rest_of(all));
  return line;
}

// The site with most time, and the number of others.
std::string TimesText::site_text(const KindOfCalls& kind) const {
  std::string text = names_.at(kind.sites[0].first);
  if (kind.sites.size() > 1) text += " +" + std::to_string(kind.sites.size() - 1);
  return text;
}

std::vector<Cells> TimesText::table() const {
  std::vector<const KindOfCalls*> kinds;
  for (const KindOfCalls& kind : kinds_) kinds.push_back(&kind);
  std::ranges::stable_sort(kinds, std::ranges::greater{},
                           [](const KindOfCalls* kind) { return seconds_of(kind->times); });
  kinds.resize(std::min(kinds.size(), kMostRows));
  std::vector<Cells> rows{{"call", "size", "by tutti", "s (wait+move)", "us p50", "us p99",
                           "by MPI", "s (wait+move)", "us p50", "us p99", "s saved", "site"}};
  for (const KindOfCalls* const kind : kinds) {
    Cells& row =
        rows.emplace_back(Cells{std::string{name_of(kind->collective)}, text_of(kind->bytes)});
    for (const Durations& times : kind->times) append_columns(row, times);
    const std::optional<double> saved = saved_seconds(kind->times);
    row.push_back(saved ? fixed_text(std::round(*saved * 1e3) * 1e-3 + 0.0, 3) : kNothing);
    row.push_back(site_text(*kind));
  }
  return rows;
}

std::vector<std::string> TimesText::lines() const {
  if (kinds_.empty()) return {};
  std::vector<std::string> lines = aligned(table());
  if (kinds_.size() > kMostRows)
    lines.push_back("and " + std::to_string(kinds_.size() - kMostRows) + " rows with less time");
  if (std::string late = late_line(late_, kinds_); !late.empty()) lines.push_back(std::move(late));
  return lines;
}

std::string TimesText::records() const {
  return records_of(job_, kinds_, late_, names_);
}

}  // namespace tutti::dropin

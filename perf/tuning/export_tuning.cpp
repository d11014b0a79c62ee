#include "perf/tuning/export_tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "perf/failure.hpp"

namespace tutti::perf {

namespace {

const Counterpart* counterpart_of(const Library& library, Collective collective,
                                  const std::string& algorithm) {
  const std::string_view text{algorithm};
  const std::size_t end = std::min(text.find_first_of("(:"), text.size());
  const std::string_view parameters = text.substr(std::min(end + 1, text.size()));
  for (const Counterpart& counterpart : library.counterparts)
    if (counterpart.collective == collective && counterpart.ours == text.substr(0, end) &&
        (counterpart.parameters.empty() || parameters.empty() ||
         counterpart.parameters == parameters))
      return &counterpart;
  return nullptr;
}

/// A size without a counterpart stays as a cell without an algorithm, and gets a rule of its own.
ExportedTable exported(const detail::TunedTable& table, const Library& library) {
  std::vector<detail::TunedCell> known;
  std::set<std::size_t> missing;
  for (const detail::TunedCell& cell : table.cells) missing.insert(cell.bytes);
  for (const detail::TunedCell& cell : table.cells)
    if (counterpart_of(library, table.place.collective, cell.algorithm) != nullptr) {
      known.push_back(cell);
      missing.erase(cell.bytes);
    }
  for (const std::size_t bytes : missing) known.push_back({.bytes = bytes});
  ExportedTable result{.place = table.place};
  for (const detail::TunedRule& rule : detail::rules_of(known)) {
    const Counterpart* const runs = counterpart_of(library, table.place.collective, rule.algorithm);
    if (!result.rules.empty()) result.rules.back().until_bytes = rule.from_bytes;
    const bool has_segments = runs != nullptr && runs->has_segments;
    result.rules.push_back({.from_bytes = rule.from_bytes,
                            .runs = runs,
                            .segment_bytes = has_segments ? rule.segment_bytes : 0});
  }
  return result;
}

/// @return the sizes of a rule in words.
std::string words_of_sizes(const ExportedTable::Rule& rule) {
  if (rule.until_bytes == 0) return fmt::format("from {} bytes on", rule.from_bytes);
  if (rule.from_bytes == 0) return fmt::format("up to {} bytes", rule.until_bytes - 1);
  return fmt::format("from {} to {} bytes", rule.from_bytes, rule.until_bytes - 1);
}

/// @return the reason why a table is not exported; empty if a part of it is.
std::string reason_to_leave(const ExportedTable& table, const Library& library) {
  if (std::ranges::none_of(table.rules, [](const auto& rule) { return rule.runs != nullptr; }))
    return "no measured algorithm has a counterpart there";
  const auto missing = std::ranges::find(table.rules, nullptr, &ExportedTable::Rule::runs);
  if (missing != table.rules.end() && !library.leaves_sizes)
    return fmt::format(
        "no algorithm that was measured {} has a counterpart there, and no rule leaves sizes to "
        "the library",
        words_of_sizes(*missing));
  if (table.rules.size() > 1 &&
      std::ranges::count(library.without_sizes, table.place.collective) > 0)
    return "the fastest algorithm depends on the size, and rules there cannot";
  return {};
}

/// Adds a table, and the reasons for its missing parts.
void add_table(Exported& to, ExportedTable table, const Library& library) {
  const std::string where =
      fmt::format("{} on {} ranks", name_of(table.place.collective), table.place.ranks);
  if (const std::string reason = reason_to_leave(table, library); !reason.empty()) {
    to.left_out.push_back(fmt::format("{}: {}", where, reason));
    return;
  }
  for (const ExportedTable::Rule& rule : table.rules)
    if (rule.runs == nullptr)
      to.left_out.push_back(
          fmt::format("{} {}: no measured algorithm has a counterpart there, so {}", where,
                      words_of_sizes(rule),
                      library.writer == "nccl" ? "the plugin runs a ring" : "the library decides"));
  to.tables.push_back(std::move(table));
}

void reject_if_ambiguous(const std::vector<const detail::TunedTable*>& tables) {
  for (const detail::TunedTable* const a : tables)
    for (const detail::TunedTable* const b : tables)
      if (a != b && a->place.collective == b->place.collective && a->place.ranks == b->place.ranks)
        throw Failure{ExitCode::usage,
                      fmt::format("{} on {} ranks was measured over {} and {}: choose one by "
                                  "--transport",
                                  name_of(a->place.collective), a->place.ranks, a->place.transport,
                                  b->place.transport)};
}

}  // namespace

Exported export_for(const detail::Tuning& tuning, const Library& library,
                    const ExportScope& scope) {
  std::vector<const detail::TunedTable*> tables;
  for (const detail::TunedTable& table : tuning.tables)
    if (std::ranges::count(scope.collectives, table.place.collective) > 0 &&
        table.place.visible == scope.visible &&
        (scope.transport.empty() || table.place.transport == scope.transport) &&
        (scope.ranks == 0 || table.place.ranks == scope.ranks))
      tables.push_back(&table);
  reject_if_ambiguous(tables);
  Exported result;
  for (const detail::TunedTable* const table : tables)
    add_table(result, exported(*table, library), library);
  std::ranges::stable_sort(result.tables, {}, [](const ExportedTable& table) {
    return std::pair{table.place.collective, table.place.ranks};
  });
  return result;
}

}  // namespace tutti::perf

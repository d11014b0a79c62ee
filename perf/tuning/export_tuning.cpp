#include "perf/tuning/export_tuning.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "perf/failure.hpp"

namespace tutti::perf {

namespace {

const Counterpart* counterpart_of(Library library, Collective collective,
                                  const std::string& algorithm) {
  const std::string_view text{algorithm};
  const std::size_t end = std::min(text.find_first_of("(:"), text.size());
  const std::string_view parameters = text.substr(std::min(end + 1, text.size()));
  for (const Counterpart& counterpart : counterparts_of(library))
    if (counterpart.collective == collective && counterpart.ours == text.substr(0, end) &&
        (counterpart.parameters.empty() || parameters.empty() ||
         counterpart.parameters == parameters))
      return &counterpart;
  return nullptr;
}

ExportedTable exported(const detail::TunedTable& table, Library library) {
  std::vector<detail::TunedCell> known;
  for (const detail::TunedCell& cell : table.cells)
    if (counterpart_of(library, table.place.collective, cell.algorithm) != nullptr)
      known.push_back(cell);
  ExportedTable result{.place = table.place};
  for (const detail::TunedRule& rule : detail::rules_of(known)) {
    const Counterpart* const runs = counterpart_of(library, table.place.collective, rule.algorithm);
    if (!result.rules.empty()) result.rules.back().until_bytes = rule.from_bytes;
    result.rules.push_back({.from_bytes = rule.from_bytes,
                            .runs = runs,
                            .segment_bytes = runs->has_segments ? rule.segment_bytes : 0});
  }
  return result;
}

void reject_if_ambiguous(const std::vector<const detail::TunedTable*>& tables) {
  for (const detail::TunedTable* const a : tables)
    for (const detail::TunedTable* const b : tables)
      if (a != b && a->place.collective == b->place.collective && a->place.ranks == b->place.ranks)
        throw Failure{ExitCode::usage,
                      fmt::format("{} on {} ranks was measured over {} and {}: say which by "
                                  "--transport",
                                  name_of(a->place.collective), a->place.ranks, a->place.transport,
                                  b->place.transport)};
}

}  // namespace

Exported export_for(const detail::Tuning& tuning, Library library, const ExportScope& scope) {
  std::vector<const detail::TunedTable*> tables;
  for (const detail::TunedTable& table : tuning.tables)
    if (std::ranges::count(scope.collectives, table.place.collective) > 0 &&
        table.place.visible == scope.visible &&
        (scope.transport.empty() || table.place.transport == scope.transport) &&
        (scope.ranks == 0 || table.place.ranks == scope.ranks))
      tables.push_back(&table);
  reject_if_ambiguous(tables);
  Exported result;
  for (const detail::TunedTable* const table : tables) {
    ExportedTable next = exported(*table, library);
    if (next.rules.empty())
      result.left_out.push_back(
          fmt::format("{} on {} ranks: none of what was measured has a counterpart there",
                      name_of(table->place.collective), table->place.ranks));
    else result.tables.push_back(std::move(next));
  }
  std::ranges::stable_sort(result.tables, {}, [](const ExportedTable& table) {
    return std::pair{table.place.collective, table.place.ranks};
  });
  return result;
}

}  // namespace tutti::perf

// Hierarchies as text: `(within, between):groups=4:lanes=1`.
#include <algorithm>
#include <array>

#include <tutti/spi/catalog.hpp>

#include "expression.hpp"
#include "refuse.hpp"

namespace tutti::v0 {
namespace {

using enum Collective;

using CollectivePair = std::array<Collective, 2>;
constexpr CollectivePair kThereAndBack{reduce_scatter, all_gather};
constexpr CollectivePair kToTheLeader{reduce, broadcast};

bool has_both(const Catalog& catalog, const CollectivePair& pair, std::string_view name) {
  return std::ranges::all_of(pair,
                             [&](Collective way) { return catalog.find(way, name) != nullptr; });
}

/// Whether the operand, and all its own operands, exist for both collectives of a pair.
bool goes_both(const Catalog& catalog, const CollectivePair& pair, std::string_view operand) {
  const Expression expression = take_apart(operand);
  return has_both(catalog, pair, expression.name) &&
         std::ranges::all_of(expression.operands, [&](std::string_view inner) {
           return goes_both(catalog, pair, inner);
         });
}

/// The names of algorithms that both collectives of a pair have.
std::string names_of(const Catalog& catalog, const CollectivePair& pair) {
  std::string names;
  for (const Algorithm* const row : catalog.rows())
    if (row->collective == pair[0] && has_both(catalog, pair, row->name))
      names += (names.empty() ? "" : ", ") + std::string{row->name};
  return names;
}

void read_parameter(Hierarchy& hierarchy, std::string_view text, std::string_view whole) {
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string_view key = text.substr(0, equals);
  const std::string_view value = text.substr(std::min(equals + 1, text.size()));
  if (key == "groups") hierarchy.groups = numbers_in(value, whole);
  else if (key == "ranks") hierarchy.group_of = numbers_in(value, whole, 0);
  else if (key == "lanes") hierarchy.lanes = number_in(value, whole);
  else
    reject("unknown parameter '" + std::string{text} + "' in '" + std::string{whole} +
           "': expected groups=4, groups=5+3, ranks=0+1+0+1 or lanes=1");
}

/// The collectives within groups of an all_reduce: onto lanes, or to one leader.
const CollectivePair& pair_of(const Catalog& catalog, std::string_view operand, int lanes) {
  const std::string_view name = take_apart(operand).name;
  const bool can_lead = goes_both(catalog, kToTheLeader, operand);
  if (goes_both(catalog, kThereAndBack, operand) && !(lanes == 1 && can_lead)) return kThereAndBack;
  if (can_lead) return kToTheLeader;
  reject(
      "'" + std::string{name} +
      "' cannot work within groups: choose from those that reduce_scatter and all_gather have (" +
      names_of(catalog, kThereAndBack) + ") or reduce and broadcast (" +
      names_of(catalog, kToTheLeader) + ")");
}

/// The collective within groups of a broadcast: from one leader, or a gather of the lanes' parts.
Collective way_of_broadcast(const Catalog& catalog, std::string_view operand, int lanes) {
  const bool can_lead = goes_both(catalog, {broadcast, broadcast}, operand);
  const bool can_gather = goes_both(catalog, {all_gather, all_gather}, operand);
  return can_gather && (lanes > 1 || !can_lead) ? all_gather : broadcast;
}

}  // namespace

Hierarchy parse_hierarchy(const Catalog& catalog, Collective collective,
                          const Expression& expression, std::string_view whole) {
  if (expression.operands.size() != 2)
    reject("'" + std::string{whole} +
           "' must name two algorithms: write for example hierarchical(circulant, ring):groups=4");
  Hierarchy hierarchy;
  std::string_view rest = expression.parameters;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    read_parameter(hierarchy, rest.substr(0, end), whole);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (!hierarchy.groups.empty() && !hierarchy.group_of.empty())
    reject("'" + std::string{whole} +
           "' must have its groups once: as groups=4, groups=5+3 or "
           "ranks=0+1+0+1");
  const auto [within, between] = std::pair{expression.operands[0], expression.operands[1]};
  if (collective != all_reduce) {
    const Collective way =
        collective == broadcast ? way_of_broadcast(catalog, within, hierarchy.lanes) : collective;
    hierarchy.stages = {parse_choice(catalog, way, within),
                        parse_choice(catalog, collective, between)};
    if (way != collective) hierarchy.stages.push_back(parse_choice(catalog, scatter, "binomial"));
    return hierarchy;
  }
  const CollectivePair& pair = pair_of(catalog, within, hierarchy.lanes);
  hierarchy.stages = {parse_choice(catalog, pair[0], within),
                      parse_choice(catalog, all_reduce, between),
                      parse_choice(catalog, pair[1], within)};
  return hierarchy;
}

std::string parameters_of(const Hierarchy& hierarchy) {
  std::string text = hierarchy.groups.empty() ? "" : "groups=" + joined(hierarchy.groups);
  if (!hierarchy.group_of.empty()) text = "ranks=" + joined(hierarchy.group_of);
  if (hierarchy.lanes == 0) return text;
  return text + (text.empty() ? "" : ":") + "lanes=" + std::to_string(hierarchy.lanes);
}

}  // namespace tutti::v0

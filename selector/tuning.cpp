#include "tuning.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace tutti::v0::detail {

const TunedTable* find_table(const Tuning& tuning, const TunedPlace& place) noexcept {
  const auto found = std::ranges::find(tuning.tables, place, &TunedTable::place);
  return found == tuning.tables.end() || found->rules.empty() ? nullptr : &*found;
}

const TunedCosts* find_costs(const Tuning& tuning, const TunedCosts& wanted) noexcept {
  const auto fits = [&](const TunedCosts& costs) {
    return costs.transport == wanted.transport && costs.visible == wanted.visible &&
           (costs.hosts > 1) == (wanted.hosts > 1) &&
           (costs.costs.shared_cores > 0) == (wanted.costs.shared_cores > 0);
  };
  const auto distance = [&](const TunedCosts& costs) {
    return std::abs(std::log(static_cast<double>(costs.ranks) / wanted.ranks));
  };
  const TunedCosts* nearest = nullptr;
  for (const TunedCosts& costs : tuning.costs)
    if (fits(costs) && (nearest == nullptr || distance(costs) < distance(*nearest)))
      nearest = &costs;
  return nearest;
}

void keep_costs(Tuning& tuning, TunedCosts costs) {
  std::erase_if(tuning.costs, [&](const TunedCosts& other) {
    return other.ranks == costs.ranks && other.hosts == costs.hosts &&
           other.transport == costs.transport && other.visible == costs.visible;
  });
  tuning.costs.push_back(std::move(costs));
}

const TunedRule& rule_for(const TunedTable& table, std::size_t bytes) noexcept {
  const TunedRule* rule = &table.rules.front();
  for (const TunedRule& next : table.rules)
    if (next.from_bytes <= bytes) rule = &next;
  return *rule;
}

namespace {

bool is_same_choice(const TunedRule& rule, const TunedCell& cell) noexcept {
  return rule.algorithm == cell.algorithm && rule.segment_bytes == cell.segment_bytes;
}

/// The choice at one size. @param before the rule of the size before, or null.
const TunedCell& best_of(const std::vector<const TunedCell*>& cells, const TunedRule* before) {
  const auto time = [](const TunedCell* cell) { return cell->median_us; };
  const TunedCell& best = **std::ranges::min_element(cells, {}, time);
  if (before == nullptr) return best;
  for (const TunedCell* const cell : cells)
    if (is_same_choice(*before, *cell) && cell->low_us <= best.high_us) return *cell;
  return best;
}

std::size_t between(std::size_t a, std::size_t b) {
  return static_cast<std::size_t>(std::sqrt(static_cast<double>(a) * static_cast<double>(b)));
}

}  // namespace

std::vector<TunedRule> rules_of(std::span<const TunedCell> cells) {
  std::map<std::size_t, std::vector<const TunedCell*>> by_size;
  for (const TunedCell& cell : cells) by_size[cell.bytes].push_back(&cell);
  std::vector<TunedRule> rules;
  std::size_t last = 0;
  for (const auto& [bytes, candidates] : by_size) {
    const TunedCell& best = best_of(candidates, rules.empty() ? nullptr : &rules.back());
    if (rules.empty() || !is_same_choice(rules.back(), best))
      rules.push_back({.from_bytes = rules.empty() ? 0 : between(last, bytes),
                       .algorithm = best.algorithm,
                       .segment_bytes = best.segment_bytes});
    last = bytes;
  }
  return rules;
}

}  // namespace tutti::v0::detail

// Times of calls, from their costs and from plain calls that were timed on this machine.
#include <algorithm>
#include <cmath>
#include <vector>

#include <tutti/error.hpp>

#include "base/number_text.hpp"
#include "selector.hpp"
#include "timed_calls.hpp"

namespace tutti::v0::detail {
namespace {

Femtoseconds scaled(Femtoseconds cost, double factor) {
  return std::llround(static_cast<double>(cost) * factor);
}

void scale(Candidate& candidate, double factor) {
  candidate.predicted = scaled(candidate.predicted, factor);
  NetworkTerms& terms = candidate.terms;
  for (Femtoseconds* const term :
       {&terms.latency, &terms.messages, &terms.bytes, &terms.reductions})
    *term = scaled(*term, factor);
}

/// A factor with three digits, such as "0.0512".
std::string digits_of(double factor) {
  const int before = static_cast<int>(std::floor(std::log10(factor)));
  std::string text = fixed_text(factor);
  const auto length = static_cast<std::size_t>(std::max(before, 0) + 2 + std::max(2 - before, 0));
  text.resize(std::min(text.size(), length));
  if (text.back() == '.') text.pop_back();
  return text;
}

bool share_one_host(const std::vector<int>& hosts) {
  return !hosts.empty() &&
         std::ranges::all_of(hosts, [&](int host) { return host == hosts.front(); });
}

}  // namespace

std::string_view name_of(TimeBasis basis) noexcept {
  switch (basis) {
    case TimeBasis::assumed: break;
    case TimeBasis::calibrated: return "calibrated";
    case TimeBasis::timed: return "timed";
  }
  return "assumed";
}

/// Predicts a timed call by the model, on the ranks that ran it.
Femtoseconds Selector::cost_of(const TunedPlace& place, const TunedCell& cell,
                               const Problem& problem) {
  const Contract contract{.collective = place.collective, .size = place.ranks};
  const Choice choice =
      on_hosts(parse_choice(*catalog_, place.collective, cell.algorithm), placement_.hosts);
  Profiles& profiles = profiles_for(choice);
  if (uses_network(problem) && place.ranks == problem.contract.size)
    return profiles.find(choice, contract, network_).time(cell.bytes, cell.segment_bytes).total();
  return profiles.find(choice, contract).time(cell.bytes, cell.segment_bytes, costs_of(problem));
}

void Selector::put_times(Selection& selection, const Problem& problem) try {
  const SharedConfig& shared_config = *placement_.shared_config;
  if (!shared_config.untuned.empty()) selection.costs += " (" + shared_config.untuned + ")";
  const bool may_be_timed = share_one_host(placement_.hosts) && !is_described_ && !shares_cores() &&
                            !charges_what_lasts(problem);
  if (!may_be_timed) return;
  const TunedTable* const table =
      shared_config.timed
          ? find_timed(*shared_config.timed, {.collective = problem.contract.collective,
                                              .ranks = problem.contract.size,
                                              .transport = placement_.transport,
                                              .visible = problem.visible})
          : nullptr;
  if (table == nullptr) {
    if (!shared_config.untimed.empty()) selection.costs += " (" + shared_config.untimed + ")";
    return;
  }
  std::vector<TimeFactor> factors;
  for (const TunedCell& cell : table->cells) {
    const double cost = static_cast<double>(cost_of(table->place, cell, problem)) * 1e-9;
    if (cost > 0) factors.push_back({cell.bytes, cell.median_us / cost});
  }
  if (factors.empty()) return;
  const double factor = factor_at(factors, problem.bytes());
  for (Candidate& candidate : selection.candidates) scale(candidate, factor);
  scale(selection.chosen, factor);
  selection.times = TimeBasis::timed;
  selection.costs += "; times are " + digits_of(factor) + " of that, since plain calls of " +
                     std::to_string(table->place.ranks) + " ranks were timed here (" +
                     shared_config.timed->origin + ")";
} catch (const Error&) {
  // A file may name an algorithm that these ranks do not have: the costs then stay as they are.
}

}  // namespace tutti::v0::detail

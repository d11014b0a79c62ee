#include "selector.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <tutti/error.hpp>

#include "structured.hpp"
#include "topology/gpus.hpp"
#include "words.hpp"

namespace tutti::v0::detail {
namespace {

int count_of(std::vector<int> groups) {
  std::ranges::sort(groups);
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  return static_cast<int>(groups.size());
}

/// Whether there are several groups, and one of them has several ranks.
bool are_mixed(const std::vector<int>& groups) {
  const int count = count_of(groups);
  return count > 1 && count < static_cast<int>(groups.size());
}

/// The number of each rank's part. Parts are numbered in the order of their first ranks.
template <class Part>
std::vector<int> numbered(const std::vector<Part>& parts) {
  std::vector<Part> known;
  std::vector<int> numbers;
  for (const Part& part : parts) {
    const auto found = std::ranges::find(known, part);
    numbers.push_back(static_cast<int>(found - known.begin()));
    if (found == known.end()) known.push_back(part);
  }
  return numbers;
}

/// The level of packages, or else of caches, inside a host. Empty if neither is known for all ranks
/// and divides them.
std::vector<Level> levels_within(const std::vector<Locality>& localities) {
  using Part = std::pair<const char*, std::int32_t Locality::*>;
  for (const auto& [name, part] :
       {Part{"package", &Locality::package}, {"cache", &Locality::cache}}) {
    std::vector<std::int32_t> parts;
    for (const Locality& at : localities) parts.push_back(at.*part);
    if (std::ranges::find(parts, -1) == parts.end() && are_mixed(parts))
      return {{.name = name, .part_of = numbered(parts)}};
  }
  return {};
}

/// The level of islands of GPUs, on any hosts. Empty if they are not known for all ranks, do not
/// divide them, or equal the hosts.
std::vector<Level> levels_of_islands(const std::vector<int>& hosts,
                                     const std::vector<Locality>& localities) {
  std::vector<std::pair<int, std::int32_t>> islands;
  for (std::size_t rank = 0; rank < localities.size(); ++rank) {
    if (localities[rank].island < 0) return {};
    islands.emplace_back(hosts[rank], localities[rank].island);
  }
  std::vector<int> parts = numbered(islands);
  if (!are_mixed(parts) || parts == numbered(hosts)) return {};
  return {{.name = "island", .part_of = std::move(parts)}};
}

/// All levels that divide the ranks, innermost first.
std::vector<Level> levels_among(const std::vector<int>& hosts,
                                const std::vector<Locality>& localities) {
  std::vector<Level> levels = levels_of_islands(hosts, localities);
  if (are_mixed(hosts)) levels.push_back({.name = kHostLevel, .part_of = numbered(hosts)});
  else if (levels.empty() && count_of(hosts) < 2) levels = levels_within(localities);
  return levels;
}

/// The levels of a described network that divide its first `ranks` hosts.
std::vector<Level> levels_among(const Topology& topology, std::size_t ranks) {
  std::vector<Level> levels;
  for (const Level& level : topology.levels()) {
    std::vector<int> parts{level.part_of.begin(),
                           level.part_of.begin() + static_cast<std::ptrdiff_t>(ranks)};
    if (are_mixed(parts)) levels.push_back({.name = level.name, .part_of = numbered(parts)});
  }
  return levels;
}

std::shared_ptr<const Catalog> or_own(std::shared_ptr<const Catalog> catalog) {
  return catalog ? std::move(catalog) : std::make_shared<const Catalog>();
}

}  // namespace

std::size_t segment_count(std::size_t bytes, std::size_t segment_bytes,
                          std::size_t largest_block) noexcept {
  if (segment_bytes == 0 || bytes <= segment_bytes) return 1;
  const std::size_t wanted = bytes / segment_bytes + (bytes % segment_bytes != 0);
  return std::clamp<std::size_t>(wanted, 1, std::max<std::size_t>(largest_block, 1));
}

Selector::Selector(CostModel cost_model, std::shared_ptr<const Catalog> catalog,
                   Placement placement)
    : cost_model_{std::move(cost_model)},
      placement_{std::move(placement)}, catalog_{or_own(std::move(catalog))} {
  if (!placement_.shared_config) placement_.shared_config = std::make_shared<const SharedConfig>();
  calibrate();
  look_around();
}

Selector::Selector(RankNetwork network, std::shared_ptr<const Catalog> catalog,
                   std::vector<int> hosts, std::shared_ptr<const Graph> graph)
    : cost_model_{.origin = "network " + network.topology.name()}, catalog_{or_own(
                                                                       std::move(catalog))},
      network_{std::make_shared<const RankNetwork>(std::move(network))}, graph_{std::move(graph)} {
  is_described_ = true;
  if (are_mixed(hosts)) levels_.push_back({.name = kHostLevel, .part_of = numbered(hosts)});
  else if (network_->topology.hosts() >= static_cast<int>(hosts.size()))
    levels_ = levels_among(network_->topology, hosts.size());
  // A hierarchy without groups of its own gets those of the outermost level.
  placement_.hosts = levels_.empty() ? std::move(hosts) : levels_.back().part_of;
  placement_.shared_config = std::make_shared<const SharedConfig>();
}

const Tuning* Selector::tuning() const noexcept {
  return placement_.shared_config->tuning.get();
}

/// Finds the levels of the ranks, and the network that predictions use, if any.
void Selector::look_around() {
  const std::vector<int>& hosts = placement_.hosts;
  const bool is_one_host = count_of(hosts) < 2;
  levels_ = levels_among(hosts, placement_.localities);
  const auto& described = placement_.shared_config->network;
  if (!described && levels_.empty()) return;
  if (is_one_host && levels_.empty()) return;
  // A cost model for links between hosts (or islands of GPUs) must have one for the links inside
  // them too.
  const bool has_parts = !is_one_host || are_on_rails(placement_.localities);
  if (has_parts && !described && !cost_model_.inside) return;
  const bool knows_hosts = described != nullptr && !is_one_host;
  network_ = placement_.shared_config->network_of(
      {.hosts = knows_hosts ? hosts : numbered(hosts),
       .localities = placement_.localities,
       .between = cost_model_.costs,
       .inside = cost_model_.inside.value_or(cost_model_.costs),
       .across = cost_model_.across});
  if (!knows_hosts) return;
  is_described_ = true;
  std::ranges::move(levels_among(network_->topology, hosts.size()), std::back_inserter(levels_));
  cost_model_.origin = "network " + described->origin;
  cost_model_.lasting.reset();  // configured costs are equal in every run
  if (count_of(hosts) == static_cast<int>(hosts.size()))
    graph_ = router_graph(network_->topology, static_cast<int>(hosts.size()));
}

/// Replaces assumed costs by measured ones, unless every run must make the same choice. If some
/// ranks share a host, costs inside a host and between hosts come from separate measurements.
void Selector::calibrate() {
  const std::vector<int>& hosts = placement_.hosts;
  if (tuning() == nullptr || hosts.empty()) return;
  const LinkCosts assumed = cost_model_.costs;
  TunedCosts wanted{.ranks = static_cast<int>(hosts.size()),
                    .hosts = count_of(hosts),
                    .transport = placement_.transport,
                    .costs = assumed};
  wanted.transport.erase(0, wanted.transport.find('+') + 1);  // the part between hosts
  if (fit(cost_model_.costs, wanted)) {
    cost_model_.origin = "measured: " + tuning()->origin;
    is_calibrated_ = true;
    if (!cost_model_.lasting) cost_model_.lasting = assumed;
  }
  wanted.visible = true;
  if (cost_model_.visible) fit(*cost_model_.visible, wanted);
  if (!cost_model_.inside) return;
  wanted = {.ranks = std::max(wanted.ranks / wanted.hosts, 2), .hosts = 1, .transport = "shm"};
  if (fit(*cost_model_.inside, wanted)) return;
  wanted.costs.shared_cores = 1;  // else those of ranks that share cores
  fit(*cost_model_.inside, wanted);
}

/// Replaces costs by measured ones, except the cores and buffers of these ranks. @return whether
/// there are measured ones.
bool Selector::fit(LinkCosts& costs, const TunedCosts& wanted) const {
  const TunedCosts* const found = find_costs(*tuning(), wanted);
  if (found == nullptr) return false;
  const LinkCosts assumed = std::exchange(costs, found->costs);
  costs.shared_cores = assumed.shared_cores;
  costs.buffered_bytes = assumed.buffered_bytes;
  return true;
}

/// Proves an added algorithm, once for this number of ranks and this root.
void Selector::prove(Candidate& candidate, const Contract& contract) {
  const Key key{candidate.choice.algorithm, candidate.choice.text(), contract.root};
  auto found = proofs_.find(key);
  if (found == proofs_.end())
    found = proofs_.emplace(key, detail::prove(candidate.choice, contract)).first;
  candidate.refusal = found->second.refusal;
  candidate.digest = found->second.digest;
}

/// Added rows live only as long as their catalog, so no other communicator may find their profiles.
Profiles& Selector::profiles_for(const Choice& choice) noexcept {
  return is_added(choice) ? *own_profiles_ : placement_.shared_config->profiles();
}

/// Measured costs differ between runs, so the next run could choose another expression tree.
bool Selector::charges_what_lasts(const Problem& problem) const noexcept {
  return cost_model_.lasting && problem.determinism >= Determinism::run_to_run;
}

const LinkCosts& Selector::costs_of(const Problem& problem) const noexcept {
  if (charges_what_lasts(problem)) return *cost_model_.lasting;
  return problem.visible && cost_model_.visible ? *cost_model_.visible : cost_model_.costs;
}

/// Otherwise all messages have the same costs.
bool Selector::uses_network(const Problem& problem) const noexcept {
  return network_ && !charges_what_lasts(problem);
}

Candidate Selector::judge(const Problem& problem, Variant variant) {
  Candidate candidate{.choice = std::move(variant.choice), .segment_bytes = variant.segment_bytes};
  if (is_added(candidate.choice)) prove(candidate, problem.contract);
  if (candidate.refusal.empty()) candidate.refusal = refusal_of(candidate.choice, problem);
  if (problem.bytes() <= candidate.segment_bytes) candidate.segment_bytes = 0;
  if (candidate.refusal.empty()) predict(candidate, problem);
  return candidate;
}

void Selector::predict(Candidate& candidate, const Problem& problem) try {
  Profiles& profiles = profiles_for(candidate.choice);
  if (!uses_network(problem)) {
    candidate.predicted = profiles.find(candidate.choice, problem.contract)
                              .time(problem.bytes(), candidate.segment_bytes, costs_of(problem));
    return;
  }
  candidate.terms = profiles.find(candidate.choice, problem.contract, network_)
                        .time(problem.bytes(), candidate.segment_bytes);
  candidate.predicted = candidate.terms.total();
} catch (const Error& error) {
  // For example, stages that do not fit the groups fail when they are built.
  if (error.code() != ErrorCode::invalid_argument) throw;
  candidate.refusal = error.what();
}

/// All variants to consider, whether or not they can run.
std::vector<Variant> Selector::variants_for(const Problem& problem) const {
  const Collective collective = problem.contract.collective;
  std::vector<Variant> variants;
  std::vector<Choice> built;  // of rows that need groups or a network
  if (uses_network(problem)) {
    const auto build = [&built](const std::vector<Choice>& more) {
      built.insert(built.end(), more.begin(), more.end());
    };
    std::for_each(levels_.rbegin(), levels_.rend(), [&](const Level& level) {
      build(hierarchies_of(*catalog_, collective, level.part_of));
    });
    build(choices_on(*catalog_, collective, graph_));
  }
  const auto add = [&](std::vector<Variant> more) {
    std::ranges::move(more, std::back_inserter(variants));
  };
  for (const Algorithm* const row : catalog_->rows()) {
    if (row->collective != collective) continue;
    const auto is_row = [row](const Choice& choice) { return choice.algorithm == row; };
    if (std::ranges::none_of(built, is_row)) add(variants_of(*row, problem));
  }
  for (Choice& choice : built) add(with_segments(std::move(choice), problem));
  return variants;
}

std::string Selector::costs_in_words(const Problem& problem) const {
  if (charges_what_lasts(problem))
    return words_of(*cost_model_.lasting) + "assumed, so that every run has the same costs";
  if (is_described_) {
    const std::string& assumed = network_->topology.assumed();
    return "the speeds of " + cost_model_.origin +
           (assumed.empty() ? "" : ", assumed of " + assumed) + levels_in_words();
  }
  const std::string words = words_of(costs_of(problem)) + cost_model_.origin;
  if (!network_) return words;
  if (!cost_model_.inside) return words + levels_in_words();
  const std::string inside = words_of(*cost_model_.inside) + "assumed" + levels_in_words();
  if (!cost_model_.across) return words + "; within a host " + inside;
  return words + "; between islands of a host " + words_of(*cost_model_.across) +
         "within an island " + inside;
}

/// The levels that hierarchies use.
std::string Selector::levels_in_words() const {
  std::string text;
  for (const Level& level : levels_) {
    const auto [parts, least, most] = part_sizes(level);
    text += (text.empty() ? "; levels: " : ", ") + std::to_string(parts) + " " + level.name +
            "s of " + (least == most ? "" : std::to_string(least) + " to ") + std::to_string(most) +
            " ranks";
  }
  return text;
}

/// A choice by name, with the segments of the call or the row.
Variant Selector::parsed(std::string_view text, const Problem& problem) const {
  Choice choice =
      on_hosts(parse_choice(*catalog_, problem.contract.collective, text), placement_.hosts);
  return with_segments(std::move(choice), problem).front();
}

/// The choice that measured fastest; none if every run must make the same choice. @param origin is
/// set to the origin of the choice, or to why it cannot run.
std::optional<Candidate> Selector::look_up(const Problem& problem, std::string& origin) {
  const Contract& contract = problem.contract;
  if (tuning() == nullptr || problem.determinism >= Determinism::run_to_run) return {};
  const TunedTable* const table = find_table(
      *tuning(), {contract.collective, contract.size, std::max(count_of(placement_.hosts), 1),
                  placement_.transport, problem.visible});
  if (table == nullptr) return {};
  const TunedRule& rule = rule_for(*table, problem.bytes());
  origin = tuning()->origin + ", from " + std::to_string(rule.from_bytes) + " bytes on";
  try {
    Variant variant = parsed(rule.algorithm, problem);
    if (problem.segment == 0) variant.segment_bytes = rule.segment_bytes;
    Candidate candidate = judge(problem, std::move(variant));
    candidate.is_measured = candidate.refusal.empty();
    if (candidate.is_measured) return candidate;
    origin += ": " + rule.algorithm + " cannot serve: " + candidate.refusal;
  } catch (const Error& error) {
    origin += ": " + std::string{error.what()};
  }
  return {};
}

Candidate Selector::force(const Problem& problem) {
  Candidate candidate = judge(problem, parsed(problem.algorithm, problem));
  if (candidate.refusal.empty()) return candidate;
  throw Error{ErrorCode::invalid_argument, std::string{name_of(problem.contract.collective)} +
                                               ": algorithm " + candidate.choice.text() +
                                               " cannot serve: " + candidate.refusal};
}

Selection Selector::select(const Problem& problem) {
  Selection selection{.forced = !problem.algorithm.empty(),
                      .costs = costs_in_words(problem),
                      .charged = costs_of(problem),
                      .on_network = uses_network(problem),
                      .determinism = problem.determinism};
  if (is_calibrated_ && !charges_what_lasts(problem)) selection.times = "calibrated";
  const std::string& untuned = placement_.shared_config->untuned;
  if (!untuned.empty()) selection.costs += " (" + untuned + ")";
  if (selection.forced) {
    selection.chosen = force(problem);
    selection.candidates.push_back(selection.chosen);
    return selection;
  }
  for (Variant& variant : variants_for(problem))
    selection.candidates.push_back(judge(problem, std::move(variant)));
  if (problem.determinism >= Determinism::size_invariant)
    keep_one_tree(selection.candidates, problem.determinism);
  if (std::optional<Candidate> found = look_up(problem, selection.measured)) {
    selection.chosen = std::move(*found);
    return selection;
  }
  const auto worse = [](const Candidate& a, const Candidate& b) {
    if (a.refusal.empty() != b.refusal.empty()) return a.refusal.empty();
    return a.predicted < b.predicted;
  };
  // Among equals the first row of the catalog wins, on every rank.
  selection.chosen =
      *std::min_element(selection.candidates.begin(), selection.candidates.end(), worse);
  if (!selection.chosen.refusal.empty())
    throw Error{ErrorCode::invalid_argument, std::string{name_of(problem.contract.collective)} +
                                                 ": no algorithm can serve this call\n" +
                                                 selection.explain()};
  return selection;
}

}  // namespace tutti::v0::detail

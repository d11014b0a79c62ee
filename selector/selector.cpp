#include "selector.hpp"

#include <algorithm>
#include <utility>

#include <tutti/error.hpp>

#include "structured.hpp"
#include "topology/families.hpp"
#include "topology/placed.hpp"

namespace tutti::inline v0::detail {
namespace {

/// Why an algorithm does not keep what is asked of the bits; empty if it does.
std::string looseness_of(const Algorithm& row, const Problem& problem) {
  const auto [collective, size, root] = problem.contract;
  const Determinism level = problem.determinism;
  const std::string asked = ", and " + std::string{name_of(level)} + " is asked for";
  if (level >= Determinism::rank_identical && collective == Collective::all_reduce &&
      !holds(row.traits.rank_identical, size, root))
    return "it gives ranks different bits" + asked;
  if (level >= Determinism::size_invariant && !holds(row.traits.size_invariant, size, root))
    return "an element's bits depend on its place in the vector" + asked;
  if (level >= Determinism::layout_invariant && !has_default(row.parameter))
    return "its expression tree follows the network or groups that it is given" + asked;
  return {};
}

/// Whose expression tree a row has.
std::string_view tree_of(const Algorithm& row) noexcept {
  return row.traits.same_tree_as.empty() ? row.name : row.traits.same_tree_as;
}

/// So that no size runs another expression tree than the others: leaves those candidates that have
/// that of the first one in the catalog that can serve. Nothing here depends on a size.
void keep_one_tree(std::vector<Candidate>& candidates, Determinism level) {
  const auto first = std::ranges::find_if(
      candidates, [](const Candidate& candidate) { return candidate.refusal.empty(); });
  if (first == candidates.end()) return;
  const std::string_view tree = tree_of(*first->choice.algorithm);
  for (Candidate& candidate : candidates)
    if (candidate.refusal.empty() && tree_of(*candidate.choice.algorithm) != tree)
      candidate.refusal = "its expression tree is not that of " + std::string{tree} + ", which " +
                          std::string{name_of(level)} + " keeps to";
}

/// Why an algorithm cannot serve a problem; empty if it can.
std::string refusal_of(const Choice& choice, const Problem& problem) {
  const Algorithm& row = *choice.algorithm;
  const Contract& contract = problem.contract;
  try {
    require(choice, contract.size);
  } catch (const Error& error) {
    return error.what();
  }
  if (problem.own_counts && !row.traits.own_counts_only)
    return "it passes on blocks whose sizes not every rank knows";
  if (problem.needs_order() && !holds(row.traits.ordered, contract.size, contract.root))
    return row.traits.ordered == When::root_is_zero
               ? "the operator does not commute, and it keeps operand order only for root 0"
               : "the operator does not commute, and it does not keep operand order";
  return looseness_of(row, problem);
}

/// The parameters that are tried of a row: beside the default other radices, where no bits depend
/// on them. Fewer rounds of more messages each win where ranks wait for a core.
std::vector<int> numbers_of(const Algorithm& row, const Contract& contract) {
  const bool has_bits = contract.reduces() && contract.collective != Collective::barrier;
  std::vector<int> numbers{row.default_number};
  if (row.parameter == AlgorithmParameter::radix && !has_bits)
    for (const int radix : {2, 4, 8})
      if (radix != row.default_number && radix / 2 < contract.size) numbers.push_back(radix);
  return numbers;
}

std::string nanoseconds(Femtoseconds time) {
  const std::string thousandths = std::to_string(time / 1000 % 1000);
  return std::to_string(time / 1'000'000) + "." + std::string(3 - thousandths.size(), '0') +
         thousandths + " ns";
}
std::string microseconds(Femtoseconds time) {
  const std::int64_t tenths = time / 100'000'000;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " us";
}

std::string text_of(const LinkCosts& costs) {
  return microseconds(costs.alpha) + " per message, " +
         (costs.round == 0 ? "" : microseconds(costs.round) + " per round, ") +
         nanoseconds(costs.beta) +
         (costs.half_duplex ? " per byte in and per byte out, " : " per byte moved, ") +
         nanoseconds(costs.gamma) + " per byte reduced, " +
         (costs.gamma_read == 0 ? "" : nanoseconds(costs.gamma_read) + " where it was read, ");
}

/// Networks can have more links than a line.
std::string shortened(std::string text) {
  constexpr std::size_t kMost = 100;
  if (text.size() > kMost) text.replace(kMost - 3, std::string::npos, "...");
  return text;
}

std::string text_of(const NetworkTerms& terms) {
  return " (latency " + microseconds(terms.latency) + ", messages " + microseconds(terms.messages) +
         ", links " + microseconds(terms.bytes) + ", reductions " + microseconds(terms.reductions) +
         ")";
}

int count_of(std::vector<int> hosts) {
  std::ranges::sort(hosts);
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  return static_cast<int>(hosts.size());
}

/// Whether some ranks are on one host, and not all.
bool are_mixed(const std::vector<int>& hosts) {
  const int count = count_of(hosts);
  return count > 1 && count < static_cast<int>(hosts.size());
}

/// Hosts on one switch, and ranks in their memory. A message costs what the tariff says: half of
/// what one within a host does occupies its sender, and links take the rest.
RankNetwork network_of_hosts(const LinkCosts& between, const LinkCosts& inside,
                             const std::vector<int>& hosts) {
  std::vector<int> known;
  std::vector<int> host_of;  // numbered as they are met
  for (const int host : hosts) {
    const auto found = std::ranges::find(known, host);
    host_of.push_back(static_cast<int>(found - known.begin()));
    if (found == known.end()) known.push_back(host);
  }
  const Femtoseconds rest = std::max<Femtoseconds>(between.alpha - inside.alpha, 0);
  const LinkSpeed wire{.latency = rest / 2, .per_byte = between.beta};
  const LinkSpeed memory{.latency = inside.alpha / 4,
                         .per_byte = inside.half_duplex ? 2 * inside.beta : inside.beta};
  return {
      .topology = place_ranks(single_switch(static_cast<int>(known.size()), wire), host_of, memory),
      .endpoints = {.message = inside.alpha / 2, .reduced = between.gamma}};
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

std::string Selection::explain() const {
  std::string text = chosen.choice.text() + (forced               ? " (forced"
                                             : chosen.is_measured ? " (measured: " + measured
                                                                  : " (least predicted time");
  if (determinism > Determinism::rank_identical) text += ", " + std::string{name_of(determinism)};
  text += ")";
  if (!chosen.is_measured && !measured.empty()) text += "\n  not as measured: " + measured;
  text += "\n  at " + costs;
  for (const Candidate& candidate : candidates) {
    text += "\n  " + shortened(candidate.choice.text());
    if (candidate.segment_bytes > 0)
      text += ", segments of " + std::to_string(candidate.segment_bytes) + " bytes";
    text += ": ";
    if (!candidate.refusal.empty()) text += "left out, " + candidate.refusal;
    else
      text += microseconds(candidate.predicted) +
              (on_network ? text_of(candidate.terms) : std::string{});
  }
  return text;
}

Selector::Selector(Tariff tariff, std::shared_ptr<const Catalog> catalog, std::vector<int> hosts,
                   Measurements measurements)
    : tariff_{std::move(tariff)}, hosts_{std::move(hosts)}, catalog_{or_own(std::move(catalog))},
      measurements_{std::move(measurements)} {
  calibrate();
  if (tariff_.inside && are_mixed(hosts_))
    network_ = network_of_hosts(tariff_.costs, *tariff_.inside, hosts_);
}

Selector::Selector(RankNetwork network, std::shared_ptr<const Catalog> catalog,
                   std::vector<int> hosts, std::shared_ptr<const Graph> graph)
    : tariff_{.origin = "network " + network.topology.name()}, hosts_{std::move(hosts)},
      catalog_{or_own(std::move(catalog))}, network_{std::move(network)}, graph_{std::move(graph)} {
}

/// What was measured stands in for what is assumed, except where every run must choose alike. Ranks
/// of several hosts, some of which share one, are charged by two measurements: of ranks that share
/// no host, and of ranks that share one.
void Selector::calibrate() {
  if (!measurements_.tuning || hosts_.empty()) return;
  const LinkCosts assumed = tariff_.costs;
  TunedCosts wanted{.ranks = static_cast<int>(hosts_.size()),
                    .hosts = count_of(hosts_),
                    .transport = measurements_.transport,
                    .costs = assumed};
  wanted.transport.erase(0, wanted.transport.find('+') + 1);  // between hosts
  if (fit(tariff_.costs, wanted)) {
    tariff_.origin = "measured: " + measurements_.tuning->origin;
    if (!tariff_.lasting) tariff_.lasting = assumed;
  }
  wanted.visible = true;
  if (tariff_.visible) fit(*tariff_.visible, wanted);
  if (!tariff_.inside) return;
  wanted = {.ranks = std::max(wanted.ranks / wanted.hosts, 2), .hosts = 1, .transport = "shm"};
  if (fit(*tariff_.inside, wanted)) return;
  wanted.costs.shared_cores = 1;  // in want of a better one
  fit(*tariff_.inside, wanted);
}

/// @param costs become those that were measured, but for what is known of these ranks. @return
/// whether there are some.
bool Selector::fit(LinkCosts& costs, const TunedCosts& wanted) const {
  const TunedCosts* const found = find_costs(*measurements_.tuning, wanted);
  if (found == nullptr) return false;
  const LinkCosts assumed = std::exchange(costs, found->costs);
  costs.shared_cores = assumed.shared_cores;
  costs.buffered_bytes = assumed.buffered_bytes;
  return true;
}

/// What was added must be proved, for this number of ranks and this root.
void Selector::prove(Candidate& candidate, const Contract& contract) {
  const Key key{candidate.choice.algorithm, candidate.choice.text(), contract.root};
  auto found = proofs_.find(key);
  if (found == proofs_.end())
    found = proofs_.emplace(key, detail::prove(candidate.choice, contract)).first;
  candidate.refusal = found->second.refusal;
  candidate.digest = found->second.digest;
}

const Profile& Selector::profile(const Choice& choice, const Contract& contract) {
  const Key key{choice.algorithm, choice.text(), contract.root};
  const auto found = profiles_.find(key);
  if (found != profiles_.end()) return found->second;
  return profiles_.emplace(key, profile_of(choice, contract.size, contract.root)).first->second;
}

const NetworkProfile& Selector::profile(const Choice& choice, const Contract& contract,
                                        const RankNetwork& network) {
  const Key key{choice.algorithm, choice.text(), contract.root};
  const auto found = network_profiles_.find(key);
  if (found != network_profiles_.end()) return found->second;
  return network_profiles_.emplace(key, profile_on(choice, contract.size, contract.root, network))
      .first->second;
}

/// What was measured may be another time what it is not now, and choose another expression tree.
bool Selector::charges_what_lasts(const Problem& problem) const noexcept {
  return tariff_.lasting && problem.determinism >= Determinism::run_to_run;
}

const LinkCosts& Selector::costs_of(const Problem& problem) const noexcept {
  if (charges_what_lasts(problem)) return *tariff_.lasting;
  return problem.visible && tariff_.visible ? *tariff_.visible : tariff_.costs;
}

Candidate Selector::judge(const Problem& problem, Choice choice) {
  Candidate candidate{.choice = std::move(choice)};
  if (is_added(candidate.choice)) prove(candidate, problem.contract);
  if (candidate.refusal.empty()) candidate.refusal = refusal_of(candidate.choice, problem);
  if (problem.segment == 0) candidate.segment_bytes = candidate.choice.algorithm->segment_bytes;
  else if (problem.segment != Options::kWhole) candidate.segment_bytes = problem.segment;
  if (problem.bytes() <= candidate.segment_bytes) candidate.segment_bytes = 0;
  if (candidate.refusal.empty()) predict(candidate, problem);
  return candidate;
}

void Selector::predict(Candidate& candidate, const Problem& problem) try {
  const RankNetwork* const network = network_for(problem);
  if (network == nullptr) {
    candidate.predicted = profile(candidate.choice, problem.contract)
                              .time(problem.bytes(), candidate.segment_bytes, costs_of(problem));
    return;
  }
  candidate.terms = profile(candidate.choice, problem.contract, *network)
                        .time(problem.bytes(), candidate.segment_bytes);
  candidate.predicted = candidate.terms.total();
} catch (const Error& error) {
  // Such as stages that do not fit the groups, which shows when they are built.
  if (error.code() != ErrorCode::invalid_argument) throw;
  candidate.refusal = error.what();
}

/// Null where all is charged alike.
const RankNetwork* Selector::network_for(const Problem& problem) const noexcept {
  return network_ && !charges_what_lasts(problem) ? &*network_ : nullptr;
}

/// All that are looked at, whether they can serve or not.
std::vector<Choice> Selector::choices_for(const Problem& problem) const {
  const Collective collective = problem.contract.collective;
  std::vector<Choice> choices;
  std::vector<Choice> built;  // of rows that need to be told of groups or a network
  if (network_for(problem) != nullptr) {
    if (are_mixed(hosts_)) built = hierarchies_of(*catalog_, collective, hosts_);
    const std::vector<Choice> on_graph = choices_on(*catalog_, collective, graph_);
    built.insert(built.end(), on_graph.begin(), on_graph.end());
  }
  for (const Algorithm* const row : catalog_->rows()) {
    if (row->collective != collective) continue;
    const auto is_row = [row](const Choice& choice) { return choice.algorithm == row; };
    if (std::ranges::any_of(built, is_row)) continue;
    for (const int number : numbers_of(*row, problem.contract))
      choices.push_back({.algorithm = row, .number = number});
  }
  choices.insert(choices.end(), built.begin(), built.end());
  return choices;
}

std::string Selector::costs_in_words(const Problem& problem) const {
  if (charges_what_lasts(problem))
    return text_of(*tariff_.lasting) + "assumed, so that every run charges it";
  if (!network_) return text_of(costs_of(problem)) + tariff_.origin;
  if (!tariff_.inside) return "the speeds of " + tariff_.origin;
  return text_of(tariff_.costs) + tariff_.origin + "; within a host " + text_of(*tariff_.inside) +
         "assumed";
}

/// What was measured to be the fastest, unless every run must choose alike, whatever its file says.
/// @param origin is set to where it comes from, or why it cannot serve. @return it, if it can.
std::optional<Candidate> Selector::look_up(const Problem& problem, std::string& origin) {
  const Contract& contract = problem.contract;
  if (!measurements_.tuning || problem.determinism >= Determinism::run_to_run) return {};
  const TunedTable* const table = find_table(
      *measurements_.tuning, {contract.collective, contract.size, std::max(count_of(hosts_), 1),
                              measurements_.transport, problem.visible});
  if (table == nullptr) return {};
  const TunedRule& rule = rule_for(*table, problem.bytes());
  origin = measurements_.tuning->origin + ", from " + std::to_string(rule.from_bytes) + " bytes on";
  Problem tuned = problem;
  if (tuned.segment == 0)
    tuned.segment = rule.segment_bytes == 0 ? Options::kWhole : rule.segment_bytes;
  try {
    Candidate candidate = judge(
        tuned, on_hosts(parse_choice(*catalog_, contract.collective, rule.algorithm), hosts_));
    candidate.is_measured = candidate.refusal.empty();
    if (candidate.is_measured) return candidate;
    origin += ": " + rule.algorithm + " cannot serve: " + candidate.refusal;
  } catch (const Error& error) {
    origin += ": " + std::string{error.what()};
  }
  return {};
}

Selection Selector::select(const Problem& problem) {
  Selection selection{.forced = !problem.algorithm.empty(),
                      .costs = costs_in_words(problem),
                      .charged = costs_of(problem),
                      .on_network = network_for(problem) != nullptr,
                      .determinism = problem.determinism};
  const Collective collective = problem.contract.collective;
  if (selection.forced) {
    selection.chosen =
        judge(problem, on_hosts(parse_choice(*catalog_, collective, problem.algorithm), hosts_));
    if (!selection.chosen.refusal.empty())
      throw Error{ErrorCode::invalid_argument, std::string{name_of(collective)} + ": algorithm " +
                                                   selection.chosen.choice.text() +
                                                   " cannot serve: " + selection.chosen.refusal};
    selection.candidates.push_back(selection.chosen);
    return selection;
  }
  for (Choice& choice : choices_for(problem))
    selection.candidates.push_back(judge(problem, std::move(choice)));
  if (problem.determinism >= Determinism::size_invariant)
    keep_one_tree(selection.candidates, problem.determinism);
  const auto worse = [](const Candidate& a, const Candidate& b) {
    if (a.refusal.empty() != b.refusal.empty()) return a.refusal.empty();
    return a.predicted < b.predicted;
  };
  if (std::optional<Candidate> found = look_up(problem, selection.measured)) {
    selection.chosen = std::move(*found);
    return selection;
  }
  // Among equals the first row of the catalog wins, on every rank.
  selection.chosen =
      *std::min_element(selection.candidates.begin(), selection.candidates.end(), worse);
  if (!selection.chosen.refusal.empty())
    throw Error{ErrorCode::invalid_argument, std::string{name_of(collective)} +
                                                 ": no algorithm can serve this call\n" +
                                                 selection.explain()};
  return selection;
}

}  // namespace tutti::inline v0::detail

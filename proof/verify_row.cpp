#include "verify_row.hpp"

#include <algorithm>

#include <tutti/spi/catalog.hpp>

#include "verify_networks.hpp"
#include "verify_traits.hpp"

namespace tutti::v0 {
namespace {

using verifying::RandomNumbers;
using verifying::RowRecord;

/// Small numbers, where all interesting ranges begin.
std::vector<int> verified_numbers(AlgorithmParameter parameter) {
  switch (parameter) {
    case AlgorithmParameter::none:
    case AlgorithmParameter::skips:
    case AlgorithmParameter::graph:
    case AlgorithmParameter::hierarchy: return {};
    case AlgorithmParameter::radix: return {2, 3, 4, 8};
    case AlgorithmParameter::blocks: return {1, 2, 7};
    case AlgorithmParameter::servers:
    case AlgorithmParameter::in_flight: return {1, 2, 3};
    case AlgorithmParameter::aggregation: return {1, 2, 4};
  }
  return {};
}

std::vector<int> random_skips(int size, RandomNumbers& random) {
  std::vector<int> skips{};
  for (int last = size; last > 1; last = skips.back())
    skips.push_back(random.between((last + 1) / 2, last - 1));
  return skips;
}

/// Verifies the shapes of one row, one after the other.
class RowVerifier {
 public:
  RowVerifier(const Algorithm& row, const VerifyRange& range) : row_{row}, range_{range} {
    report_.algorithm = &row;
  }

  RowReport run();

 private:
  static constexpr std::size_t kEnough = 8;  // findings: one mistake shows in many shapes

  [[nodiscard]] std::vector<Choice> choices_at(int size) const;
  [[nodiscard]] bool serves(int size) const;
  void visit_size(int size);
  void visit_refused(int size);
  void visit_sample();
  void visit_slim_flies();
  Facts visit_shape(const Choice& choice, int size, Rank root);
  Verdict prove(const Choice& choice, int size, Rank root);
  void build(const Choice& choice, int size, Rank root);
  void add(CheckKind kind, const std::string& text) { add(Finding{kind, text}); }
  void add(Finding finding) {
    if (report_.findings.size() < kEnough) report_.findings.push_back(std::move(finding));
  }

  const Algorithm& row_;
  const VerifyRange& range_;
  RowReport report_{};
  RowRecord record_{};
  Verifier verifier_{};
  std::vector<Schedule> schedules_{};
};

void RowVerifier::build(const Choice& choice, int size, Rank root) {
  schedules_.clear();
  for (Rank rank = 0; rank < size; ++rank) schedules_.push_back(choice.build(size, root, rank));
}

Verdict RowVerifier::prove(const Choice& choice, int size, Rank root) {
  const std::string name = choice.text();
  Claims claims;
  try {
    build(choice, size, root);
    claims = verifying::claims_of(choice, size, root, verifier_);
  } catch (const std::exception& error) {
    return {.findings = {{CheckKind::build_failed,
                          name + " " + std::string{name_of(row_.collective)} +
                              ", n=" + std::to_string(size) + ": " + error.what()}}};
  }
  return verifier_.verify({.contract = {row_.collective, size, root},
                           .schedules = schedules_,
                           .claims = claims,
                           .name = name});
}

Facts RowVerifier::visit_shape(const Choice& choice, int size, Rank root) {
  ++report_.shapes;
  Verdict verdict = prove(choice, size, root);
  if (!verdict.proved()) add(std::move(verdict.findings.front()));
  record_.note(verdict.facts, size, root);
  return std::move(verdict.facts);
}

std::vector<Choice> RowVerifier::choices_at(int size) const {
  if (range_.choice.empty()) return verified_choices(row_, size, range_.seed);
  if (range_.catalog == nullptr) return {parse_choice(row_.collective, range_.choice)};
  return {parse_choice(*range_.catalog, row_.collective, range_.choice)};
}

/// A row serves the sizes that it claims. A row with a table serves only the sizes in it, and a
/// single choice only those that its generator accepts.
bool RowVerifier::serves(int size) const {
  if (!admits(row_.traits.sizes, size)) return false;
  if (row_.table)
    return std::ranges::any_of(row_.table->all(),
                               [size](const auto& entry) { return entry.first.first == size; });
  return range_.choice.empty() || verifying::serves(choices_at(size).front(), size);
}

void RowVerifier::visit_size(int size) {
  const std::size_t findings = report_.findings.size();
  const Rank roots = is_rooted(row_.collective) ? size : 1;
  bool first = true;
  for (const Choice& choice : choices_at(size))
    for (Rank root = 0; root < roots && report_.findings.size() < kEnough; ++root) {
      if (row_.table && row_.table->find({size, root}).empty()) continue;
      Facts facts = visit_shape(choice, size, root);
      if (first) report_.sizes.push_back({size, std::move(facts)});
      first = false;
    }
  record_.serves.push_back(report_.findings.size() == findings);
}

void RowVerifier::visit_refused(int size) {
  Verdict verdict = prove(choices_at(size).front(), size, 0);
  record_.serves.push_back(verdict.proved());
  if (!verdict.proved())
    report_.refusals.push_back({size, std::move(verdict.findings.front().message)});
}

void RowVerifier::visit_sample() {
  RandomNumbers random{range_.seed};
  // A vector of all_to_all has n * n units, on each of n ranks.
  constexpr int kMostPairs = 128;
  const int last =
      is_between_pairs(row_.collective) ? std::min(range_.sample_to, kMostPairs) : range_.sample_to;
  if (last <= range_.max_size) return;
  for (int sample = 0; sample < range_.samples; ++sample) {
    int size = random.between(range_.max_size + 1, last);
    while (size > range_.max_size && !serves(size)) --size;
    if (size <= range_.max_size) continue;
    const auto choices = choices_at(size);
    const int choice = random.between(0, static_cast<int>(choices.size()) - 1);
    const Rank root = is_rooted(row_.collective) ? random.between(0, size - 1) : 0;
    visit_shape(choices[static_cast<std::size_t>(choice)], size, root);
    report_.sample.push_back(size);
  }
}

void RowVerifier::visit_slim_flies() {
  for (int size = range_.max_size + 1; size <= range_.slim_fly_to; ++size)
    if (range_.choice.empty() && admits(Sizes::slim_fly, size) && admits(row_.traits.sizes, size))
      for (const Choice& choice : verifying::slim_fly_choices(row_, size)) {
        visit_shape(choice, size, 0);
        report_.slim_flies.push_back(size);
      }
}

RowReport RowVerifier::run() {
  for (int size = range_.min_size; size <= range_.max_size; ++size) {
    if (serves(size)) {
      visit_size(size);
    } else {
      visit_refused(size);
    }
    if (report_.findings.size() >= kEnough) return std::move(report_);
  }
  visit_sample();
  visit_slim_flies();
  report_.proved_traits = verifying::proved_traits(record_);
  // On few ranks almost every trait holds, so only a wide range shows that a row claims too little.
  constexpr int kFewest = 2;
  constexpr int kInteresting = 16;
  if (report_.proved() && range_.choice.empty() && !row_.table && range_.min_size <= kFewest &&
      range_.max_size >= kInteresting)
    for (const std::string& text : verifying::too_little_claimed(row_, record_, range_.min_size))
      add(CheckKind::too_little_claimed,
          std::string{row_.name} + " " + std::string{name_of(row_.collective)} + ": " + text);
  return std::move(report_);
}

}  // namespace

std::vector<Choice> verified_choices(const Algorithm& row, int size, std::uint64_t seed) {
  const Choice normal{.algorithm = &row, .number = row.default_number};
  if (row.parameter == AlgorithmParameter::graph) return verifying::graph_choices(row, size, seed);
  if (row.parameter == AlgorithmParameter::hierarchy)
    return verifying::hierarchy_choices(row, size, seed);
  std::vector<Choice> choices{normal};
  for (const int number : verified_numbers(row.parameter)) {
    if (number == row.default_number) continue;
    choices.push_back(normal);
    choices.back().number = number;
  }
  if (row.parameter == AlgorithmParameter::skips &&
      size > 2) {  // Below 3 there is only one sequence.
    RandomNumbers random{seed * 1000003 + static_cast<std::uint64_t>(size)};
    constexpr int kSequences = 2;
    for (int sequence = 0; sequence < kSequences; ++sequence) {
      choices.push_back(normal);
      choices.back().skips = random_skips(size, random);
    }
  }
  return choices;
}

Choice typical_choice(const Algorithm& row, int size) {
  if (row.parameter == AlgorithmParameter::graph) return verifying::on_torus(row, size);
  if (row.parameter == AlgorithmParameter::hierarchy) return verifying::in_groups(row, size);
  return {.algorithm = &row, .number = row.default_number};
}

RowReport verify_row(const Algorithm& row, const VerifyRange& range) {
  return RowVerifier{row, range}.run();
}

}  // namespace tutti::v0

#include "perf/sweep/candidates.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <tutti/error.hpp>
#include <tutti/spi/algorithm.hpp>
#include <tutti/spi/catalog.hpp>

#include "perf/command_line.hpp"
#include "perf/failure.hpp"
#include "proof/proof.hpp"

namespace tutti::perf {

namespace {

const std::string kAuto = "auto";
const std::string kNative = "native";
const std::string kProbe = "probe";

Candidate forced(const Choice& choice) {
  return {.label = choice.text(),
          .algorithm = choice.name(),
          .parameters = choice.parameters(),
          .choice = choice.text()};
}

// All names of the requested collectives.
std::vector<std::string> catalog_names(const SweepOptions& options) {
  std::vector<Collective> collectives = options.collectives;
  collectives.insert(collectives.end(), options.uneven.begin(), options.uneven.end());
  std::vector<std::string> names{kAuto, kNative};
  if (std::ranges::count(options.collectives, Collective::all_reduce) > 0) names.push_back(kProbe);
  for (const Algorithm* const row : options.catalog->rows()) {
    const bool chosen =
        std::find(collectives.begin(), collectives.end(), row->collective) != collectives.end();
    if (chosen && std::find(names.begin(), names.end(), row->name) == names.end())
      names.emplace_back(row->name);
  }
  return names;
}

// Whether the name alone is a choice for this number of ranks.
bool serves(const Algorithm& row, int size) {
  if (!admits(row.traits.sizes, size) || !has_default(row.parameter)) return false;
  return row.table == nullptr || !row.table->find({size, 0}).empty();
}

// Checks the number of ranks first, with the words of the list of algorithms.
void require_served(const Choice& choice, int size) {
  const std::string what =
      fmt::format("{} '{}'", name_of(choice.algorithm->collective), choice.text());
  if (!admits(choice.algorithm->traits.sizes, size))
    throw Failure{ExitCode::usage, fmt::format("{} serves {}, not {}", what,
                                               words_of(choice.algorithm->traits.sizes), size)};
  // Without explicit groups, hosts are the groups, and the communicator knows them.
  if (choice.hierarchy && !choice.hierarchy->has_groups()) return;
  try {
    require(choice, size);
  } catch (const Error& error) {
    throw Failure{ExitCode::usage,
                  fmt::format("{} cannot serve {} ranks: {}", what, size, error.what())};
  }
}

// A named algorithm; nothing if this collective lacks it.
std::optional<Candidate> candidate_named(const Catalog& catalog,
                                         std::optional<Collective> collective,
                                         const std::string& name, int size) {
  if (name == kAuto)
    return Candidate{.label = kAuto, .algorithm = kAuto, .kind = CandidateType::automatic};
  if (name == kNative)
    return Candidate{.label = kNative, .algorithm = kNative, .kind = CandidateType::native};
  if (name == kProbe)
    return Candidate{.label = kProbe, .algorithm = kProbe, .kind = CandidateType::probe};
  if (!collective || !catalog.find(*collective, name.substr(0, name.find_first_of("(:"))))
    return {};
  try {
    const Choice choice = parse_choice(catalog, *collective, name);
    require_served(choice, size);
    return forced(choice);
  } catch (const Error& error) {
    throw Failure{ExitCode::usage, error.what()};
  }
}

// An algorithm that is listed twice races against itself; the second one is "ring#2".
void make_labels_unique(std::vector<Candidate>& candidates) {
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(i);
    const std::string label = candidates[i].label;
    const auto earlier = std::count_if(candidates.begin(), end, [&](const Candidate& other) {
      return other.label.substr(0, other.label.find('#')) == label;
    });
    if (earlier > 0) candidates[i].label += fmt::format("#{}", earlier + 1);
  }
}

// Adds all candidates again, with other alignments of their arrays.
void add_alignments(const SweepOptions& options, std::vector<Candidate>& candidates) {
  const std::vector<Candidate> first = candidates;
  for (const Alignment& alignment : options.more_alignments)
    for (Candidate candidate : first) {
      candidate.label += "@" + alignment.text();
      candidate.align = alignment;
      candidates.push_back(std::move(candidate));
    }
}

}  // namespace

std::vector<Candidate> candidates_for(std::optional<Collective> collective,
                                      const SweepOptions& options, int size, bool has_library) {
  const Catalog& catalog = *options.catalog;
  std::vector<Candidate> candidates;
  if (options.algorithms.empty()) {
    for (const Algorithm* const row : catalog.rows())
      if (row->collective == collective && serves(*row, size))
        candidates.push_back(forced(parse_choice(catalog, *collective, row->name)));
    candidates.push_back(*candidate_named(catalog, collective, kAuto, size));
    if (has_library) candidates.push_back(*candidate_named(catalog, collective, kNative, size));
  }
  for (const std::string& name : options.algorithms)
    if (auto candidate = candidate_named(catalog, collective, name, size))
      candidates.push_back(*candidate);
  make_labels_unique(candidates);
  add_alignments(options, candidates);
  for (Candidate& candidate : candidates)
    if (const auto found = options.inject.find(candidate.label); found != options.inject.end())
      candidate.inject = found->second;
  return candidates;
}

void keep_fitting(const Workload& workload, const SweepOptions& options,
                  std::vector<Candidate>& candidates) {
  if (!options.algorithms.empty() || !knows_own_counts_only(workload)) return;
  std::erase_if(candidates, [&](const Candidate& candidate) {
    if (candidate.kind != CandidateType::forced) return false;
    const Choice choice = parse_choice(*options.catalog, workload.collective, candidate.choice);
    return !choice.algorithm->traits.own_counts_only;
  });
}

void require_proofs(const Workload& workload, const SweepOptions& options,
                    const std::vector<Candidate>& candidates) {
  if (options.algorithms.empty() || !is_collective(workload)) return;
  const Rank root = is_rooted(workload.collective) ? workload.root : 0;
  for (const Candidate& candidate : candidates) {
    if (candidate.kind != CandidateType::forced) continue;
    const Choice choice = parse_choice(*options.catalog, workload.collective, candidate.choice);
    // Without explicit groups, the communicator's hosts are the groups.
    if (!is_added(choice) || (choice.hierarchy && !choice.hierarchy->has_groups())) continue;
    const detail::Proof proof = detail::prove(choice, {workload.collective, workload.size, root});
    if (!proof.refusal.empty())
      throw Failure{ExitCode::usage,
                    fmt::format("{} '{}' cannot be measured: {}", name_of(workload.collective),
                                choice.text(), proof.refusal)};
  }
}

void check_names(const SweepOptions& options, int size, bool has_library) {
  const std::vector<std::string> names = catalog_names(options);
  for (const std::string& name : options.algorithms) {
    const std::string word = name.substr(0, name.find_first_of("(:"));
    // For a collective without a probe, Probe::refusal lists those that have one.
    if (word != kProbe && std::find(names.begin(), names.end(), word) == names.end())
      reject_word("algorithm", word, names);
  }
  std::vector<std::string> labels;
  std::vector<std::optional<Collective>> all{options.collectives.begin(),
                                             options.collectives.end()};
  all.insert(all.end(), options.uneven.begin(), options.uneven.end());
  if (!options.messages.empty()) all.emplace_back();
  for (const std::optional<Collective> collective : all)
    for (const Candidate& candidate : candidates_for(collective, options, size, has_library))
      labels.push_back(candidate.label);
  for (const auto& [label, share] : options.inject)
    if (std::find(labels.begin(), labels.end(), label) == labels.end())
      throw Failure{ExitCode::usage,
                    fmt::format("--inject names '{}', which does not take part", label)};
}

}  // namespace tutti::perf

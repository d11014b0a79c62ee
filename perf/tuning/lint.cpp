#include "perf/tuning/lint.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include <tutti/spi/algorithm.hpp>
#include <tutti/spi/catalog.hpp>

#include "perf/command_line.hpp"
#include "perf/failure.hpp"
#include "perf/interrupt.hpp"
#include "perf/sweep/context.hpp"
#include "perf/sweep/mockup.hpp"
#include "perf/tuning/override.hpp"

namespace tutti::perf {

namespace {

std::vector<Workload> sized_workloads(Collective collective, const SweepOptions& options,
                                      int size) {
  std::vector<Workload> workloads;
  const Workload workload{.collective = collective,
                          .type = options.type,
                          .op = options.op,
                          .root = options.root,
                          .size = size};
  if (collective == Collective::barrier) return {workload};
  for (const std::size_t bytes : options.sizes()) {
    const Workload sized = with_bytes(workload, bytes);
    if (workloads.empty() || workloads.back().count != sized.count) workloads.push_back(sized);
  }
  return workloads;
}

// Compares the rounds in which both took part.
Comparison compare_rounds(const std::vector<double>& times, const std::vector<double>& reference) {
  const std::size_t rounds = std::min(times.size(), reference.size());
  return compare(std::span{times}.first(rounds), std::span{reference}.first(rounds));
}

}  // namespace

Linter::Linter(MeasuredWorld& world, const LintOptions& options)
    : world_{world}, options_{options} {
  const int size = world_.communicator().size();
  if (size == 1)
    throw Failure{ExitCode::usage,
                  "one rank has nothing to compare: start more, by a launcher or --ranks 4"};
  checks_library_ = world_.has_library() && !options_.own_calls;
  if (checks_library_) library_ = library_of(world_.library());
  carrier_ = options_.sweep.transport == "mpi" ? "its own messages, by " : "tutti's ";
  is_oversubscribed_ = collect_context(world_, {}).is_oversubscribed();
  if (size == 2) return;
  std::vector<Rank> ranks(static_cast<std::size_t>(size) - 1);
  std::iota(ranks.begin(), ranks.end(), 0);
  fewer_ = world_.part(ranks);
  for_fewer_ = fewer_ ? fewer_.get() : &world_;
}

Candidate Linter::checked() const {
  if (checks_library_)
    return {.label = "native", .algorithm = "native", .kind = CandidateType::native};
  return {.label = "auto", .algorithm = "auto", .kind = CandidateType::automatic};
}

// tutti's algorithms that the MPI has too and can be configured to run.
std::vector<std::string> Linter::known_there(Collective collective) const {
  std::vector<std::string> names;
  for (const Counterpart& counterpart : library_.counterparts) {
    const Algorithm* const row = options_.sweep.catalog->find(collective, counterpart.ours);
    const int size = world_.communicator().size();
    if (counterpart.collective == collective && row != nullptr && admits(row->traits.sizes, size))
      names.emplace_back(counterpart.ours);
  }
  return names;
}

// The first candidate is the checked one.
std::vector<Candidate> Linter::candidates_of(const Workload& workload) const {
  std::vector<Candidate> candidates{checked()};
  for (const MockupRule& rule : mockup_rules())
    if ((!rule.of || *rule.of == workload.collective) && rule.serves(workload) &&
        (!rule.leaves_last_out || for_fewer_ != nullptr))
      candidates.push_back({.label = std::string{rule.label},
                            .algorithm = std::string{rule.label},
                            .kind = CandidateType::mockup,
                            .rule = &rule});
  for (std::string& name : known_there(workload.collective)) {
    SweepOptions one = options_.sweep;
    one.algorithms = {name};
    for (Candidate& candidate : candidates_for(workload.collective, one, workload.size, true)) {
      candidate.label = carrier_ + candidate.label;
      candidates.push_back(std::move(candidate));
    }
  }
  return candidates;
}

SizeResult Linter::measure(const Workload& workload, const std::vector<Candidate>& candidates,
                           std::uint64_t seed) {
  SweepOptions sweep = options_.sweep;
  sweep.seed = seed;
  const Setting setting{world_, sweep, is_oversubscribed_, [] {}, for_fewer_, options_.own_calls};
  SizeResult result = measure_size(setting, workload, candidates);
  interrupted_ = result.interrupted;
  for (const Measured& measured : result.measured)
    wrong_ += measured.wrong + (measured.bit_equal ? 0 : 1);
  return result;
}

// Runs on rank 0, which has the samples.
std::vector<Finding> Linter::judge(const SizeResult& result) const {
  std::vector<Finding> findings;
  const Measured& call = result.measured.front();
  for (std::size_t i = 1; i < result.measured.size(); ++i) {
    const Measured& other = result.measured[i];
    if (call.times_us.empty() || other.times_us.empty()) continue;
    Finding finding{.workload = result.workload,
                    .guideline = other.candidate.label,
                    .call_us = median_of(call.times_us),
                    .other_us = median_of(other.times_us)};
    const bool is_turned = other.candidate.rule != nullptr && other.candidate.rule->leaves_last_out;
    if (is_turned) std::swap(finding.call_us, finding.other_us);
    finding.comparison = is_turned ? compare_rounds(other.times_us, call.times_us)
                                   : compare_rounds(call.times_us, other.times_us);
    finding.is_broken = finding.comparison.p < Comparison::kSignificance &&
                        finding.comparison.ratio >= 1 + options_.threshold;
    if (finding.is_broken) finding.help = help_for(finding, other);
    findings.push_back(std::move(finding));
  }
  return findings;
}

// The checked call, and the calls that may be faster. All ranks know them.
std::vector<Candidate> Linter::suspects(const SizeResult& result) {
  const std::vector<Finding> findings = judge(result);
  std::vector<std::int64_t> is_suspect(result.measured.size());
  for (std::size_t i = 1; i < result.measured.size(); ++i)
    is_suspect[i] = std::ranges::any_of(findings, [&](const Finding& finding) {
      return finding.is_broken && finding.guideline == result.measured[i].candidate.label;
    });
  from_rank_zero(world_.communicator(), is_suspect);
  std::vector<Candidate> suspects{result.measured.front().candidate};
  for (std::size_t i = 1; i < result.measured.size(); ++i)
    if (is_suspect[i] != 0) suspects.push_back(result.measured[i].candidate);
  return suspects;
}

// Measures apparent violations again, without the other candidates.
void Linter::check(const Workload& workload) {
  const SizeResult first = measure(workload, candidates_of(workload), options_.sweep.seed);
  if (interrupted_) return;
  const std::vector<Candidate> again = suspects(first);
  std::vector<Finding> findings = judge(first);
  if (again.size() > 1) {
    const SizeResult second = measure(workload, again, options_.sweep.seed + 1);
    if (interrupted_) return;
    for (Finding& found : judge(second)) {
      const auto before = std::ranges::find(findings, found.guideline, &Finding::guideline);
      if (before != findings.end()) *before = std::move(found);
    }
  }
  if (world_.communicator().rank() != 0) return;
  note_all(findings);
}

// If several algorithms are faster, reports only the fastest one.
void Linter::note_all(std::vector<Finding>& findings) {
  const auto is_of_algorithm = [this](const Finding& finding) {
    return finding.is_broken && finding.guideline.starts_with(carrier_);
  };
  const Finding* fastest = nullptr;
  for (const Finding& finding : findings)
    if (is_of_algorithm(finding) && (fastest == nullptr || finding.other_us < fastest->other_us))
      fastest = &finding;
  for (const Finding& finding : findings)
    note(finding, &finding == fastest || !is_of_algorithm(finding));
}

std::string Linter::help_for(const Finding& finding, const Measured& other) const {
  const MockupRule* const rule = other.candidate.rule;
  const std::string_view algorithm =
      rule != nullptr ? rule->algorithm : std::string_view{other.candidate.algorithm};
  const std::string help = override_for(library_, finding.workload.collective, algorithm);
  return help.empty() && rule != nullptr ? std::string{rule->advice} : help;
}

int Linter::run() {
  const int size = world_.communicator().size();
  if (world_.communicator().rank() == 0) {
    check_writable(options_.sweep.json);
    announce();
  }
  for (const Collective collective : options_.sweep.collectives)
    for (const Workload& workload : sized_workloads(collective, options_.sweep, size))
      if (!interrupted_) check(workload);
  if (world_.communicator().rank() == 0) {
    close();
    save();
  }
  std::array<std::int64_t, 2> outcome{
      static_cast<std::int64_t>(wrong_),
      static_cast<std::int64_t>(std::ranges::count(findings_, true, &Finding::is_broken))};
  from_rank_zero(world_.communicator(), outcome);
  if (interrupted_) return kSignalExit + std::max(interrupt_signal(), 2);
  if (outcome[0] > 0) return static_cast<int>(ExitCode::wrong_data);
  return static_cast<int>(outcome[1] > 0 ? ExitCode::slower : ExitCode::good);
}

}  // namespace tutti::perf

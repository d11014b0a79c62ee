#include "perf/sweep/measure.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>

#include "perf/interrupt.hpp"
#include "perf/statistics.hpp"
#include "perf/sweep/buffers.hpp"
#include "perf/sweep/probe.hpp"
#include "perf/sweep/rounds.hpp"
#include "perf/sweep/runs.hpp"

namespace tutti::perf {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kBlock_s = 0.1;          // ranks agree on the next block at least this often
constexpr std::size_t kWarmUpRounds = 3;  // rounds of a block of the warm-up, without -w
constexpr std::size_t kMostWarmUp = 30;   // most rounds of the whole warm-up, without -w
constexpr double kSettled = 0.05;  // the warm-up ends when two medians of blocks differ by less
constexpr std::size_t kMostDefaultRounds = 20000;  // most rounds without -n

double seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// Measures one size: all candidates on the same buffers.
class Race {
 public:
  Race(const Setting& setting, const Workload& workload, const std::vector<Candidate>& candidates)
      : world_{setting.world}, setting_{setting}, workload_{workload}, measured_{entries_of(
                                                                           candidates)},
        runs_{setting, workload, measured_}, shuffle_{setting.options.seed * 1000003 +
                                                      total_bytes(workload)} {
    spent_s_.resize(measured_.size());
  }

  SizeResult run() {
    enroll();
    check_all(true);
    if (!active_.empty()) {
      warm_up();
      measure();
    }
    if (!interrupted_) check_all(false);
    return {workload_, std::move(measured_), interrupted_};
  }

 private:
  static std::vector<Measured> entries_of(const std::vector<Candidate>& candidates) {
    std::vector<Measured> entries;
    for (const Candidate& candidate : candidates) entries.push_back({.candidate = candidate});
    return entries;
  }
  [[nodiscard]] Communicator& communicator() { return world_.communicator(); }
  [[nodiscard]] bool decides() { return communicator().rank() == 0; }

  // Finds the candidates that can run, before any message is sent.
  void enroll() {
    for (std::size_t i = 0; i < measured_.size(); ++i) {
      Measured& entry = measured_[i];
      entry.refused = refusal_of(world_, workload_, entry.candidate);
      if (entry.refused.empty()) runs_.prepare(i);
      if (entry.refused.empty()) active_.push_back(i);
    }
    participants_ = active_;
  }

  // Runs each candidate once and checks its results. `first` is its first call.
  void check_all(bool first) {
    const bool replays = setting_.options.graph;
    for (const std::size_t i : participants_) {
      std::array<double, 1> time{runs_.run_anew(i) / trips(workload_)};
      if (first) {
        max_over_ranks(communicator(), time);
        measured_[i].first_us = time[0];
      }
      const bool checks = setting_.options.check && runs_.gives_results(i);
      if (checks) note(measured_[i], runs_.check(i));
      if (first && replays) runs_.capture(i);
      if (checks && replays) note(measured_[i], runs_.check_replay(i));
      if (checks) setting_.tick();
    }
  }

  void note(Measured& entry, const Check& check) {
    std::array<double, 1> wrong{static_cast<double>(check.wrong)};
    sum_over_ranks(communicator(), wrong);
    const bool equal =
        !is_same_everywhere(workload_) || is_equal_everywhere(communicator(), check.hash);
    entry.wrong += static_cast<std::size_t>(wrong[0]);
    entry.bit_equal = entry.bit_equal && equal;
    entry.checked = true;
  }

  // One sample of one candidate on this rank, in microseconds per call.
  double sample(std::size_t i) {
    return runs_.sample(i) / static_cast<double>(measured_[i].batch * trips(workload_));
  }

  // Runs rounds, each in a new random order that is the same on all ranks. Returns the maximum
  // times over all ranks. All ranks then know whether a rank was interrupted.
  std::vector<std::vector<double>> block(std::size_t rounds) {
    std::vector<double> times(rounds * measured_.size() + 1);
    std::vector<std::size_t> order = active_;
    for (std::size_t round = 0; round < rounds; ++round) {
      for (std::size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[shuffle_() % k]);
      for (const std::size_t i : order) {
        const auto start = Clock::now();
        times[i * rounds + round] = sample(i);
        spent_s_[i] += seconds(Clock::now() - start);
      }
    }
    times.back() = interrupt_signal() != 0 ? 1 : 0;
    max_over_ranks(communicator(), times);
    interrupted_ = times.back() != 0;
    setting_.tick();
    std::vector<std::vector<double>> result(measured_.size());
    for (const std::size_t i : active_) {
      const auto first = times.begin() + static_cast<std::ptrdiff_t>(i * rounds);
      result[i].assign(first, first + static_cast<std::ptrdiff_t>(rounds));
    }
    return result;
  }

  // Broadcasts rank 0's decision: rounds of the next block, calls per sample, remaining candidates.
  void agree(std::size_t& rounds, std::vector<bool>& goes_on) {
    std::vector<std::int64_t> decision{static_cast<std::int64_t>(rounds)};
    for (std::size_t i = 0; i < measured_.size(); ++i) {
      decision.push_back(measured_[i].batch);
      decision.push_back(goes_on[i] ? 1 : 0);
    }
    from_rank_zero(communicator(), decision);
    rounds = static_cast<std::size_t>(decision[0]);
    for (std::size_t i = 0; i < measured_.size(); ++i) {
      measured_[i].batch = decision[1 + 2 * i];
      goes_on[i] = decision[2 + 2 * i] != 0;
    }
  }

  // Adjusts the batches to the times of a block. Returns whether these are close to those of the
  // block before.
  bool are_settled(const std::vector<std::vector<double>>& times, std::vector<double>& before) {
    bool settled = true;
    for (const std::size_t i : active_) {
      const double median = median_of(times[i]);
      settled = settled && std::abs(median - before[i]) < kSettled * before[i];
      before[i] = median;
    }
    share_calls(before);
    return settled;
  }

  void share_calls(const std::vector<double>& call_us) {
    if (setting_.options.is_isolated()) return;  // a sample is one call
    double quickest_us = std::numeric_limits<double>::infinity();
    for (const std::size_t i : active_) quickest_us = std::min(quickest_us, call_us[i]);
    for (const std::size_t i : active_)
      measured_[i].batch = calls_per_sample(call_us[i], quickest_us, sample_us());
  }

  [[nodiscard]] double sample_us() const {
    if (setting_.is_oversubscribed) return kCrowdedSample_us;
    return world_.gpu() != nullptr ? kStreamSample_us : kSample_us;
  }

  void warm_up() {
    const auto wanted = setting_.options.warm_up_rounds;
    const auto start = Clock::now();
    const double limit_s = setting_.options.budget_s * static_cast<double>(active_.size()) / 2;
    std::vector<double> before(measured_.size());
    std::vector<bool> goes_on(measured_.size());  // all candidates take part in the warm-up
    std::size_t rounds = std::min(wanted.value_or(kWarmUpRounds), kWarmUpRounds);
    if (rounds == 0) {
      for (const std::size_t i : active_) before[i] = measured_[i].first_us;
      share_calls(before);
    }
    for (std::size_t done = 0; rounds > 0 && !interrupted_;) {
      const auto block_start = Clock::now();
      const bool settled = are_settled(block(rounds), before);
      const double round_s = seconds(Clock::now() - block_start) / static_cast<double>(rounds);
      done += rounds;
      if (wanted) rounds = next_block(round_s, done, *wanted);
      else if (settled || done >= kMostWarmUp || seconds(Clock::now() - start) > limit_s)
        rounds = 0;
      agree(rounds, goes_on);
    }
    std::fill(spent_s_.begin(), spent_s_.end(), 0.0);
  }

  // Rounds of the next block: those that fit between two agreements.
  [[nodiscard]] static std::size_t next_block(double round_s, std::size_t done, std::size_t most) {
    const double fitting = kBlock_s / std::max(round_s, 1e-9);
    const auto grown = std::max<std::size_t>(kFewestRounds, done / 2);
    const std::size_t rounds =
        std::min(grown, static_cast<std::size_t>(std::max(1.0, std::min(fitting, 1e6))));
    return std::min(rounds, most > done ? most - done : 0);
  }

  void measure() {
    const std::size_t most = setting_.options.rounds.value_or(kMostDefaultRounds);
    std::size_t done = 0;
    std::size_t rounds = 1;
    while (!active_.empty() && !interrupted_) {
      const auto start = Clock::now();
      const auto times = block(rounds);
      std::vector<CandidateProgress> runs;
      for (std::size_t i = 0; i < measured_.size(); ++i) {
        std::vector<double>& all = measured_[i].times_us;
        if (decides()) all.insert(all.end(), times[i].begin(), times[i].end());
        runs.push_back({all, spent_s_[i], !times[i].empty()});
      }
      done += rounds;
      std::vector<bool> goes_on(measured_.size());
      if (decides() && done < most) goes_on = unfinished(runs, setting_.options);
      rounds = next_block(seconds(Clock::now() - start) / static_cast<double>(rounds), done, most);
      agree(rounds, goes_on);
      std::erase_if(active_, [&](std::size_t i) { return !goes_on[i]; });
    }
  }

  MeasuredWorld& world_;
  const Setting& setting_;
  Workload workload_;
  std::vector<Measured> measured_;
  Runs runs_;
  std::mt19937_64 shuffle_;
  std::vector<double> spent_s_{};
  std::vector<std::size_t> active_{};        // still being measured
  std::vector<std::size_t> participants_{};  // candidates that can run
  bool interrupted_ = false;
};

}  // namespace

std::string refusal_of(MeasuredWorld& world, const Workload& workload, const Candidate& candidate) {
  if (candidate.kind == CandidateType::probe && world.gpu() != nullptr)
    return "the probe measures memory of the host: leave --memory cuda out";
  if (candidate.kind == CandidateType::probe) return Probe::refusal(workload, world.communicator());
  if (candidate.kind == CandidateType::native && !world.has_library())
    return world.gpu() == nullptr ? "no MPI launched these ranks"
                                  : "messages over the host have only tutti's own calls";
  return {};
}

std::string determinism_gap(MeasuredWorld& world, const Workload& workload,
                            const Candidate& candidate, Determinism level) {
  if (candidate.kind != CandidateType::forced) return {};
  const Buffers buffers{workload, world.communicator().rank()};
  const auto refusal_at = [&](Determinism kept) -> std::string {
    try {
      const Options options{.algorithm = candidate.choice,
                            .determinism = kept,
                            .stream = world.gpu() == nullptr ? Stream{} : world.gpu()->stream()};
      for (const Call& call : buffers.calls()) (void)world.communicator().plan().run(call, options);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_argument) throw;
      return error.what();
    }
    return {};
  };
  // A candidate that can run at no level is reported when it is measured.
  return refusal_at(Determinism::fast).empty() ? refusal_at(level) : "";
}

SizeResult measure_size(const Setting& setting, const Workload& workload,
                        const std::vector<Candidate>& candidates) {
  return Race{setting, workload, candidates}.run();
}

}  // namespace tutti::perf

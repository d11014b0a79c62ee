#include "perf/sweep_measure.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <random>

#include "perf/mockup.hpp"
#include "perf/probe.hpp"
#include "perf/statistics.hpp"
#include "perf/sweep_buffers.hpp"
#include "perf/sweep_interrupt.hpp"
#include "perf/sweep_rounds.hpp"

namespace tutti::perf {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kBlock_s = 0.1;            // ranks agree on how to go on at least this often
constexpr std::size_t kWarmUpRounds = 3;    // per block, where -w does not say how many in all
constexpr std::size_t kMostWarmUp = 30;     // likewise
constexpr double kSettled = 0.05;           // two block medians this close end the warm-up
constexpr std::size_t kMostRounds = 20000;  // where -n does not say how many
constexpr const char* kLacking =
    "the MPI has no such call for these buffers, datatype and operator";

double seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// Keeps the processor busy, as a slower algorithm would.
void spin(double duration_s) {
  const auto start = Clock::now();
  while (seconds(Clock::now() - start) < duration_s) {
  }
}

Allocate memory_of(const Setting& setting) {
  if (setting.options.buffers != "visible") return allocate_private;
  return [&setting](std::size_t bytes) {
    const auto buffer = std::make_shared<Buffer<std::byte>>(
        setting.world.communicator().allocate<std::byte>(bytes));
    return std::shared_ptr<std::byte>{buffer, buffer->data()};
  };
}

// One size: all candidates on the same buffers.
class Race {
 public:
  Race(const Setting& setting, const Problem& problem, const std::vector<Candidate>& candidates)
      : world_{setting.world}, setting_{setting}, problem_{problem}, allocate_{memory_of(setting)},
        buffers_{problem, setting.world.communicator().rank(), allocate_},
        shuffle_{setting.options.seed * 1000003 + total_bytes(problem)} {
    for (const Candidate& candidate : candidates) {
      measured_.push_back({.candidate = candidate});
    }
    spent_s_.resize(measured_.size());
    mockups_.resize(measured_.size());
  }

  SizeResult run() {
    enroll();
    check_all(true);
    if (!active_.empty()) {
      warm_up();
      measure();
    }
    if (!interrupted_) check_all(false);
    return {problem_, std::move(measured_), interrupted_};
  }

 private:
  [[nodiscard]] Communicator& communicator() { return world_.communicator(); }
  [[nodiscard]] bool decides() { return communicator().rank() == 0; }

  // Finds out who can serve, before anything is sent.
  void enroll() {
    for (std::size_t i = 0; i < measured_.size(); ++i) {
      Measured& entry = measured_[i];
      entry.refused = refusal_of(world_, problem_, entry.candidate);
      if (entry.refused.empty()) prepare(i);
      if (entry.refused.empty()) active_.push_back(i);
    }
    participants_ = active_;
  }

  void prepare(std::size_t i) {
    Measured& entry = measured_[i];
    if (entry.candidate.kind == Kind::native) {
      entry.runs = "native";
      const bool has = std::ranges::all_of(
          buffers_.native_calls(), [this](const Call& call) { return world_.has_native(call); });
      if (!is_so_everywhere(has)) entry.refused = kLacking;
    } else if (entry.candidate.kind == Kind::probe) {
      entry.runs = "probe";
      if (!probe_) probe_.emplace(problem_, communicator());
    } else if (entry.candidate.kind == Kind::mockup) {
      prepare_mockup(i);
    } else {
      prepare_ours(i);
    }
  }

  // The answer may depend on where a rank's own block lies, so one refusal counts for all.
  bool is_so_everywhere(bool here) {
    std::array<double, 1> lacking{here ? 0.0 : 1.0};
    max_over_ranks(communicator(), lacking);
    return lacking[0] == 0;
  }

  void prepare_mockup(std::size_t i) {
    Measured& entry = measured_[i];
    entry.runs = entry.candidate.label;
    const bool is_native = world_.has_library() && !setting_.own_calls;
    mockups_[i] = std::make_unique<Mockup>(
        *entry.candidate.rule, problem_, buffers_.calls().front(), allocate_,
        MockupWorlds{world_, setting_.fewer, is_native, setting_.options.determinism});
    if (!is_so_everywhere(mockups_[i]->can_run())) entry.refused = kLacking;
  }

  // What a probe and a call on fewer ranks leave behind is no result of the collective.
  [[nodiscard]] bool gives_results(std::size_t i) const {
    const Candidate& candidate = measured_[i].candidate;
    return candidate.kind != Kind::probe &&
           (candidate.rule == nullptr || !candidate.rule->leaves_last_out);
  }

  void prepare_ours(std::size_t i) {
    Measured& entry = measured_[i];
    try {
      for (const Call& call : buffers_.calls()) {
        const Plan plan = communicator().plan().run(call, options_of(i));
        entry.runs = plan.algorithm();
        entry.segment_bytes = plan.segment();
      }
      if (!is_collective(problem_)) entry.runs = name_of(problem_);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_argument) throw;
      entry.refused = error.what();
    }
  }

  [[nodiscard]] Options options_of(std::size_t i) const {
    Options options{.visible = setting_.options.buffers == "visible",
                    .determinism = setting_.options.determinism,
                    .counts = buffers_.counts()};
    if (measured_[i].candidate.kind == Kind::automatic) return options;
    options.algorithm = measured_[i].candidate.choice;
    // What is named is measured, whatever becomes of the bits, unless they were spoken of.
    if (!options.determinism) options.determinism = Determinism::fast;
    const std::size_t own = measured_[i].candidate.segment;
    options.segment = own != 0 ? own : setting_.options.segment;
    return options;
  }

  void invoke(std::size_t i) {
    if (measured_[i].candidate.kind == Kind::mockup) return mockups_[i]->run();
    if (measured_[i].candidate.kind == Kind::probe) return probe_->run();
    if (measured_[i].candidate.kind == Kind::native) {
      for (const Call& call : buffers_.native_calls()) world_.native(call);
      return;
    }
    for (const Call& call : buffers_.calls()) communicator().run(call, options_of(i));
  }

  // Runs everybody once and looks at the results; the first time, that is the first call ever.
  void check_all(bool first) {
    std::vector<double> outcome;
    for (const std::size_t i : participants_) {
      buffers_.poison();
      buffers_.refresh();
      communicator().barrier();
      const auto start = Clock::now();
      invoke(i);
      std::array<double, 1> time{seconds(Clock::now() - start) * 1e6 / trips(problem_)};
      if (first) {
        max_over_ranks(communicator(), time);
        measured_[i].first_us = time[0];
      }
      if (!setting_.options.check || !gives_results(i)) continue;
      const Check check = buffers_.check();
      std::array<double, 1> wrong{static_cast<double>(check.wrong)};
      sum_over_ranks(communicator(), wrong);
      const bool equal =
          !is_same_everywhere(problem_) || is_equal_everywhere(communicator(), check.hash);
      measured_[i].wrong += static_cast<std::size_t>(wrong[0]);
      measured_[i].bit_equal = measured_[i].bit_equal && equal;
      measured_[i].checked = true;
      setting_.tick();
    }
  }

  // One sample of one candidate on this rank, in microseconds per call. Before it comes a call that
  // nobody times: else each would pay for the caches that the one before it left, as where a peer
  // has read what we are to write.
  double sample(std::size_t i) {
    const bool is_probe = measured_[i].candidate.kind == Kind::probe;
    invoke(i);
    if (setting_.options.touch) is_probe ? probe_->refresh() : buffers_.refresh();
    communicator().barrier();
    const std::int64_t batch = measured_[i].batch;
    const auto start = Clock::now();
    for (std::int64_t k = 0; k < batch; ++k) invoke(i);
    if (measured_[i].candidate.inject > 0)
      spin(seconds(Clock::now() - start) * measured_[i].candidate.inject);
    const double time_us =
        seconds(Clock::now() - start) * 1e6 / static_cast<double>(batch * trips(problem_));
    if (setting_.options.touch) kept_ = is_probe ? probe_->read() : buffers_.read();
    return time_us;
  }

  // Some rounds, each in a new order that all ranks agree on. Afterwards every rank knows the
  // greatest times of all ranks, and whether a rank was interrupted.
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

  // Rank 0's decision reaches everybody: rounds of the next block, calls per sample, who goes on.
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

  // Fits the batches to the times of a block. Returns whether they are close to those before it.
  bool settle(const std::vector<std::vector<double>>& times, std::vector<double>& before) {
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
    double quickest_us = std::numeric_limits<double>::infinity();
    for (const std::size_t i : active_) quickest_us = std::min(quickest_us, call_us[i]);
    for (const std::size_t i : active_)
      measured_[i].batch = calls_per_sample(
          call_us[i], quickest_us, setting_.is_oversubscribed ? kCrowdedSample_us : kSample_us);
  }

  void warm_up() {
    const auto wanted = setting_.options.warm_up_rounds;
    const auto start = Clock::now();
    const double limit_s = setting_.options.budget_s * static_cast<double>(active_.size()) / 2;
    std::vector<double> before(measured_.size());
    std::vector<bool> goes_on(measured_.size());  // a warm-up leaves nobody out
    std::size_t rounds = std::min(wanted.value_or(kWarmUpRounds), kWarmUpRounds);
    if (rounds == 0) {
      for (const std::size_t i : active_) before[i] = measured_[i].first_us;
      share_calls(before);
    }
    for (std::size_t done = 0; rounds > 0 && !interrupted_;) {
      const auto block_start = Clock::now();
      const bool settled = settle(block(rounds), before);
      const double round_s = seconds(Clock::now() - block_start) / static_cast<double>(rounds);
      done += rounds;
      if (wanted) rounds = next_block(round_s, done, *wanted);
      else if (settled || done >= kMostWarmUp || seconds(Clock::now() - start) > limit_s)
        rounds = 0;
      agree(rounds, goes_on);
    }
    std::fill(spent_s_.begin(), spent_s_.end(), 0.0);
  }

  // How many of the rounds that are left fit between two agreements.
  [[nodiscard]] static std::size_t next_block(double round_s, std::size_t done, std::size_t most) {
    const double fitting = kBlock_s / std::max(round_s, 1e-9);
    const auto grown = std::max<std::size_t>(kFewestRounds, done / 2);
    const std::size_t rounds =
        std::min(grown, static_cast<std::size_t>(std::max(1.0, std::min(fitting, 1e6))));
    return std::min(rounds, most > done ? most - done : 0);
  }

  void measure() {
    const std::size_t most = setting_.options.rounds.value_or(kMostRounds);
    std::size_t done = 0;
    std::size_t rounds = 1;
    while (!active_.empty() && !interrupted_) {
      const auto start = Clock::now();
      const auto times = block(rounds);
      std::vector<Progress> runs;
      for (std::size_t i = 0; i < measured_.size(); ++i) {
        std::vector<double>& all = measured_[i].times_us;
        if (decides()) all.insert(all.end(), times[i].begin(), times[i].end());
        runs.push_back({all, spent_s_[i], !times[i].empty()});
      }
      done += rounds;
      std::vector<bool> goes_on(measured_.size());
      if (decides() && done < most) goes_on = who_goes_on(runs, setting_.options);
      rounds = next_block(seconds(Clock::now() - start) / static_cast<double>(rounds), done, most);
      agree(rounds, goes_on);
      std::erase_if(active_, [&](std::size_t i) { return !goes_on[i]; });
    }
  }

  World& world_;
  const Setting& setting_;
  Problem problem_;
  Allocate allocate_;
  Buffers buffers_;
  std::optional<Probe> probe_{};
  std::mt19937_64 shuffle_;
  std::vector<Measured> measured_{};
  std::vector<double> spent_s_{};
  std::vector<std::unique_ptr<Mockup>> mockups_{};  // by candidate
  std::vector<std::size_t> active_{};               // still being measured
  std::vector<std::size_t> participants_{};         // able to serve
  volatile std::uint64_t kept_ = 0;  // what was read, so that reading is not optimised away
  bool interrupted_ = false;
};

}  // namespace

std::string refusal_of(World& world, const Problem& problem, const Candidate& candidate) {
  if (candidate.kind == Kind::probe) return Probe::refusal(problem, world.communicator());
  if (candidate.kind == Kind::native && !world.has_library()) return "no MPI launched these ranks";
  return {};
}

std::string looseness_of(World& world, const Problem& problem, const Candidate& candidate,
                         Determinism level) {
  if (candidate.kind != Kind::forced) return {};
  const Buffers buffers{problem, world.communicator().rank()};
  const auto refusal_at = [&](Determinism kept) -> std::string {
    try {
      const Options options{.algorithm = candidate.choice, .determinism = kept};
      for (const Call& call : buffers.calls()) (void)world.communicator().plan().run(call, options);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_argument) throw;
      return error.what();
    }
    return {};
  };
  // What cannot serve at all is told where it would be measured.
  return refusal_at(Determinism::fast).empty() ? refusal_at(level) : "";
}

SizeResult measure_size(const Setting& setting, const Problem& problem,
                        const std::vector<Candidate>& candidates) {
  return Race{setting, problem, candidates}.run();
}

}  // namespace tutti::perf

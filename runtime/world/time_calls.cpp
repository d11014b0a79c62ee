#include "time_calls.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <tutti/call.hpp>

#include "collectives/binding/select_for.hpp"
#include "selector/timed_calls.hpp"

namespace tutti::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// A size, and the rounds of each collective at it.
struct Step {
  std::size_t bytes;  // of the whole vector
  int rounds;         // the median of these counts
  int calls;          // in a row, so that reading the clock takes a small part
};
/// Enough calls of this size touch all memory that messages pass through, which is new at the
/// start.
constexpr Step kWarmUp{16 << 10, 1, 64};
/// Beyond the last size, a byte takes as long as there, in memory and in caches of that size.
constexpr std::array kSteps{Step{8, 5, 128},      Step{512, 5, 96},      Step{8 << 10, 5, 32},
                            Step{64 << 10, 5, 8}, Step{512 << 10, 5, 2}, Step{4 << 20, 3, 1}};
/// Times of fewer steps are not used.
constexpr std::size_t kFewestSteps = 4;
/// Longer vectors are not rewritten between rounds, which would take as long as a call.
constexpr std::size_t kMostRewritten = std::size_t{1} << 20;
constexpr std::chrono::milliseconds kBudget{40};
/// A short call between two cores takes less, unless a rank waits for its core.
constexpr double kLongestShortCallUs = 30;
constexpr std::size_t kShortBytes = 1024;
constexpr const char* kTooBusy = "calls were not timed, since the machine was too busy";

double microseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

/// The arrays of one rank, allocated as in a program.
class Arrays {
 public:
  Arrays(std::size_t bytes, int ranks)
      : ranks_{static_cast<std::size_t>(ranks)}, in_(rounded(bytes), 1.0F), out_(rounded(bytes)) {}

  [[nodiscard]] Call call(Collective collective, std::size_t bytes) {
    const std::size_t count =
        is_blockwise(collective) ? rounded(bytes) : std::max<std::size_t>(bytes / sizeof(float), 1);
    const auto elements = [&](Extent extent) {
      return extent == Extent::own_block ? count / ranks_ : count;
    };
    const bool is_one_vector = collective == Collective::broadcast;
    return {.collective = collective,
            .in = in_.data(),
            .out = is_one_vector ? in_.data() : out_.data(),
            .in_count = elements(traits_of(collective).input),
            .out_count = elements(traits_of(collective).output),
            .type = Datatype::f32,
            .element_bytes = sizeof(float),
            .op = &sum};
  }
  void rewrite(std::size_t bytes) {
    std::fill_n(in_.begin(), std::min(in_.size(), bytes / sizeof(float)), 1.0F);
  }

 private:
  /// The number of elements, rounded to a multiple of the ranks.
  [[nodiscard]] std::size_t rounded(std::size_t bytes) const {
    return std::max<std::size_t>(bytes / sizeof(float) / ranks_, 1) * ranks_;
  }

  std::size_t ranks_;
  std::vector<float> in_;
  std::vector<float> out_;
};

/// Runs the steps, and records the times of this rank.
class Timing {
 public:
  explicit Timing(Communicator& group) : group_{group} {
    std::size_t rounds = 0;
    for (const Step& step : kSteps) rounds += static_cast<std::size_t>(step.rounds);
    times_.resize(rounds * detail::kTimedCollectives.size());
  }

  void run() {
    warm_up();
    for (const Step& step : kSteps) {
      Arrays arrays{step.bytes, group_.size()};
      const std::size_t before = done_;
      for (const Collective collective : detail::kTimedCollectives) {
        if (!continues()) {
          done_ = before;
          return;
        }
        time(step, arrays, collective);
      }
      ++steps_;
    }
  }

  /// @return rank 0's result.
  [[nodiscard]] TimedCalls finish() {
    // A call takes as long as its last rank.
    group_.all_reduce(std::span{times_}.first(done_), max);
    if (group_.rank() != 0) return {};
    if (steps_ < kFewestSteps) return {.refusal = kTooBusy};
    TimedCalls timed;
    for (const Collective collective : detail::kTimedCollectives)
      timed.tables.push_back(
          {.place = {
               .collective = collective, .ranks = group_.size(), .hosts = 1, .transport = "shm"}});
    std::span<double> times{times_};
    for (std::size_t i = 0; i < steps_ * timed.tables.size(); ++i) {
      const Step& step = kSteps[i / timed.tables.size()];
      const auto rounds = times.first(static_cast<std::size_t>(step.rounds));
      times = times.subspan(rounds.size());
      std::ranges::sort(rounds);
      detail::TunedCell& cell = cells_[i];
      cell.low_us = rounds.front();
      cell.median_us = rounds[(rounds.size() - 1) / 2];
      cell.high_us = rounds.back();
      if (step.bytes <= kShortBytes && cell.median_us > kLongestShortCallUs)
        return {.refusal = kTooBusy};
      timed.tables[i % timed.tables.size()].cells.push_back(std::move(cell));
    }
    return timed;
  }

 private:
  /// Rank 0 decides for all ranks.
  [[nodiscard]] bool continues() {
    const bool is_over = Clock::now() - begin_ > kBudget || is_busy_;
    std::uint8_t stop = group_.rank() == 0 && is_over ? 1 : 0;
    group_.broadcast(std::span{&stop, 1}, 0);
    return stop == 0;
  }

  void warm_up() {
    Arrays arrays{kWarmUp.bytes, group_.size()};
    for (const Collective collective : detail::kTimedCollectives)
      for (int i = 0; i < kWarmUp.calls && continues(); ++i)
        group_.run(arrays.call(collective, kWarmUp.bytes));
  }

  void time(const Step& step, Arrays& arrays, Collective collective) {
    const Call call = arrays.call(collective, step.bytes);
    if (group_.rank() == 0) {
      const detail::Candidate ran = select_for(group_, call, {}).chosen;
      cells_.push_back({.bytes = step.bytes,
                        .algorithm = ran.choice.text(),
                        .segment_bytes = ran.segment_bytes});
    }
    for (int round = 0; round < step.rounds; ++round) {
      if (step.bytes <= kMostRewritten) {
        arrays.rewrite(step.bytes);
        group_.run(call);
      }
      group_.barrier();
      const auto begin = Clock::now();
      for (int i = 0; i < step.calls; ++i) group_.run(call);
      times_[done_++] = microseconds_since(begin) / step.calls;
    }
    if (step.bytes <= kShortBytes)
      is_busy_ = is_busy_ || times_[done_ - 1] > 10 * kLongestShortCallUs;
  }

  Communicator& group_;
  Clock::time_point begin_ = Clock::now();
  std::vector<double> times_{};             // by step, collective and round
  std::vector<detail::TunedCell> cells_{};  // by step and collective: what ran, on rank 0
  std::size_t done_ = 0;                    // that are filled
  std::size_t steps_ = 0;
  bool is_busy_ = false;  // of this rank
};

}  // namespace

TimedCalls time_calls(Communicator& group) {
  Timing timing{group};
  timing.run();
  return timing.finish();
}

}  // namespace tutti::runtime

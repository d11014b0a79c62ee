#include "dropin/engine/kept_calls.hpp"

#include <algorithm>
#include <limits>

namespace tutti::dropin {
namespace {

// A key is a time, and in its low bits the rank that has it.
constexpr int kRankBits = 20;
constexpr std::int64_t kRanks = std::int64_t{1} << kRankBits;
constexpr std::int64_t kLongest = std::numeric_limits<std::int64_t>::max() / kRanks;
constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();

}  // namespace

bool needs_all_ranks(Collective collective) noexcept {
  return collective == Collective::all_reduce || collective == Collective::all_gather ||
         collective == Collective::all_to_all || collective == Collective::reduce_scatter ||
         collective == Collective::barrier;
}

std::uint64_t KeptCalls::begin() {
  times_.push_back(0);
  durations_.push_back(nullptr);
  return first_ + times_.size() - 1;
}

void KeptCalls::end(std::uint64_t number, Durations& durations,
                    std::chrono::nanoseconds time) noexcept {
  if (number < first_) return;  // the error handler has called collectives
  const auto place = static_cast<std::size_t>(number - first_);
  times_[place] = std::clamp(std::int64_t{time.count()}, std::int64_t{1}, kLongest - 1);
  durations_[place] = &durations;
}

std::vector<std::int64_t> KeptCalls::keys() const {
  std::vector<std::int64_t> keys;
  for (const std::int64_t time : times_)
    keys.push_back(time == 0 ? kNoEnd : time * kRanks + self_ % kRanks);
  return keys;
}

void KeptCalls::compare(std::span<const std::int64_t> least, std::span<const std::int64_t> sums,
                        int ranks, Times& into) {
  for (std::size_t i = 0; i < times_.size(); ++i) {
    if (durations_[i] == nullptr) continue;
    const std::int64_t move = least[i] / kRanks;
    into.compare(*durations_[i], std::chrono::nanoseconds{times_[i] - move},
                 std::chrono::nanoseconds{move});
    const std::int64_t waits = std::max(std::int64_t{0}, sums[i] - ranks * move);
    into.add_late(static_cast<int>(least[i] % kRanks),
                  static_cast<double>(waits) * 1e-9 / (ranks - 1));
  }
  first_ += times_.size();
  times_.clear();
  durations_.clear();
}

}  // namespace tutti::dropin

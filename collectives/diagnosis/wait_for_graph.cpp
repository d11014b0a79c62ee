#include "wait_for_graph.hpp"

#include <algorithm>

namespace tutti::v0::detail {
namespace {

/// A printed chain names at most this many ranks at each end.
constexpr std::size_t kNamed = 8;

/// @return the wait that keeps a rank from doing its part in a call, or null if it waits for no
/// other rank. @param number of the call, or 0 for a message between two ranks.
const CallStatus::Wait* obstacle(const CallStatus& found, std::uint64_t number) {
  if (found.state != CallStatus::State::there) return nullptr;
  const auto same = std::ranges::find(found.waits, number, &CallStatus::Wait::number);
  if (number > 0 && same != found.waits.end()) return &*same;
  // A rank that has begun the call and does not wait in it has done its part, or is stalled.
  const bool has_begun = number > 0 && number < kPlanCalls && found.begun >= number;
  return has_begun || found.waits.empty() ? nullptr : &found.waits.front();
}

}  // namespace

WaitForGraph::WaitForGraph(std::span<const CallStatus> all, Rank self, const CallStatus::Wait& wait)
    : steps_{{self, wait}}, end_{wait.rank} {
  while (true) {
    is_cycle_ = std::ranges::find(steps_, end_, &Step::rank) != steps_.end();
    if (is_cycle_) return;
    const CallStatus::Wait* const next =
        obstacle(all[static_cast<std::size_t>(end_)], steps_.back().wait.number);
    if (next == nullptr || next->rank < 0 || static_cast<std::size_t>(next->rank) >= all.size())
      return;
    steps_.push_back({end_, *next});
    end_ = next->rank;
  }
}

std::uint64_t WaitForGraph::earliest_call() const noexcept {
  std::uint64_t earliest = 0;
  for (const Step& step : steps_)
    if (step.wait.number > 0 && (earliest == 0 || step.wait.number < earliest))
      earliest = step.wait.number;
  return earliest;
}

std::string WaitForGraph::words() const {
  std::string text;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (i == kNamed && steps_.size() > 2 * kNamed) {
      i = steps_.size() - kNamed;
      text += ", and so on";
    }
    const Step& step = steps_[i];
    text += (i == 0 ? "rank " : ", rank ") + std::to_string(step.rank) + " waits for rank " +
            std::to_string(step.wait.rank) + " (" + step.wait.call + ")";
  }
  return is_cycle_ ? text + ", which is a cycle" : text;
}

}  // namespace tutti::v0::detail

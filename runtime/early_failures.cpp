#include "early_failures.hpp"

#include <algorithm>
#include <utility>

namespace tutti::runtime {
namespace {

constexpr std::size_t kMostEarly = 256;

bool is_verdict(const ControlMessage& message) {
  return message.kind == ControlMessage::Kind::verdict;
}

}  // namespace

void EarlyFailures::keep(Rank reporter, const ControlMessage& message) {
  auto found = std::ranges::find(kept_, message.communicator, &Early::communicator);
  if (found == kept_.end()) {
    kept_.push_back({message.communicator, message, {}});
    if (kept_.size() > kMostEarly) kept_.pop_front();
    found = std::prev(kept_.end());
  }
  if (!is_verdict(found->cause) && (is_verdict(message) || precedes(message, found->cause)))
    found->cause = message;
  if (std::ranges::find(found->reporters, reporter) == found->reporters.end())
    found->reporters.push_back(reporter);
}

std::optional<EarlyFailures::Early> EarlyFailures::extract(std::uint64_t communicator) {
  const auto found = std::ranges::find(kept_, communicator, &Early::communicator);
  if (found == kept_.end()) return std::nullopt;
  std::optional<Early> early{std::move(*found)};
  kept_.erase(found);
  return early;
}

}  // namespace tutti::runtime

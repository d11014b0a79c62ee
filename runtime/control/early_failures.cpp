#include "early_failures.hpp"

#include <algorithm>
#include <utility>

namespace tutti::runtime {
namespace {

constexpr std::size_t kMostFailures = 256;

bool is_decision(const ControlMessage& message) {
  return message.kind == ControlMessage::MessageType::decision;
}

}  // namespace

void EarlyFailures::store(Rank reporter, const ControlMessage& message) {
  auto found = std::ranges::find(failures_, message.communicator, &EarlyFailure::communicator);
  if (found == failures_.end()) {
    failures_.push_back({message.communicator, message, {}});
    if (failures_.size() > kMostFailures) failures_.pop_front();
    found = std::prev(failures_.end());
  }
  if (!is_decision(found->cause) && (is_decision(message) || precedes(message, found->cause)))
    found->cause = message;
  if (std::ranges::find(found->reporters, reporter) == found->reporters.end())
    found->reporters.push_back(reporter);
}

std::optional<EarlyFailures::EarlyFailure> EarlyFailures::extract(std::uint64_t communicator) {
  const auto found = std::ranges::find(failures_, communicator, &EarlyFailure::communicator);
  if (found == failures_.end()) return std::nullopt;
  std::optional<EarlyFailure> early{std::move(*found)};
  failures_.erase(found);
  return early;
}

}  // namespace tutti::runtime

#include "majority.hpp"

#include <algorithm>

#include <tutti/spi/rejection.hpp>

namespace tutti::v0::detail {
namespace {

using CallMemory = CallStatus::Memory;

constexpr const char* kMustAgree =
    "; all ranks must call the same collectives in the same order with matching arguments";
/// Without a majority, a text lists at most this many different calls.
constexpr std::size_t kMostGroups = 4;
/// A text lists at most this many ranks of a call.
constexpr std::size_t kMostRanks = 8;

/// @return a text such as "ranks 0, 1 and 3".
std::string names_of(std::span<const std::size_t> ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  const std::size_t listed = std::min(ranks.size(), kMostRanks);
  for (std::size_t i = 0; i < listed; ++i) {
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return listed == ranks.size() ? text
                                : text + " and " + std::to_string(ranks.size() - listed) + " more";
}

}  // namespace

Majority::Majority(std::span<const CallStatus> all, std::uint64_t number, bool differ)
    : number_{number}, size_{all.size()} {
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const CallStatus& found = all[rank];
    const bool has_come =
        number > kPlanCalls ? found.memory != CallMemory::none : found.begun >= number;
    if (found.state == CallStatus::State::absent ||
        (found.state == CallStatus::State::there && !has_come))
      ++still_to_come_;
    else if (found.memory == CallMemory::known) join(rank, found);
    else if (found.memory == CallMemory::forgotten && differ) join(rank, found);
  }
  const bool is_known_to_differ = std::ranges::count(groups_, false, &CallGroup::has_forgotten) > 1;
  if (is_known_to_differ)
    std::erase_if(groups_, [](const CallGroup& group) { return group.has_forgotten; });
  for (const CallGroup& group : groups_) voters_ += group.ranks.size();
  std::ranges::stable_sort(groups_, std::greater<>{},
                           [](const CallGroup& group) { return group.ranks.size(); });
}

void Majority::join(std::size_t rank, const CallStatus& found) {
  const bool has_forgotten = found.memory == CallMemory::forgotten;
  auto group = std::ranges::find_if(groups_, [&](const CallGroup& other) {
    return other.has_forgotten == has_forgotten &&
           (has_forgotten || other.fingerprint == found.fingerprint);
  });
  if (group == groups_.end())
    group = groups_.insert(groups_.end(),
                           {found.fingerprint, has_forgotten, found.begun, found.words, {}});
  group->ranks.push_back(rank);
}

bool Majority::is_decided() const noexcept {
  return still_to_come_ == 0 || (differs() && 2 * groups_.front().ranks.size() > size_);
}

std::string Majority::call_of(const CallGroup& group) const {
  if (group.has_forgotten)
    return "so long ago that it is forgotten, since call #" + std::to_string(group.begun) +
           " has begun";
  const auto same_words = std::ranges::count(groups_, group.words, &CallGroup::words);
  if (same_words == 1 && !group.words.empty()) return group.words;
  return (group.words.empty() ? "one" : group.words) + " with fingerprint " +
         hexadecimal(group.fingerprint);
}

Error Majority::verdict() const {
  const auto rejection = std::ranges::find_if(
      groups_, [](const CallGroup& group) { return is_rejection(group.fingerprint); });
  if (rejection != groups_.end()) {
    const auto other = std::ranges::find_if(
        groups_, [](const CallGroup& group) { return !is_rejection(group.fingerprint); });
    return Error{ErrorCode::mismatch,
                 names_of(rejection->ranks) + " rejected the arguments of " +
                     words_of_number(number_) +
                     (rejection->words.empty() ? "" : ": " + rejection->words) +
                     (other == groups_.end()
                          ? ""
                          : "; it is " + call_of(*other) + " on " + names_of(other->ranks)),
                 static_cast<Rank>(rejection->ranks.front())}
        .about(number_);
  }
  const std::string call = words_of_number(number_) + " is ";
  const CallGroup& most = groups_.front();
  if (2 * most.ranks.size() > voters_) {
    const auto odd =
        std::ranges::min_element(groups_.begin() + 1, groups_.end(), {},
                                 [](const CallGroup& group) { return group.ranks.front(); });
    const std::size_t rank = odd->ranks.front();
    return Error{ErrorCode::mismatch,
                 "rank " + std::to_string(rank) + " runs another call: its " + call +
                     call_of(*odd) + ", that of most ranks is " + call_of(most) + kMustAgree,
                 static_cast<Rank>(rank)}
        .about(number_);
  }
  std::string text = "ranks run different calls";
  text += voters_ > 2 ? ", and there is no majority: " + call : ": " + call;
  for (std::size_t i = 0; i < std::min(groups_.size(), kMostGroups); ++i)
    text += (i == 0 ? "" : ", ") + call_of(groups_[i]) + " on " + names_of(groups_[i].ranks);
  if (groups_.size() > kMostGroups) text += ", and others on other ranks";
  return Error{ErrorCode::mismatch, text + kMustAgree, -1}.about(number_);
}

}  // namespace tutti::v0::detail

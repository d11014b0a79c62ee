/// @file
/// The order of calls on a communicator: their numbers, and the tags of their messages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "execution.hpp"

namespace tutti::v0::detail {

/// Numbers collectives alike on all ranks. The first kWindow from the oldest pending one on have
/// tags of their own; later ones wait. Tags are used again in the same order, so that a message
/// that was never received, as after a disagreement about the root, matches a later call and is
/// found to be wrong.
class CallOrder {
 public:
  /// @param tags of the transport. @param user_tags of messages between two ranks, at most.
  CallOrder(std::uint32_t tags, std::uint32_t user_tags)
      : window_{std::min(kWindow, tags / kInstances)}, user_tags_{std::min(
                                                           user_tags, tags - window_ * kInstances)},
        plan_places_{(tags - window_ * kInstances - user_tags_) / kInstances} {
    expects(window_ > 0, "a transport has tags for one operation");
  }

  /// @return tags of messages between two ranks, which lie behind those of collectives.
  [[nodiscard]] std::uint32_t user_tags() const noexcept { return user_tags_; }
  /// @param user_tag below user_tags(). @return the transport's.
  [[nodiscard]] std::uint32_t tag_of_message(int user_tag) const noexcept {
    return window_ * kInstances + static_cast<std::uint32_t>(user_tag);
  }
  /// @return the number of the next plan, from one; 0 where the transport has no tags for plans, so
  /// that their runs take positions as calls do.
  [[nodiscard]] std::uint64_t next_plan() noexcept { return plan_places_ == 0 ? 0 : ++plans_; }
  /// @param plan its number. @return the first of its tags, which lie behind those of messages.
  /// Plans far apart share them.
  [[nodiscard]] std::uint32_t tag_of_plan(std::uint64_t plan) const noexcept {
    return window_ * kInstances + user_tags_ +
           static_cast<std::uint32_t>(plan % plan_places_) * kInstances;
  }
  /// @return collectives that have taken their positions.
  [[nodiscard]] std::uint64_t count() const noexcept { return sequence_; }
  /// @return the next position.
  Execution::CallPosition next() noexcept {
    const Execution::CallPosition position{sequence_++, place_ * kInstances};
    if (++place_ == window_) place_ = 0;
    laps_ = laps_ || place_ == 0;
    return position;
  }
  /// @return the next position, at which something starts later, or never.
  Execution::CallPosition keep() {
    kept_.push_back(sequence_);
    return next();
  }
  /// Makes sure that the next keep does not throw.
  void prepare_to_keep() { kept_.reserve(kept_.size() + 1); }
  /// Something has started at a position that was kept, or never will.
  void end_keeping(Execution::CallPosition position) noexcept {
    std::erase(kept_, position.sequence);
  }
  /// @return the oldest position that is kept, or count() if none is.
  [[nodiscard]] std::uint64_t oldest_kept() const noexcept {
    return kept_.empty() ? sequence_ : *std::ranges::min_element(kept_);
  }
  /// Asks for the oldest call only where the window may be full, once in a while.
  /// @param wanted how many positions. @param oldest returns the number of the oldest pending call.
  /// @return whether there are tags for them.
  template <class Oldest>
  [[nodiscard]] bool has_room(std::uint64_t wanted, Oldest oldest) noexcept {
    if (sequence_ + wanted - oldest_ <= window_) return true;
    oldest_ = oldest();
    return sequence_ + wanted - oldest_ <= window_;
  }
  /// @return whether tags are about to be used again.
  [[nodiscard]] bool laps() const noexcept { return laps_; }
  /// That was looked at.
  void end_lap() noexcept { laps_ = false; }

 private:
  static constexpr std::uint32_t kWindow = 64;
  std::uint32_t window_;       // collectives with tags of their own
  std::uint32_t user_tags_;    // behind those
  std::uint32_t plan_places_;  // behind those, of kInstances tags each
  std::uint64_t plans_ = 0;    // that were made
  std::uint64_t sequence_ = 0;
  std::uint64_t oldest_ = 0;  // no collective before this one is pending
  std::uint32_t place_ = 0;   // of the next one in the window
  bool laps_ = false;         // whether it is the first of a window but the first
  std::vector<std::uint64_t> kept_{};
};

}  // namespace tutti::v0::detail

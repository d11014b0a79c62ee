/// @file
/// The order of calls on a communicator: their numbers, and the tags of their messages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "execution.hpp"

namespace tutti::v0::detail {

/// Numbers collectives equally on all ranks. From the oldest pending collective on, kWindow
/// collectives have tags of their own; later ones wait. Tags are reused in the same order. So a
/// message that no call received, as when ranks disagree about the root, meets a later call, which
/// sees by its fingerprint that it is wrong.
class CallOrder {
 public:
  /// @param tags of the transport. @param user_tags the most tags for messages between two ranks.
  CallOrder(std::uint32_t tags, std::uint32_t user_tags)
      : window_{std::min(kWindow, tags / kInstances)}, user_tags_{std::min(
                                                           user_tags, tags - window_ * kInstances)},
        plan_places_{(tags - window_ * kInstances - user_tags_) / kInstances} {
    expects(window_ > 0, "a transport has tags for one operation");
  }

  /// @return the number of tags for messages between two ranks. They follow those of collectives.
  [[nodiscard]] std::uint32_t user_tags() const noexcept { return user_tags_; }
  /// @param user_tag below user_tags(). @return the transport's tag for it.
  [[nodiscard]] std::uint32_t tag_of_message(int user_tag) const noexcept {
    return window_ * kInstances + static_cast<std::uint32_t>(user_tag);
  }
  /// @return the number of the next plan, from one; 0 if the transport has no tags for plans, whose
  /// runs then take positions as calls do.
  [[nodiscard]] std::uint64_t next_plan() noexcept { return plan_places_ == 0 ? 0 : ++plans_; }
  /// @return the first tag of a plan. Tags of plans follow those of messages. Plans whose numbers
  /// are far apart share them.
  [[nodiscard]] std::uint32_t tag_of_plan(std::uint64_t plan) const noexcept {
    return window_ * kInstances + user_tags_ +
           static_cast<std::uint32_t>(plan % plan_places_) * kInstances;
  }
  /// @return the number of positions that were taken.
  [[nodiscard]] std::uint64_t count() const noexcept { return sequence_; }
  /// Takes the next position.
  Execution::CallPosition next() noexcept {
    const Execution::CallPosition position{sequence_++, place_ * kInstances};
    if (++place_ == window_) place_ = 0;
    laps_ = laps_ || place_ == 0;
    return position;
  }
  /// Takes the next position for a call that starts later, or never.
  Execution::CallPosition keep() {
    kept_.push_back(sequence_);
    return next();
  }
  /// Makes sure that the next keep() does not throw.
  void prepare_to_keep() { kept_.reserve(kept_.size() + 1); }
  /// Ends a position that was kept: its call has started, or never will.
  void end_keeping(Execution::CallPosition position) noexcept {
    std::erase(kept_, position.sequence);
  }
  /// @return the oldest position that is kept, or count() if none is.
  [[nodiscard]] std::uint64_t oldest_kept() const noexcept {
    return kept_.empty() ? sequence_ : *std::ranges::min_element(kept_);
  }
  /// @param wanted number of positions. @param oldest returns the number of the oldest pending
  /// call; it is called only if the window may be full. @return whether there are tags for them.
  template <class Oldest>
  [[nodiscard]] bool has_room(std::uint64_t wanted, Oldest oldest) noexcept {
    if (sequence_ + wanted - oldest_ <= window_) return true;
    oldest_ = oldest();
    return sequence_ + wanted - oldest_ <= window_;
  }
  /// @return whether the window has started again since end_lap(), so that tags are reused.
  [[nodiscard]] bool laps() const noexcept { return laps_; }
  void end_lap() noexcept { laps_ = false; }

 private:
  static constexpr std::uint32_t kWindow = 64;
  std::uint32_t window_;       // collectives with tags of their own
  std::uint32_t user_tags_;    // tags after those of the window
  std::uint32_t plan_places_;  // groups of kInstances tags after the user's
  std::uint64_t plans_ = 0;    // number of the last plan
  std::uint64_t sequence_ = 0;
  std::uint64_t oldest_ = 0;  // no collective before this one is pending
  std::uint32_t place_ = 0;   // of the next collective in the window
  bool laps_ = false;         // set when the window starts again
  std::vector<std::uint64_t> kept_{};
};

}  // namespace tutti::v0::detail

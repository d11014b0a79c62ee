/// @file
/// The order in which the buckets of a step are reduced.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tutti/request.hpp>

#include "readiness.hpp"
#include "sync_setup.hpp"

namespace tutti::v0::detail {

/// The buckets of a step in the order in which their reductions start, which is the same on all
/// ranks. It grows as gradients become ready. Used by GradientSync's thread.
class BucketSequence {
 public:
  /// Both arguments outlive this.
  BucketSequence(SyncSetup& setup, const Readiness& readiness)
      : setup_{setup}, readiness_{readiness} {}

  /// To be called before a step. @param buckets number of buckets of the plan.
  void begin_step(std::size_t buckets);
  /// Adds the buckets that start next, if their gradients are ready.
  void extend();
  /// @return whether this rank can do nothing before another gradient is ready.
  [[nodiscard]] bool is_waiting_for_gradients() const noexcept;
  /// @return the running negotiation, if there is one.
  [[nodiscard]] Request& negotiation() noexcept { return negotiation_; }

  [[nodiscard]] std::span<const std::size_t> buckets() const noexcept { return sequence_; }
  [[nodiscard]] std::size_t size() const noexcept { return sequence_.size(); }
  [[nodiscard]] std::size_t operator[](std::size_t i) const noexcept { return sequence_[i]; }

 private:
  using Clock = std::chrono::steady_clock;
  void negotiate();
  [[nodiscard]] bool is_ready(std::size_t bucket) const noexcept {
    return readiness_.is_full(bucket) && is_member_[bucket] == 0;
  }

  SyncSetup& setup_;
  const Readiness& readiness_;
  std::vector<std::size_t> sequence_{};
  std::vector<std::uint8_t> is_member_{};      // by bucket
  std::vector<std::uint8_t> is_negotiated_{};  // by bucket: whether it is ready
  Request negotiation_{};
  bool is_negotiating_ = false;
  Clock::time_point fruitless_{};  // when ranks last found no bucket that is ready on all of them
};

}  // namespace tutti::v0::detail

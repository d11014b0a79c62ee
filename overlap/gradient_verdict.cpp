// When all gradients are reduced: ranks agree on whether they are good, and on what multiplies them
// for GradientOptions::max_norm.
#include <array>
#include <cmath>

#include "gradient_state.hpp"

namespace tutti::v0 {

/// In the order of buckets, so that the sum does not depend on when each was reduced.
void GradientSync::State::add_findings() noexcept {
  findings_ = {};
  for (const detail::Findings& own : own_findings_) {
    findings_.squares += own.squares;
    findings_.not_finite += own.not_finite;
    findings_.hash += own.hash;
  }
}

/// When the program waits, so that all that may be wrong with its calls is known. Every rank gets
/// the same bits.
void GradientSync::State::agree_on_use() {
  add_findings();
  std::array sums{findings_.squares, options_.check_finite ? findings_.not_finite : 0.0,
                  problem().empty() ? 0.0 : 1.0, is_active_ ? 1.0 : 0.0};
  groups_[0].all_reduce(sums, sum, call_options());
  const auto& [squares, not_finite, problems, active] = sums;
  const double size = groups_[0].size();
  const bool are_all_active = active == size;
  verdict_ = {.is_there = true, .is_good = problems == 0 && not_finite == 0};
  if (options_.on_shard && !are_all_active) verdict_.is_good = false;
  // Joined ranks' zeros do not count for the mean, which the step's end corrects.
  double norm = std::sqrt(squares);
  if (options_.average && !are_all_active && active > 0) norm *= size / active;
  if (std::isfinite(norm) && norm > options_.max_norm && options_.max_norm > 0)
    verdict_.factor = options_.max_norm / norm;
}

/// Without on_shard: all buckets are reduced, and none was given back. Where the step is void the
/// program gets them as they are, and on_bucket does not see them.
void GradientSync::State::clip() {
  agree_on_use();
  for (const std::size_t index : sequence_) {
    const detail::Bucket& bucket = plan_.buckets[index];
    if (verdict_.is_good && verdict_.factor != 1)
      detail::scale(bucket.type, memory_of(index).data(), bucket.count, verdict_.factor);
    if (is_detecting()) continue;  // it is not known yet which of them are used
    for (const std::size_t i : bucket.parameters) store(i);
    if (verdict_.is_good) call_back(index, bucket.parameters);
  }
}

}  // namespace tutti::v0

#include "step_verdict.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace tutti::v0::detail {

void StepVerdict::reset() noexcept {
  std::ranges::fill(own_, Findings{});
  is_agreed_ = false;
  is_good_ = true;
  factor_ = 1;
}

/// Adds in the order of buckets, so that the sum does not depend on the order of reductions.
void StepVerdict::sum_up(bool is_cut_short) {
  if (setup_.streams) {
    if (!is_inspected(setup_.options) || is_cut_short) return;
    const Inspected seen = setup_.streams->inspected(setup_.options.timeout);
    findings_ = {.squares = seen.squares,
                 .not_finite = static_cast<double>(seen.not_finite),
                 .hash = static_cast<std::uint32_t>(seen.hash)};
    return;
  }
  findings_ = {};
  for (const Findings& own : own_) {
    findings_.squares += own.squares;
    findings_.not_finite += own.not_finite;
    findings_.hash += own.hash;
  }
}

/// To be called when the program waits, so that all problems of its calls are known. Every rank
/// gets the same bits.
void StepVerdict::agree(bool is_active) {
  sum_up(false);
  std::array sums{findings_.squares, setup_.options.check_finite ? findings_.not_finite : 0.0,
                  problem_.exists() ? 1.0 : 0.0, is_active ? 1.0 : 0.0};
  setup_.all_ranks().all_reduce(sums, sum, setup_.call_options());
  const auto& [squares, not_finite, problems, active] = sums;
  const double size = setup_.all_ranks().size();
  const bool are_all_active = active == size;
  is_agreed_ = true;
  is_good_ = problems == 0 && not_finite == 0 && (are_all_active || !setup_.options.on_shard);
  // Joined ranks' zeros do not count for the mean, which the step's end corrects.
  double norm = std::sqrt(squares);
  if (setup_.options.average && !are_all_active && active > 0) norm *= size / active;
  if (std::isfinite(norm) && norm > setup_.options.max_norm && setup_.options.max_norm > 0)
    factor_ = setup_.options.max_norm / norm;
}

}  // namespace tutti::v0::detail

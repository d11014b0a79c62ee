#include "bucket_sequence.hpp"

namespace tutti::v0::detail {
namespace {

/// Time before ranks negotiate again, if no bucket was ready on all of them.
constexpr std::chrono::milliseconds kNegotiationPause{1};

}  // namespace

void BucketSequence::begin_step(std::size_t buckets) {
  sequence_.clear();
  is_member_.assign(buckets, 0);
  is_negotiated_.resize(buckets);
}

void BucketSequence::extend() {
  if (setup_.is_negotiating()) return negotiate();
  while (size() < is_member_.size() && readiness_.is_full(size())) sequence_.push_back(size());
}

/// While a rank has buckets that are ready and not in the sequence, it asks the others which of
/// them are ready there too. Since the sequence is the same on all ranks, all ask equally often.
void BucketSequence::negotiate() {
  if (is_negotiating_) {
    if (!negotiation_.test()) return;
    is_negotiating_ = false;
    const std::size_t before = size();
    for (std::size_t i = 0; i < is_member_.size(); ++i)
      if (is_negotiated_[i] != 0) {
        sequence_.push_back(i);
        is_member_[i] = 1;
      }
    fruitless_ = size() == before ? Clock::now() : Clock::time_point{};
  }
  if (is_waiting_for_gradients() || Clock::now() - fruitless_ < kNegotiationPause) return;
  for (std::size_t i = 0; i < is_member_.size(); ++i) is_negotiated_[i] = is_ready(i);
  negotiation_ = setup_.control->async().all_reduce(is_negotiated_, min, setup_.call_options());
  is_negotiating_ = true;
}

bool BucketSequence::is_waiting_for_gradients() const noexcept {
  if (!setup_.is_negotiating()) return !readiness_.is_full(size());
  if (is_negotiating_) return false;
  for (std::size_t i = 0; i < is_member_.size(); ++i)
    if (is_ready(i)) return false;
  return true;
}

}  // namespace tutti::v0::detail

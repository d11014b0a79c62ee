// The largest elements only (Aji, Heafield, "Sparse communication", EMNLP 2017; Lin et al., "Deep
// gradient compression", ICLR 2018): each rank sends indices and values of its own, and adds what
// it left out to its next gradient.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "codec.hpp"

namespace tutti::inline v0::detail {
namespace {

struct Picked {
  std::uint32_t index = 0;
  float value = 0;
};

class TopK final : public CompressedReduction {
 public:
  TopK(BucketContext given, double share) : CompressedReduction{std::move(given)} {
    const std::size_t count = context().count();
    if (count > std::numeric_limits<std::uint32_t>::max())
      throw Error{ErrorCode::invalid_argument,
                  "GradientSync: top_k takes buckets of less than 2^32 elements"};
    const auto wanted = static_cast<std::size_t>(std::ceil(share * static_cast<double>(count)));
    picked_ = std::min(wanted, count);
    own_ = context().first->allocate<Picked>(picked_);
    all_ = context().first->allocate<Picked>(picked_ * context().ranks());
    errors_.resize(count);
    order_.resize(count);
  }
  std::uint64_t sent_bytes() const override {
    return (context().ranks() - 1) * picked_ * sizeof(Picked);
  }
  std::vector<KeptElements> kept() override {
    return {{KeptElements::Kind::gradients, 0, errors_}};
  }

 protected:
  Request encode() override {
    const std::span<const float> own = elements();
    for (std::size_t i = 0; i < own.size(); ++i) errors_[i] += own[i];
    std::iota(order_.begin(), order_.end(), std::uint32_t{0});
    // What is no number counts as the largest, so that all ranks see it. Equal ones are told apart
    // by their index, so that a run is repeatable.
    const auto size_of_element = [this](std::uint32_t i) {
      const float size = std::fabs(errors_[i]);
      return std::isnan(size) ? std::numeric_limits<float>::infinity() : size;
    };
    std::ranges::nth_element(order_, order_.begin() + static_cast<std::ptrdiff_t>(picked_),
                             [&](std::uint32_t a, std::uint32_t b) {
                               const float left = size_of_element(a);
                               const float right = size_of_element(b);
                               return left > right || (left == right && a < b);
                             });
    for (std::size_t i = 0; i < picked_; ++i) {
      own_.data()[i] = {order_[i], errors_[order_[i]]};
      errors_[order_[i]] = 0;
    }
    return context().first->async().all_gather(own_, all_, call_options());
  }
  void decode() override {
    std::ranges::fill(elements(), 0.0F);
    const float share = factor() / static_cast<float>(context().ranks());
    for (const Picked& picked : all_)
      if (picked.index < elements().size()) elements()[picked.index] += picked.value * share;
    for (float& error : errors_)
      if (!std::isfinite(error)) error = 0;  // else all steps to come would be void
  }

 private:
  std::size_t picked_;
  Buffer<Picked> own_{};
  Buffer<Picked> all_{};
  std::vector<float> errors_{};  // what was left out
  std::vector<std::uint32_t> order_{};
};

}  // namespace

std::unique_ptr<BucketReduction> make_top_k(BucketContext context, double share) {
  return std::make_unique<TopK>(std::move(context), share);
}

}  // namespace tutti::inline v0::detail

// The largest elements only (Aji, Heafield, "Sparse communication", EMNLP 2017; Lin et al., "Deep
// gradient compression", ICLR 2018): each rank sends indices and values of its own, and adds the
// other elements to its next gradient.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <tutti/spi/gradient_kernels.hpp>

#include "codec.hpp"

namespace tutti::v0::detail {
namespace {

struct Picked {
  std::uint32_t index = 0;
  float value = 0;
};

/// Elements that are added and counted while they are in the caches.
constexpr std::size_t kCountedPart = 16384;

/// As in GradientKernels::count_magnitudes.
std::uint32_t magnitude_of(float element) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(element) & 0x7fffffff;
  return std::min(bits, 0x7f800000U);
}

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
    candidates_.resize(count);
  }
  std::uint64_t sent_bytes() const override {
    return (context().ranks() - 1) * picked_ * sizeof(Picked);
  }
  std::vector<KeptElements> kept() override {
    return {{KeptElements::Role::gradients, 0, errors_}};
  }

 protected:
  Request encode() override {
    add_and_count();
    const Threshold threshold = find_threshold();
    // Elements as large as the threshold are ordered by their index, so that a run is
    // repeatable.
    std::size_t picked = 0;
    std::size_t left_equal = picked_ - threshold.above;
    for (const std::uint32_t index : std::span{candidates_}.first(candidate_count_)) {
      float& error = errors_[index];
      const std::uint32_t size = magnitude_of(error);
      if (size < threshold.least) continue;
      const bool is_picked = size > threshold.least || left_equal > 0;
      if (is_picked) {
        if (size == threshold.least) --left_equal;
        own_.data()[picked++] = {index, error};
      }
      // An error that is not finite would make all later steps void.
      if (is_picked || !std::isfinite(error)) error = 0;
    }
    return context().first->async().all_gather(own_, all_, call_options());
  }
  void decode() override {
    std::ranges::fill(elements(), 0.0F);
    const float share = factor() / static_cast<float>(context().ranks());
    for (const Picked& picked : all_)
      if (picked.index < elements().size()) elements()[picked.index] += picked.value * share;
  }

 private:
  /// The limit of picked elements: all of a larger magnitude, and as many of this one as still fit.
  struct Threshold {
    std::uint32_t least = 0;
    std::size_t above = 0;  ///< Elements of a larger magnitude.
  };

  /// Adds the gradient to the errors, and counts magnitudes. A NaN counts as infinite, so that all
  /// ranks see it.
  void add_and_count() {
    const GradientKernels& kernels = gradient_kernels();
    bins_.assign(kMagnitudeBins, 0);
    for (std::size_t first = 0; first < errors_.size(); first += kCountedPart) {
      const std::size_t size = std::min(kCountedPart, errors_.size() - first);
      kernels.add(elements().data() + first, size, errors_.data() + first);
      kernels.count_magnitudes(errors_.data() + first, size, bins_.data());
    }
  }

  /// Finds the magnitude of the last picked element: first its bin by the upper bits, then the
  /// parts of that bin, down to the lowest bits.
  [[nodiscard]] Threshold find_threshold() {
    Threshold threshold;
    narrow(threshold, kMagnitudeShift);
    candidate_count_ = gradient_kernels().find_magnitudes(errors_.data(), errors_.size(),
                                                          threshold.least, candidates_.data());
    for (unsigned shift = kMagnitudeShift; shift > 0;) {
      const unsigned before = shift;
      shift -= kMagnitudeShift / 2;
      bins_.assign(std::size_t{1} << (before - shift), 0);
      for (const std::uint32_t index : std::span{candidates_}.first(candidate_count_)) {
        const std::uint32_t beyond = magnitude_of(errors_[index]) - threshold.least;
        if (beyond >> before == 0) ++bins_[beyond >> shift];
      }
      narrow(threshold, shift);
    }
    return threshold;
  }
  /// Advances to the bin of the last picked element. @param shift of the bins' bits.
  void narrow(Threshold& threshold, unsigned shift) const {
    std::size_t bin = bins_.size() - 1;
    for (; bin > 0 && threshold.above + bins_[bin] < picked_; --bin) threshold.above += bins_[bin];
    threshold.least += static_cast<std::uint32_t>(bin) << shift;
  }

  std::size_t picked_;
  Buffer<Picked> own_{};
  Buffer<Picked> all_{};
  std::vector<float> errors_{};  // elements that were not sent
  std::vector<std::uint32_t> bins_{};
  std::vector<std::uint32_t> candidates_{};  // indices, the first candidate_count_ of them
  std::size_t candidate_count_ = 0;
};

}  // namespace

std::unique_ptr<BucketReduction> make_top_k(BucketContext context, double share) {
  return std::make_unique<TopK>(std::move(context), share);
}

}  // namespace tutti::v0::detail

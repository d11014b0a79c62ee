// Codecs of single elements: each rank sends every other its share of the bucket in few bits, adds
// up in f32 what it gets, and sends the sum to all in few bits again. So there are two roundings in
// all, at any number of ranks, where an all_reduce of short elements rounds at every hop.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "codec.hpp"

namespace tutti::inline v0::detail {
namespace {

/// Stores each element as a shorter one.
template <class Short>
struct ShortElements {
  static constexpr bool kKeepsErrors = false;
  std::size_t block = 1;
  [[nodiscard]] std::size_t bytes(std::size_t count) const { return count * sizeof(Short); }
  void encode(std::span<const float> from, std::byte* to) const {
    auto* const words = reinterpret_cast<Short*>(to);
    for (std::size_t i = 0; i < from.size(); ++i) words[i] = Short{from[i]};
  }
  template <class Store>
  void decode(const std::byte* from, std::size_t count, Store store) const {
    const auto* const words = reinterpret_cast<const Short*>(from);
    for (std::size_t i = 0; i < count; ++i) store(i, static_cast<float>(words[i]));
  }
};

/// Blocks of elements, each behind its scale as f32. @tparam Packing a block of elements in fewer
/// bits.
template <class Packing>
struct ScaledBlocks {
  static constexpr bool kKeepsErrors = Packing::kKeepsErrors;
  std::size_t block;
  [[nodiscard]] std::size_t bytes(std::size_t count) const {
    std::size_t all = 0;
    for_each(count, [&](std::size_t /*first*/, std::size_t size) {
      all += sizeof(float) + Packing::bytes(size);
    });
    return all;
  }
  void encode(std::span<const float> from, std::byte* to) const {
    for_each(from.size(), [&](std::size_t first, std::size_t size) {
      const float scale = Packing::pack(from.subspan(first, size), to + sizeof scale);
      std::memcpy(to, &scale, sizeof scale);
      to += sizeof scale + Packing::bytes(size);
    });
  }
  template <class Store>
  void decode(const std::byte* from, std::size_t count, Store store) const {
    for_each(count, [&](std::size_t first, std::size_t size) {
      float scale = 0;
      std::memcpy(&scale, from, sizeof scale);
      from += sizeof scale;
      for (std::size_t i = 0; i < size; ++i) store(first + i, Packing::unpack(from, i) * scale);
      from += Packing::bytes(size);
    });
  }

 private:
  template <class Function>
  void for_each(std::size_t count, Function function) const {
    for (std::size_t first = 0; first < count; first += block)
      function(first, std::min(block, count - first));
  }
};

/// The scale is the largest size, divided by 127, and each element a byte. An element that is
/// infinite or no number makes its block such.
struct PackedBytes {
  static constexpr bool kKeepsErrors = false;
  static std::size_t bytes(std::size_t count) { return count; }
  static float pack(std::span<const float> from, std::byte* to) {
    float most = 0;
    float poison = 0;  // 0 times infinity, or no number, is no number
    for (const float x : from) {
      most = std::max(most, std::fabs(x));
      poison += x * 0.0F;
    }
    const float scale = most / 127 + poison;
    const float inverse = scale > 0 ? 1 / scale : 0;
    // The inverse of a subnormal scale is infinite: such elements become zeros.
    const float factor = std::isfinite(inverse) ? inverse : 0;
    auto* const digits = reinterpret_cast<std::int8_t*>(to);
    for (std::size_t i = 0; i < from.size(); ++i) {
      const float x = std::isfinite(scale) ? from[i] * factor : 0;
      digits[i] = static_cast<std::int8_t>(x + std::copysign(0.5F, x));
    }
    return scale;
  }
  static float unpack(const std::byte* from, std::size_t i) {
    return static_cast<float>(static_cast<std::int8_t>(from[i]));
  }
};

/// The scale is the mean size, which is what errs least in the sum of squares, and each element its
/// sign (Seide et al., "1-bit stochastic gradient descent", Interspeech 2014; on both sides: Tang
/// et al., "1-bit Adam", ICML 2021).
struct PackedSigns {
  static constexpr bool kKeepsErrors = true;
  static std::size_t bytes(std::size_t count) { return (count + 7) / 8; }
  static float pack(std::span<const float> from, std::byte* to) {
    double sizes = 0;
    for (const float x : from) sizes += static_cast<double>(std::fabs(x));
    for (std::size_t first = 0; first < from.size(); first += 8) {
      unsigned bits = 0;
      for (std::size_t i = first; i < std::min(first + 8, from.size()); ++i)
        bits |= static_cast<unsigned>(std::signbit(from[i])) << (i - first);
      to[first / 8] = static_cast<std::byte>(bits);
    }
    return static_cast<float>(sizes / static_cast<double>(from.size()));
  }
  static float unpack(const std::byte* from, std::size_t i) {
    return ((from[i / 8] >> (i % 8)) & std::byte{1}) == std::byte{0} ? 1.0F : -1.0F;
  }
};

template <class Quantizer>
class QuantizedReduction final : public CompressedReduction {
 public:
  QuantizedReduction(BucketContext given, Quantizer quantizer)
      : CompressedReduction{std::move(given)}, quantizer_{quantizer} {
    const std::size_t ranks = context().ranks();
    const std::size_t even = (context().count() + ranks - 1) / ranks;
    share_ = (even + quantizer_.block - 1) / quantizer_.block * quantizer_.block;
    slot_ = (quantizer_.bytes(share_) + 3) / 4 * 4;  // where the next one's scales are words
    sent_ = context().first->template allocate<std::byte>(ranks * slot_);
    received_ = context().first->template allocate<std::byte>(ranks * slot_);
    sum_.resize(share_of(context().rank()).size());
    if constexpr (Quantizer::kKeepsErrors) {
      errors_.resize(context().count());
      sum_errors_.resize(sum_.size());
    }
  }
  std::uint64_t sent_bytes() const override { return 2 * (context().ranks() - 1) * slot_; }
  std::vector<KeptElements> kept() override {
    if constexpr (!Quantizer::kKeepsErrors) return {};
    return {{KeptElements::Kind::gradients, 0, errors_},
            {KeptElements::Kind::sums, first_element(context().rank()), sum_errors_}};
  }

 protected:
  Request encode() override {
    for (std::size_t rank = 0; rank < context().ranks(); ++rank) {
      const std::span<float> share = share_of(rank);
      std::span<float> errors;
      if constexpr (Quantizer::kKeepsErrors)
        errors = std::span{errors_}.subspan(first_element(rank), share.size());
      encode_keeping(share, errors, sent_.data() + rank * slot_);
    }
    return context().first->async().all_to_all(sent_, received_, call_options());
  }
  Request go_on() override {
    std::ranges::fill(sum_, 0.0F);
    for (std::size_t rank = 0; rank < context().ranks(); ++rank)
      quantizer_.decode(received_.data() + rank * slot_, sum_.size(),
                        [this](std::size_t i, float x) { sum_[i] += x; });
    const float share = factor() / static_cast<float>(context().ranks());
    for (float& element : sum_) element *= share;
    // What was received is in the sum, so its memory takes the second half.
    std::byte* const own = received_.data() + context().rank() * slot_;
    encode_keeping(sum_, sum_errors_, own);
    return context().second->async().run({.collective = Collective::all_gather,
                                          .in = own,
                                          .out = received_.data(),
                                          .in_count = slot_,
                                          .out_count = received_.size(),
                                          .type = Datatype::u8,
                                          .element_bytes = 1,
                                          .visible = received_.is_visible()},
                                         call_options());
  }
  void decode() override {
    for (std::size_t rank = 0; rank < context().ranks(); ++rank) {
      const std::span<float> share = share_of(rank);
      quantizer_.decode(received_.data() + rank * slot_, share.size(),
                        [share](std::size_t i, float x) { share[i] = x; });
    }
  }

 private:
  [[nodiscard]] std::size_t first_element(std::size_t rank) const {
    return std::min(rank * share_, context().count());
  }
  [[nodiscard]] std::span<float> share_of(std::size_t rank) {
    const std::size_t first = first_element(rank);
    return elements().subspan(first, std::min(share_, context().count() - first));
  }
  /// Encodes elements and what was left out of them before, and keeps what is left out now.
  void encode_keeping(std::span<float> from, std::span<float> errors, std::byte* to) const {
    if (!errors.empty())
      for (std::size_t i = 0; i < from.size(); ++i) from[i] += errors[i];
    quantizer_.encode(from, to);
    if (errors.empty()) return;
    quantizer_.decode(to, from.size(), [&](std::size_t i, float x) {
      const float error = from[i] - x;
      errors[i] = std::isfinite(error) ? error : 0;  // else all steps to come would be void
    });
  }

  Quantizer quantizer_;
  std::size_t share_ = 0;  // elements of a rank, but for the last ones
  std::size_t slot_ = 0;   // bytes of a share
  Buffer<std::byte> sent_{};
  Buffer<std::byte> received_{};
  std::vector<float> sum_{};         // of the own share
  std::vector<float> errors_{};      // what was left out of own gradients
  std::vector<float> sum_errors_{};  // what was left out of the sum
};

}  // namespace

std::unique_ptr<BucketReduction> make_quantized(BucketContext context,
                                                const Compression& compression) {
  const auto make = [&](auto quantizer) -> std::unique_ptr<BucketReduction> {
    return std::make_unique<QuantizedReduction<decltype(quantizer)>>(std::move(context), quantizer);
  };
  switch (compression.kind) {
    case Compression::Kind::f16: return make(ShortElements<Float16>{});
    case Compression::Kind::bf16: return make(ShortElements<BFloat16>{});
    case Compression::Kind::int8: return make(ScaledBlocks<PackedBytes>{compression.size});
    default: return make(ScaledBlocks<PackedSigns>{compression.size});
  }
}

}  // namespace tutti::inline v0::detail

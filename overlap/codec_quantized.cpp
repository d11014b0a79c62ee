// Codecs of single elements: each rank sends every other rank its share of the bucket in few bits,
// adds up the received shares in f32, and sends the sum to all in few bits. So there are two
// roundings at any number of ranks, while an all_reduce of short elements rounds at every hop.
#include <algorithm>

#include <tutti/spi/gradient_kernels.hpp>

#include "codec.hpp"

namespace tutti::v0::detail {
namespace {

/// Stores each element as a shorter one.
struct ShortElements {
  static constexpr bool kKeepsErrors = false;
  std::size_t block = 1;
  Datatype type;
  [[nodiscard]] std::size_t bytes(std::size_t count) const { return count * size_of(type); }
  void encode(const float* from, std::size_t count, std::byte* to) const {
    gradient_kernels().shorten(type, from, count, to);
  }
  void decode(const std::byte* from, std::size_t count, float* to) const {
    gradient_kernels().lengthen(type, from, count, to);
  }
  void add(const std::byte* from, std::size_t count, float* to) const {
    gradient_kernels().add_lengthened(type, from, count, to);
  }
};

/// @param packed bytes of the elements of a block. @return bytes of all blocks with their scales.
template <class Packed>
std::size_t bytes_of_blocks(std::size_t count, std::size_t block, Packed packed) {
  const std::size_t last = count % block;
  return count / block * (sizeof(float) + packed(block)) +
         (last > 0 ? sizeof(float) + packed(last) : 0);
}

/// Blocks of elements as bytes. If an element is infinite or NaN, its whole block becomes so.
struct ByteBlocks {
  static constexpr bool kKeepsErrors = false;
  std::size_t block;
  [[nodiscard]] std::size_t bytes(std::size_t count) const {
    return bytes_of_blocks(count, block, [](std::size_t size) { return size; });
  }
  void encode(const float* from, std::size_t count, std::byte* to) const {
    gradient_kernels().pack_bytes(from, count, block, to);
  }
  void decode(const std::byte* from, std::size_t count, float* to) const {
    gradient_kernels().unpack_bytes(from, count, block, to);
  }
  void add(const std::byte* from, std::size_t count, float* to) const {
    gradient_kernels().add_bytes(from, count, block, to);
  }
};

/// Blocks of signs. The mean size as their scale has the least sum of squared errors (Seide et
/// al., "1-bit stochastic gradient descent", Interspeech 2014; on both sides: Tang et al., "1-bit
/// Adam", ICML 2021).
struct SignBlocks {
  static constexpr bool kKeepsErrors = true;
  std::size_t block;
  [[nodiscard]] std::size_t bytes(std::size_t count) const {
    return bytes_of_blocks(count, block, [](std::size_t size) { return (size + 7) / 8; });
  }
  void encode(const float* from, std::size_t count, std::byte* to) const {
    gradient_kernels().pack_signs(from, count, block, to);
  }
  void decode(const std::byte* from, std::size_t count, float* to) const {
    gradient_kernels().unpack_signs(from, count, block, to);
  }
  void add(const std::byte* from, std::size_t count, float* to) const {
    gradient_kernels().add_signs(from, count, block, to);
  }
};

/// Elements that are coded together, so that they stay in the caches between the kernels.
constexpr std::size_t kCodedPart = 8192;
/// The fewest blocks that are coded together. A kernel finds their scales at the same time.
constexpr std::size_t kCodedBlocks = 8;

template <class Quantizer>
class QuantizedReduction final : public CompressedReduction {
 public:
  QuantizedReduction(BucketContext given, Quantizer quantizer)
      : CompressedReduction{std::move(given)}, quantizer_{quantizer} {
    const std::size_t ranks = context().ranks();
    const std::size_t even = (context().count() + ranks - 1) / ranks;
    share_ = (even + quantizer_.block - 1) / quantizer_.block * quantizer_.block;
    slot_ = (quantizer_.bytes(share_) + 3) / 4 * 4;  // scales of the next one are aligned words
    sent_ = context().first->template allocate<std::byte>(ranks * slot_);
    received_ = context().first->template allocate<std::byte>(ranks * slot_);
    const std::size_t own = share_of(context().rank()).size();
    part_ = std::max(kCodedPart / quantizer_.block, kCodedBlocks) * quantizer_.block;
    sum_.resize(std::min(part_, own));
    if constexpr (Quantizer::kKeepsErrors) {
      errors_.resize(context().count());
      sum_errors_.resize(own);
      sent_part_.resize(std::min(part_, share_));
    }
  }
  std::uint64_t sent_bytes() const override { return 2 * (context().ranks() - 1) * slot_; }
  std::vector<KeptElements> kept() override {
    if constexpr (!Quantizer::kKeepsErrors) return {};
    return {{KeptElements::Role::gradients, 0, errors_},
            {KeptElements::Role::sums, first_element(context().rank()), sum_errors_}};
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
  Request advance() override {
    std::byte* const own = received_.data() + context().rank() * slot_;
    const float share = factor() / static_cast<float>(context().ranks());
    // The encoded sum overwrites the received part, which it contains by then.
    for_each_part(share_of(context().rank()).size(), [&](std::size_t first, std::size_t size) {
      const std::span<float> sum = std::span{sum_}.first(size);
      std::ranges::fill(sum, 0.0F);
      const std::size_t offset = quantizer_.bytes(first);
      for (std::size_t rank = 0; rank < context().ranks(); ++rank)
        quantizer_.add(received_.data() + rank * slot_ + offset, size, sum.data());
      gradient_kernels().multiply(Datatype::f32, sum.data(), size, static_cast<double>(share));
      std::span<float> errors;
      if constexpr (Quantizer::kKeepsErrors) errors = std::span{sum_errors_}.subspan(first, size);
      encode_keeping(sum, errors, own + offset);
    });
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
      quantizer_.decode(received_.data() + rank * slot_, share.size(), share.data());
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
  /// Calls a function with the first element of each part and the number of its elements.
  template <class Function>
  void for_each_part(std::size_t count, Function function) {
    for (std::size_t first = 0; first < count; first += part_)
      function(first, std::min(part_, count - first));
  }
  /// Encodes elements with their earlier errors, and keeps the new errors. Errors that are not
  /// finite are not kept: otherwise all later steps would be void.
  void encode_keeping(std::span<float> from, std::span<float> errors, std::byte* to) {
    if (errors.empty()) return quantizer_.encode(from.data(), from.size(), to);
    const GradientKernels& kernels = gradient_kernels();
    for_each_part(from.size(), [&](std::size_t first, std::size_t size) {
      float* const own = from.data() + first;
      float* const left_out = errors.data() + first;
      std::byte* const sent = to + quantizer_.bytes(first);
      kernels.add(left_out, size, own);
      quantizer_.encode(own, size, sent);
      quantizer_.decode(sent, size, sent_part_.data());
      kernels.keep_errors(own, sent_part_.data(), size, left_out);
    });
  }

  Quantizer quantizer_;
  std::size_t share_ = 0;  // elements of a rank; the last ranks may have fewer
  std::size_t slot_ = 0;   // bytes of a share
  Buffer<std::byte> sent_{};
  Buffer<std::byte> received_{};
  std::size_t part_ = 0;             // elements of a part: whole blocks
  std::vector<float> sum_{};         // of a part of the own share
  std::vector<float> sent_part_{};   // a part as others decode it
  std::vector<float> errors_{};      // errors of the own gradients
  std::vector<float> sum_errors_{};  // errors of the sum
};

}  // namespace

std::unique_ptr<BucketReduction> make_quantized(BucketContext context,
                                                const Compression& compression) {
  const auto make = [&](auto quantizer) -> std::unique_ptr<BucketReduction> {
    return std::make_unique<QuantizedReduction<decltype(quantizer)>>(std::move(context), quantizer);
  };
  switch (compression.method) {
    case Compression::Method::f16: return make(ShortElements{.type = Datatype::f16});
    case Compression::Method::bf16: return make(ShortElements{.type = Datatype::bf16});
    case Compression::Method::int8: return make(ByteBlocks{compression.size});
    default: return make(SignBlocks{compression.size});
  }
}

}  // namespace tutti::v0::detail

/// @file
/// Codecs: reductions of gradients that send fewer bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bucket_reduction.hpp"

namespace tutti::v0::detail {

/// GradientOptions::compression, parsed.
struct Compression {
  enum class Method : std::uint8_t { f16, bf16, int8, one_bit, power_sgd, top_k };
  Method method = Method::f16;
  std::size_t size = 0;  ///< Elements of a block, or the rank.
  double share = 0;      ///< The share of elements that top_k sends.
};

/// @param text see GradientOptions::compression. Throws Error{invalid_argument}.
[[nodiscard]] Compression parse_compression(const std::string& text);

/// @param context see BucketContext. @return the reduction that its options choose.
[[nodiscard]] std::unique_ptr<BucketReduction> make_compressed(BucketContext context);
/// @param context see BucketContext. @param compression f16 to one_bit. @return the reduction.
[[nodiscard]] std::unique_ptr<BucketReduction> make_quantized(BucketContext context,
                                                              const Compression& compression);
/// @param context see BucketContext. @param rank of products. @return the reduction.
[[nodiscard]] std::unique_ptr<BucketReduction> make_power_sgd(BucketContext context,
                                                              std::size_t rank);
/// @param context see BucketContext. @param share of elements. @return the reduction.
[[nodiscard]] std::unique_ptr<BucketReduction> make_top_k(BucketContext context, double share);

/// A reduction that computes with the bucket's elements as f32.
class CompressedReduction : public BucketReduction {
 public:
  explicit CompressedReduction(BucketContext context);
  Request begin() final;
  void end() final;

 protected:
  /// Encodes elements, and starts the first collective. @return its handle.
  [[nodiscard]] virtual Request encode() = 0;
  /// Puts the result into elements: the same bits on all ranks.
  virtual void decode() = 0;
  /// @return the bucket's elements.
  [[nodiscard]] std::span<float> elements() noexcept { return elements_; }
  /// @return the factor from the mean of ranks to the result.
  [[nodiscard]] float factor() const noexcept { return factor_; }

 private:
  void copy_in();
  void copy_out();

  std::vector<float> copies_;  // of elements of another type
  std::span<float> elements_;
  float factor_;
};

}  // namespace tutti::v0::detail

/// @file
/// The reduction of a bucket: one collective, or two with other work between them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <tutti/gradient_sync.hpp>

namespace tutti::v0::detail {

class GradientStreams;

/// @param options see GradientOptions. @return whether reduced gradients are inspected.
[[nodiscard]] inline bool is_inspected(const GradientOptions& options) noexcept {
  return options.norm || options.hash || options.check_finite || options.max_norm > 0;
}
/// @param options see GradientOptions. @return whether on_shard waits until ranks have agreed on
/// the findings of all buckets.
[[nodiscard]] inline bool holds_shards(const GradientOptions& options) noexcept {
  return options.on_shard != nullptr && (options.check_finite || options.max_norm > 0);
}

/// The inspection of reduced gradients, each by the rank that owns it.
struct Findings {
  double squares = 0;     ///< Their sum.
  double not_finite = 0;  ///< The number of gradients that are infinite or NaN.
  std::size_t first_not_finite = ~std::size_t{0};  ///< The first of these in the bucket.
  std::uint32_t hash = 0;  ///< The sum of a hash for each block, modulo 2^32.
};

/// A matrix within a bucket.
struct BucketMatrix {
  std::size_t first = 0;  ///< Its first element in the bucket.
  std::size_t rows = 0;   ///< 0 if the parameter is no matrix.
  std::size_t count = 0;  ///< Elements.
};

/// The part of a bucket that one rank owns.
struct Block {
  std::size_t first = 0;  ///< Its first element.
  std::size_t count = 0;  ///< Elements.
};

/// @param count elements of a bucket. @return the block of a rank. As in reduce_scatter, the first
/// ranks have one element more.
[[nodiscard]] inline Block block_of(std::size_t count, int ranks, Rank rank) {
  const auto n = static_cast<std::size_t>(ranks);
  const auto own = static_cast<std::size_t>(rank);
  return {own * (count / n) + std::min(own, count % n), count / n + (own < count % n ? 1 : 0)};
}

/// The arguments of a reduction. All pointees outlive it.
struct BucketContext {
  Communicator* first = nullptr;  ///< For first collectives, which start in the order of buckets.
  /// For second ones, which do too. Ranks need not agree on the order of first and second ones.
  Communicator* second = nullptr;
  std::span<std::byte> memory{};         ///< The bucket's elements.
  Datatype type = Datatype::f32;         ///< The type of the elements.
  bool is_visible = false;               ///< As Call::visible.
  std::vector<BucketMatrix> matrices{};  ///< Its parameters, in the order in which they lie.
  const GradientOptions* options = nullptr;
  GradientStreams* streams = nullptr;  ///< The stream for all work; null: the host reduces.
  bool is_compressed = false;          ///< Whether GradientOptions::compression holds already.
  const Operator* op = nullptr;        ///< Sum or average.
  Findings* findings = nullptr;        ///< The findings of the bucket.
  std::uint64_t hash_seed = 0;         ///< The seed of hashes, different for each bucket and rank.
  /// Called with the own block and its memory, if there is on_shard.
  std::function<void(const Block& block, std::byte* own)> shard{};

  /// @return elements of the bucket.
  [[nodiscard]] std::size_t count() const noexcept { return memory.size() / size_of(type); }
  /// @return ranks.
  [[nodiscard]] std::size_t ranks() const noexcept {
    return static_cast<std::size_t>(first->size());
  }
  /// @return the own rank.
  [[nodiscard]] std::size_t rank() const noexcept {
    return static_cast<std::size_t>(first->rank());
  }
  /// @return the block of the own rank.
  [[nodiscard]] Block own_block() const { return block_of(count(), first->size(), first->rank()); }
  /// @return the memory of the block of the own rank.
  [[nodiscard]] std::byte* own() const { return memory.data() + own_block().first * size_of(type); }
};

/// Elements of f32 that a reduction keeps from step to step.
struct KeptElements {
  enum class Role : std::uint8_t {
    gradients,  ///< Errors of this rank's compressed gradients, to be added to the next ones.
    sums,       ///< Errors of the compressed sums of this rank's share.
    factors     ///< Factors of a matrix, with which the next step begins; equal on all ranks.
  };
  Role role{};
  std::size_t first = 0;        ///< Element of the bucket; for factors, the first of the matrix.
  std::span<float> elements{};  ///< Their values may be replaced between steps.
};

/// Reduces one bucket, once in each step. Its functions are called in the order of declaration, by
/// one thread at a time.
class BucketReduction {
 public:
  explicit BucketReduction(BucketContext context) : context_{std::move(context)} {}
  BucketReduction(const BucketReduction&) = delete;
  BucketReduction& operator=(const BucketReduction&) = delete;
  virtual ~BucketReduction() = default;
  /// Starts the first collective, when the bucket is filled. @return its handle.
  [[nodiscard]] virtual Request begin() = 0;
  /// Inspects the reduced block when the first collective has ended.
  virtual void inspect() {}
  /// Starts the second collective, if there is one. @return its handle.
  [[nodiscard]] virtual Request advance() { return {}; }
  /// Stores the result in the bucket when the second collective has ended.
  virtual void end() {}
  /// @return elements kept from step to step, of kinds that are equal on all ranks.
  [[nodiscard]] virtual std::vector<KeptElements> kept() { return {}; }
  /// @return bytes that this rank sends.
  [[nodiscard]] virtual std::uint64_t sent_bytes() const { return plain_bytes(); }
  /// @return bytes that a rank must send to reduce the bucket without compression.
  [[nodiscard]] std::uint64_t plain_bytes() const noexcept {
    return 2 * context_.memory.size() * (context_.ranks() - 1) / context_.ranks();
  }

 protected:
  [[nodiscard]] const BucketContext& context() const noexcept { return context_; }
  [[nodiscard]] Options call_options() const { return {.timeout = context_.options->timeout}; }

 private:
  BucketContext context_;
};

/// @param context see BucketContext. @return the reduction that the options choose.
[[nodiscard]] std::unique_ptr<BucketReduction> make_reduction(BucketContext context);

/// Calls a function with a span of elements of their type, which is real.
template <class Function>
void with_elements(Datatype type, std::byte* data, std::size_t count, Function function) {
  with_element_type(type, [&]<class T>(const ElementType<T>&) {
    if constexpr (is_any_of(datatype_of<T>(), ElementKind::real))
      function(std::span{reinterpret_cast<T*>(data), count});
  });
}

/// @return an element of any floating-point type, converted exactly.
template <class T>
[[nodiscard]] double exact(const T& element) noexcept {
  if constexpr (std::is_same_v<T, double>) return element;
  else return static_cast<double>(static_cast<float>(element));
}

/// @tparam T any floating-point type. @return the element nearest to a value.
template <class T>
[[nodiscard]] T narrowed(double value) noexcept {
  if constexpr (std::is_same_v<T, double>) return value;
  else return T(static_cast<float>(value));
}

/// @return whether an element is infinite or NaN.
[[nodiscard]] bool has_not_finite(Datatype type, const std::byte* data, std::size_t count);

/// Multiplies elements by a factor.
void scale(Datatype type, std::byte* data, std::size_t count, double factor);

/// @param context of a bucket in memory of the host. @return the reduction that the options choose.
[[nodiscard]] std::unique_ptr<BucketReduction> make_host_reduction(BucketContext context);
/// @param context of a bucket in memory of a GPU. @return a reduction that enqueues all its work
/// when it begins, and whose findings GradientStreams keeps.
[[nodiscard]] std::unique_ptr<BucketReduction> make_streamed_reduction(BucketContext context);

/// @return a collective over the whole bucket, in place. Ranks pass the same kind of memory.
[[nodiscard]] Call whole_call(const BucketContext& context, Collective collective);
/// @param context of a bucket. @return the elements of all ranks' blocks.
[[nodiscard]] std::vector<std::size_t> blocks_of(const BucketContext& context);

/// Adds the findings of the own block, which is reduced.
void look_at_own(const BucketContext& context);

}  // namespace tutti::v0::detail

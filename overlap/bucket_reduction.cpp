#include "bucket_reduction.hpp"

#include <array>
#include <cmath>

#include <tutti/spi/gradient_kernels.hpp>

#include "bytes.hpp"
#include "codec.hpp"

namespace tutti::v0::detail {
namespace {

/// One all_reduce, after which each rank inspects its own block.
class WholeReduction final : public BucketReduction {
 public:
  using BucketReduction::BucketReduction;
  Request begin() override {
    Options options = call_options();
    options.algorithm = context().options->algorithm;
    return context().first->async().run(whole_call(context(), Collective::all_reduce), options);
  }
  void inspect() override {
    if (is_inspected(*context().options)) look_at_own(context());
  }
};

/// A reduce_scatter and an all_gather. Between them only the owner of a block uses it.
class HalvedReduction final : public BucketReduction {
 public:
  explicit HalvedReduction(BucketContext given)
      : BucketReduction{std::move(given)}, blocks_{blocks_of(context())} {}
  Request begin() override {
    Call call = whole_call(context(), Collective::reduce_scatter);
    call.out = context().own();
    call.out_count = context().own_block().count;
    return context().first->async().run(call, counted_options());
  }
  void inspect() override {
    if (is_inspected(*context().options)) look_at_own(context());
  }
  Request advance() override {
    context().shard(context().own_block(), context().own());
    Call call = whole_call(context(), Collective::all_gather);
    call.in = context().own();
    call.in_count = context().own_block().count;
    call.op = nullptr;
    return context().second->async().run(call, counted_options());
  }

 private:
  [[nodiscard]] Options counted_options() const {
    Options options = call_options();
    options.counts = blocks_;
    return options;
  }
  std::vector<std::size_t> blocks_;  // elements by rank
};

template <class T>
using Lanes = std::array<T, kGradientLanes>;

/// Elements that are inspected at a time.
constexpr std::size_t kSeenPart = 4096;
static_assert(kSeenPart % (kGradientLanes * sizeof(std::uint64_t)) == 0, "a part has whole groups");

/// Adds the second half to the first one, until one sum is left.
double sum_of(Lanes<double> sums) noexcept {
  for (std::size_t half = kGradientLanes / 2; half > 0; half /= 2)
    for (std::size_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  return sums[0];
}

/// Counts elements of the own block that are not finite.
void count_not_finite(const BucketContext& context) {
  Findings& findings = *context.findings;
  with_elements(context.type, context.own(), context.own_block().count, [&](auto elements) {
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (std::isfinite(exact(elements[i]))) continue;
      findings.not_finite += 1;
      findings.first_not_finite =
          std::min(findings.first_not_finite, context.own_block().first + i);
    }
  });
}

}  // namespace

Call whole_call(const BucketContext& context, Collective collective) {
  return {.collective = collective,
          .in = context.memory.data(),
          .out = context.memory.data(),
          .in_count = context.count(),
          .out_count = context.count(),
          .type = context.type,
          .element_bytes = size_of(context.type),
          .op = context.op,
          .visible = context.is_visible};
}

std::vector<std::size_t> blocks_of(const BucketContext& context) {
  std::vector<std::size_t> blocks;
  for (Rank rank = 0; rank < context.first->size(); ++rank)
    blocks.push_back(block_of(context.count(), context.first->size(), rank).count);
  return blocks;
}

std::uint64_t hash_in_lanes(std::span<const std::byte> bytes, std::uint64_t seed) noexcept {
  Lanes<std::uint64_t> hashes;
  hashes.fill(seed);
  gradient_kernels().add_hash(bytes.data(), bytes.size(), hashes.data());
  return hash_of(std::as_bytes(std::span{hashes}), seed);
}

void look_at_own(const BucketContext& context) {
  const GradientOptions& options = *context.options;
  const GradientKernels& kernels = gradient_kernels();
  const bool wants_norm = options.norm || options.max_norm > 0;
  const std::uint64_t seed = mixed_bits(context.hash_seed);
  const std::size_t count = context.own_block().count;
  const std::size_t element_bytes = size_of(context.type);
  Lanes<double> squares{};
  Lanes<std::uint64_t> hashes;
  hashes.fill(seed);
  bool are_finite = true;
  // Part by part, so that all kernels except the first find a part in the first-level cache.
  for (std::size_t first = 0; first < count; first += kSeenPart) {
    const std::size_t size = std::min(kSeenPart, count - first);
    const std::byte* const part = context.own() + first * element_bytes;
    if (wants_norm) kernels.add_squares(context.type, part, size, squares.data());
    else if (options.check_finite)
      are_finite = kernels.are_finite(context.type, part, size) && are_finite;
    if (options.hash) kernels.add_hash(part, size * element_bytes, hashes.data());
  }
  Findings& findings = *context.findings;
  if (options.hash)
    findings.hash +=
        static_cast<std::uint32_t>(mixed_bits(hash_of(std::as_bytes(std::span{hashes}), seed)));
  const double sum = sum_of(squares);
  findings.squares += sum;
  if (options.check_finite && !(are_finite && std::isfinite(sum))) count_not_finite(context);
}

bool has_not_finite(Datatype type, const std::byte* data, std::size_t count) {
  return !gradient_kernels().are_finite(type, data, count);
}

void scale(Datatype type, std::byte* data, std::size_t count, double factor) {
  gradient_kernels().multiply(type, data, count, factor);
}

std::unique_ptr<BucketReduction> make_reduction(BucketContext context) {
  return context.streams == nullptr ? make_host_reduction(std::move(context))
                                    : make_streamed_reduction(std::move(context));
}

std::unique_ptr<BucketReduction> make_host_reduction(BucketContext context) {
  if (context.is_compressed) return make_compressed(std::move(context));
  if (context.shard) return std::make_unique<HalvedReduction>(std::move(context));
  return std::make_unique<WholeReduction>(std::move(context));
}

}  // namespace tutti::v0::detail

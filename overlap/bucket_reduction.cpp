#include "bucket_reduction.hpp"

#include <cmath>
#include <type_traits>

#include "bytes.hpp"
#include "codec.hpp"

namespace tutti::inline v0::detail {
namespace {

/// One all_reduce.
class WholeReduction final : public BucketReduction {
 public:
  using BucketReduction::BucketReduction;
  Request begin() override {
    Options options = call_options();
    options.algorithm = context().options->algorithm;
    return context().first->async().run(whole_call(context(), Collective::all_reduce), options);
  }
};

/// A reduce_scatter and an all_gather; each rank looks at its own block between them.
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
  void inspect() override { look_at_own(context()); }
  Request go_on() override {
    if (context().shard) context().shard(context().own_block(), context().own());
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

void look_at_own(const BucketContext& context) {
  Findings& findings = *context.findings;
  const std::size_t bytes = context.own_block().count * size_of(context.type);
  if (context.options->hash)
    findings.hash += static_cast<std::uint32_t>(
        mixed_bits(hash_of({context.own(), bytes}, mixed_bits(context.place))));
  with_elements(context.type, context.own(), context.own_block().count, [&](auto elements) {
    double squares = 0;
    for (const auto& element : elements) squares += exact(element) * exact(element);
    findings.squares += squares;
    if (std::isfinite(squares)) return;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (std::isfinite(exact(elements[i]))) continue;
      findings.not_finite += 1;
      findings.first_not_finite =
          std::min(findings.first_not_finite, context.own_block().first + i);
    }
  });
}

bool has_not_finite(Datatype type, std::byte* data, std::size_t count) {
  bool is_found = false;
  with_elements(type, data, count, [&](auto elements) {
    // Without a branch, so that compilers vectorise it: 0 times what is finite is 0, else NaN.
    using Element = typename decltype(elements)::value_type;
    using Number = std::conditional_t<std::is_same_v<Element, double>, double, float>;
    unsigned others = 0;
    for (const Element& element : elements) {
      const auto zero = static_cast<Number>(element) * Number{0};
      others += zero != zero ? 1U : 0U;
    }
    is_found = others != 0;
  });
  return is_found;
}

void scale(Datatype type, std::byte* data, std::size_t count, double factor) {
  with_elements(type, data, count, [factor](auto elements) {
    using Element = typename decltype(elements)::value_type;
    for (auto& element : elements) element = narrowed<Element>(exact(element) * factor);
  });
}

std::unique_ptr<BucketReduction> make_reduction(BucketContext context) {
  return context.streams == nullptr ? make_host_reduction(std::move(context))
                                    : make_streamed_reduction(std::move(context));
}

std::unique_ptr<BucketReduction> make_host_reduction(BucketContext context) {
  if (context.is_compressed) return make_compressed(std::move(context));
  if (has_midpoint(*context.options)) return std::make_unique<HalvedReduction>(std::move(context));
  return std::make_unique<WholeReduction>(std::move(context));
}

}  // namespace tutti::inline v0::detail

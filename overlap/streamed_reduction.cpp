// Reductions of buckets in memory of a GPU. All work on a bucket is enqueued at once, so the host
// waits for none of it.
#include <utility>

#include "bucket_reduction.hpp"
#include "bytes.hpp"
#include "codec.hpp"
#include "gradient_streams.hpp"

namespace tutti::v0::detail {
namespace {

Options stream_options(const BucketContext& context, const std::string& algorithm) {
  Options options{.timeout = context.options->timeout};
  options.algorithm = algorithm;
  options.stream = context.streams->own();
  return options;
}

/// Enqueues a reduce_scatter and an all_gather. @param algorithm of the first; empty: chosen.
/// @param between called when the first is enqueued.
template <class Function>
void enqueue_halves(const BucketContext& context, const std::string& algorithm, Function between) {
  const std::vector<std::size_t> blocks = blocks_of(context);
  Options options = stream_options(context, algorithm);
  // A library's own calls have equal blocks only.
  if (context.count() % context.ranks() != 0) options.counts = blocks;
  Call call = whole_call(context, Collective::reduce_scatter);
  call.out = context.own();
  call.out_count = context.own_block().count;
  context.first->run(call, options);
  between();
  options.algorithm = {};
  call = whole_call(context, Collective::all_gather);
  call.in = context.own();
  call.in_count = context.own_block().count;
  call.op = nullptr;
  context.first->run(call, options);
}

/// Inspects the own block, which is reduced. The findings of all ranks are added up later.
void enqueue_inspection(const BucketContext& context) {
  if (!is_inspected(*context.options)) return;
  context.streams->inspect(context.type, context.own(), context.own_block().count,
                           context.options->hash, mixed_bits(context.hash_seed));
}

class StreamedReduction final : public BucketReduction {
 public:
  using BucketReduction::BucketReduction;
  Request begin() override {
    if (context().shard) {
      enqueue_halves(context(), {}, [this] {
        enqueue_inspection(context());
        context().shard(context().own_block(), context().own());
      });
    } else {
      context().first->run(whole_call(context(), Collective::all_reduce),
                           stream_options(context(), context().options->algorithm));
      enqueue_inspection(context());
    }
    return {};
  }
};

/// Sends elements as shorter ones. Each rank adds up its block in f32 and rounds once, so there are
/// two roundings in all.
class ShortReduction final : public BucketReduction {
 public:
  ShortReduction(BucketContext given, Datatype type)
      : BucketReduction{std::move(given)}, short_{context()} {
    const std::size_t bytes = context().count() * size_of(type);
    if (bytes > 0) memory_ = context().streams->allocate_scratch(bytes);
    short_.type = type;
    short_.memory = {memory_.get(), bytes};
    short_.is_visible = false;
  }
  Request begin() override {
    convert(context(), short_);
    // The algorithm direct adds all operands at once, and so rounds once.
    enqueue_halves(short_, "direct", [] {});
    convert(short_, context());
    enqueue_inspection(context());
    return {};
  }
  std::uint64_t sent_bytes() const override {
    return plain_bytes() * size_of(short_.type) / size_of(context().type);
  }

 private:
  static void convert(const BucketContext& from, const BucketContext& to) {
    from.streams->convert({.from_type = from.type,
                           .to_type = to.type,
                           .count = from.count(),
                           .from = from.memory.data(),
                           .to = to.memory.data()});
  }

  std::shared_ptr<std::byte> memory_{};
  BucketContext short_;  // the bucket as it travels
};

}  // namespace

std::unique_ptr<BucketReduction> make_streamed_reduction(BucketContext context) {
  if (!context.is_compressed) return std::make_unique<StreamedReduction>(std::move(context));
  const Compression::Method method = parse_compression(context.options->compression).method;
  const Datatype type = method == Compression::Method::f16 ? Datatype::f16 : Datatype::bf16;
  return std::make_unique<ShortReduction>(std::move(context), type);
}

}  // namespace tutti::v0::detail

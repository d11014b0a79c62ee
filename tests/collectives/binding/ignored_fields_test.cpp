// Ignored fields of a call may have any value. Fields that could be misunderstood are rejected.
#include <limits>

#include <tutti/batch.hpp>

#include "tests/collectives/rows.hpp"

namespace tutti::harness {
namespace {

/// Values of ignored fields.
class Nonsense {
 public:
  explicit Nonsense(std::uint64_t seed) : random_{seed} {}
  [[nodiscard]] bool coin() { return random_.below(2) == 0; }
  [[nodiscard]] std::size_t below(std::size_t bound) { return random_.below(bound); }
  /// An address at which nothing is.
  template <class T>
  [[nodiscard]] T* pointer() {
    return reinterpret_cast<T*>(8 + 8 * below(400));
  }
  [[nodiscard]] std::size_t count() {
    return coin() ? below(100) : std::numeric_limits<std::size_t>::max() - below(100);
  }
  [[nodiscard]] int number() { return static_cast<int>(below(1 << 20)) - (1 << 19); }
  [[nodiscard]] std::uint8_t byte() { return static_cast<std::uint8_t>(below(256)); }
  [[nodiscard]] Counts counts(std::size_t size) { return {pointer<const std::size_t>(), size}; }

 private:
  sim::Random random_;
};

/// Fills what a collective does not read on a rank.
Call with_nonsense(Call call, Rank self, Nonsense& any) {
  const Collective what = call.collective;
  const bool is_root = self == call.root;
  const bool is_barrier = what == Collective::barrier;
  const bool scatters = what == Collective::scatter;
  const bool reads = !is_barrier && (is_root || !(scatters || what == Collective::broadcast));
  const bool writes = !is_barrier && (what != Collective::exscan || self > 0) &&
                      (is_root || !(what == Collective::reduce || what == Collective::gather));
  if (!reads) {
    // In place of nothing, too.
    call.in = any.coin() ? any.pointer<const std::byte>() : call.out;
    if (what != Collective::broadcast) call.in_count = any.count();
  }
  if (!writes) {
    call.out = any.coin() || call.in == nullptr
                   ? any.pointer<std::byte>()
                   : static_cast<std::byte*>(const_cast<void*>(call.in)) + any.below(2);
    call.out_count = any.count();
  }
  if (!is_reduction(what)) {
    call.op = any.pointer<const Operator>();
    call.is_bool = any.coin();
  }
  if (call.type != Datatype::u8) call.is_bool = any.coin();
  if (!is_rooted(what)) call.root = any.number();
  if (!call.own_counts || (scatters && !is_root) || what == Collective::gather)
    call.in_counts = any.counts(any.below(5));
  if (!call.own_counts || (what == Collective::gather && !is_root) || scatters)
    call.out_counts = any.counts(any.below(5));
  if (is_barrier) {
    call.type = Datatype{any.byte()};
    call.element_bytes = any.count();
  }
  call.to = any.number();
  call.from = any.coin() ? any_rank : any.number();
  call.tag = any.number();
  return call;
}

/// Fills what a message between two ranks does not read.
Call message_with_nonsense(Call call, Nonsense& any) {
  call.collective = Collective{any.byte()};
  call.root = any.number();
  call.op = any.pointer<const Operator>();
  call.is_bool = any.coin();
  call.in_counts = any.counts(any.below(5));
  call.out_counts = any.counts(any.below(5));
  if (call.point_to_point == PointToPoint::recv) {
    call.in = any.pointer<const std::byte>();
    call.in_count = any.count();
    call.to = any.number();
  }
  if (call.point_to_point == PointToPoint::send) {
    call.out = any.pointer<std::byte>();
    call.out_count = any.count();
    call.from = any.coin() ? any_rank : any.number();
  }
  return call;
}

/// A handle of a call that runs in one of the ways that there are.
Task start(Communicator& world, const Call& call, const Options& options, std::size_t style) {
  static_cast<void>(world.explain(call, options));
  if (style == 0) return task_of(world.rank(), world.async().run(call, options));
  if (style == 1) {
    Request request;
    batch([&] { request = world.async().run(call, options); });
    return task_of(world.rank(), std::move(request));
  }
  auto plan = std::make_shared<Plan>(world.plan().run(call, options));
  plan->start();
  return {.rank = world.rank(), .test = [plan] { return plan->test(); }};
}

TEST(IgnoredFields, MayHoldAnythingInEveryCollective) {
  for (const int size : {1, 2, 3, 5}) {
    Nonsense any{static_cast<std::uint64_t>(size)};
    World world{size, static_cast<std::uint64_t>(size)};
    for (const Row& row : rows_of({size}))
      for (const CountsAre known : {CountsAre::told_if_unequal, CountsAre::own}) {
        const bool has_own = row.collective == Collective::scatter ||
                             row.collective == Collective::gather ||
                             row.collective == Collective::all_to_all;
        if (known == CountsAre::own && (!has_own || !row.traits.own_counts_only)) continue;
        Experiment experiment{{.collective = row.collective,
                               .algorithm = row.algorithm,
                               .size = size,
                               .counts = cut(any.below(50), blocks_of(row.collective, size)),
                               .root = static_cast<Rank>(any.below(static_cast<std::size_t>(size))),
                               .in_place = any.coin(),
                               .model = model_at(row.collective, any.below(all_models().size())),
                               .salt = any.below(100),
                               .counts_are = known}};
        Options options = experiment.options();
        options.visible = any.coin();
        for (int again = 0; again < 2; ++again) {  // from the cache, too
          std::vector<Task> tasks;
          const std::size_t style = any.below(3);
          for (Rank rank = 0; rank < size; ++rank) {
            const Call call = with_nonsense(experiment.call(rank), rank, any);
            if (!is_reduction(row.collective))
              options.determinism = any.coin() ? Determinism::fast : Determinism::layout_invariant;
            tasks.push_back(start(world[rank], call, options, style));
          }
          expect_success(world, tasks);
          for (Rank rank = 0; rank < size; ++rank) {
            EXPECT_EQ(experiment.problem(rank).value_or(""), "") << experiment.what().describe();
            experiment.restore(rank);
          }
        }
      }
  }
}

TEST(IgnoredFields, MayHoldAnythingInMessagesOfTwoRanks) {
  Nonsense any{7};
  World world{2};
  for (int turn = 0; turn < 200; ++turn) {
    std::vector<int> sent(any.below(100), turn), got(sent.size());
    const int tag = static_cast<int>(any.below(100));
    const Options options{.visible = any.coin(), .determinism = Determinism::size_invariant};
    std::vector<Task> tasks;
    tasks.push_back(start(world[0], message_with_nonsense(call::send(sent, 1, tag), any), options,
                          any.below(3)));
    tasks.push_back(start(world[1], message_with_nonsense(call::recv(got, 0, tag), any), options,
                          any.below(3)));
    expect_success(world, tasks);
    EXPECT_EQ(got, sent);
  }
}

TEST(IgnoredFields, ThatWouldBeMisunderstoodAreRefused) {
  const std::vector<std::size_t> counts{3, 4, 5};
  const auto refusal = [](Communicator& own, const Call& call, const Options& options) {
    std::string text;
    for (const auto& error :
         {own.try_().start(call, options).error(), own.try_().plan(call, options).error(),
          detail::attempt([&] { return own.explain(call, options); }).error()}) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
      EXPECT_TRUE(text.empty() || text == error.what()) << error.what();
      text = error.what();
    }
    return text;
  };
  for (const std::size_t size : {1U, 3U}) {
    World world{static_cast<int>(size)};
    Communicator& own = world[0];
    const Counts some = Counts{counts}.first(size);
    Nonsense any{size};
    Call barrier = call::barrier();
    const std::string no_elements = "barrier: a barrier has no elements; give no counts";
    EXPECT_EQ(refusal(own, barrier, {.counts = some}), no_elements);
    EXPECT_EQ(refusal(own, barrier, {.counts = any.counts(size)}), no_elements);
    EXPECT_TRUE(own.try_().plan(barrier)) << "a barrier is in the cache";
    EXPECT_EQ(refusal(own, barrier, {.counts = some}), no_elements);
    barrier.own_counts = true;
    barrier.in_counts = any.counts(2);
    EXPECT_EQ(refusal(own, barrier, {}), no_elements);

    std::vector<int> data(4);
    Call message = call::send(data, 0, 0);
    const std::string one_block = "send: a message is one block; give no counts";
    EXPECT_EQ(refusal(own, message, {.counts = any.counts(size)}), one_block);
    EXPECT_NE(
        refusal(own, message, {.determinism = Determinism{9}}).find("determinism 9 does not exist"),
        std::string::npos);
    message.own_counts = true;
    EXPECT_EQ(refusal(own, message, {}), one_block);

    Call reduction = call::all_reduce(std::span<const int>{data}, data, sum);
    reduction.own_counts = true;
    reduction.in_counts = any.counts(size);
    EXPECT_EQ(refusal(own, reduction, {}),
              "all_reduce: counts must be known to all ranks; give Options::counts");
    if (size == 1) continue;
    reduction.own_counts = false;
    EXPECT_EQ(refusal(own, reduction, {.counts = any.counts(size)}),
              "all_reduce: counts per block are given, but its vector is one block");
    EXPECT_EQ(world.cluster().transfers(), 0U);
  }
}

TEST(IgnoredFields, OfAReceiveFromAnyRankAreToldBeforeAMessageComes) {
  World world{2};
  std::vector<int> data(4);
  const auto refused = world[0].try_().recv(data, any_rank, 0, {.algorithm = "ring"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::invalid_argument) << refused.error().what();
}

}  // namespace
}  // namespace tutti::harness

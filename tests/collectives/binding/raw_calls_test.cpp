// The documentation's rules for raw calls, for NaN, and for a reduce_scatter in place.
#include <cmath>
#include <limits>

#include "tests/collectives/binding/typed_calls.hpp"

namespace tutti::harness {
namespace {

Call raw(Collective collective, const void* in, void* out) {
  return {.collective = collective,
          .in = in,
          .out = out,
          .in_count = in == nullptr ? 0 : kCount,
          .out_count = out == nullptr ? 0 : kCount,
          .type = Datatype::i32,
          .element_bytes = sizeof(int),
          .root = kRoot,
          .op = is_reduction(collective) ? &kOperator : nullptr};
}

TEST(RawCalls, NeedNoBufferWhereARankHasNone) {
  on_all_ranks([](Communicator& c, Rank rank) {
    const bool is_root = rank == kRoot;
    const Vector in = part(rank, 0, kCount);
    Vector out = blank();
    c.run(raw(Collective::reduce, in.data(), is_root ? out.data() : nullptr));
    EXPECT_EQ(out, is_root ? maxima(kSize, 0, kCount) : blank());

    out = is_root ? in : blank();
    Call broadcast = raw(Collective::broadcast, is_root ? in.data() : nullptr, out.data());
    broadcast.in_count = kCount;  // it says how much comes, also where there is no input
    c.run(broadcast);
    EXPECT_EQ(out, part(kRoot, 0, kCount));

    const Vector all = part(rank, 0, kSize * kCount);
    Call scatter = raw(Collective::scatter, is_root ? all.data() : nullptr, out.data());
    if (is_root) scatter.in_count = all.size();
    c.run(scatter);
    EXPECT_EQ(out, part(kRoot, static_cast<std::size_t>(rank) * kCount, kCount));

    Vector whole = blank(kSize * kCount);
    Call gather = raw(Collective::gather, in.data(), is_root ? whole.data() : nullptr);
    if (is_root) gather.out_count = whole.size();
    c.run(gather);
    EXPECT_EQ(whole, is_root ? together({kCount, kCount, kCount}) : blank(kSize * kCount));

    out = blank();
    c.run(raw(Collective::exscan, in.data(), rank == 0 ? nullptr : out.data()));
    EXPECT_EQ(out, rank == 0 ? blank() : maxima(rank, 0, kCount));
    c.run(raw(Collective::barrier, nullptr, nullptr));
  });
}

TEST(RawCalls, NeedTheCountOfABroadcastOnEveryRank) {
  on_all_ranks([](Communicator& c, Rank) {
    Vector out = blank();
    const auto refused = c.try_().run(raw(Collective::broadcast, nullptr, out.data()));
    if (c.rank() == kRoot) return;
    ASSERT_FALSE(refused);
    EXPECT_NE(std::string{refused.error().what()}.find("expected 0"), std::string::npos);
  });
}

TEST(Reductions, GiveNaNOnEveryRankWhereverItWas) {
  on_all_ranks([](Communicator& c, Rank rank) {
    for (const char* const algorithm : {"ring", "recursive_doubling", "rabenseifner", "direct"})
      for (Rank who = 0; who < kSize; ++who)
        for (const Operator& op : {min, max}) {
          std::vector<double> x(kCount, rank);
          if (rank == who) x[1] = std::numeric_limits<double>::quiet_NaN();
          c.all_reduce(x, op, {.algorithm = algorithm});
          EXPECT_TRUE(std::isnan(x[1])) << algorithm;
          EXPECT_EQ(x[0], op.kind() == OperatorKind::min ? 0 : kSize - 1) << algorithm;
        }
  });
}

TEST(ReduceScatter, InPlaceLeavesItsResultInTheOwnBlock) {
  on_all_ranks([](Communicator& c, Rank rank) {
    const std::size_t own = static_cast<std::size_t>(rank) * kCount;
    Vector vector = part(rank, 0, kSize * kCount);
    c.reduce_scatter(std::span<const int>{vector}, std::span{vector}.subspan(own, kCount),
                     kOperator);
    Vector wanted = part(rank, 0, kSize * kCount);
    std::ranges::copy(maxima(kSize, own, kCount), wanted.begin() + rank * int{kCount});
    EXPECT_EQ(vector, wanted) << "the other blocks are left alone";
  });
  on_all_ranks([](Communicator& c, Rank rank) {  // MPI_IN_PLACE puts it at the start
    if (rank == 0) return;
    Vector vector(kSize * kCount);
    const auto refused =
        c.try_().reduce_scatter(std::span<const int>{vector}, std::span{vector}.first(kCount));
    ASSERT_FALSE(refused);
    EXPECT_NE(std::string{refused.error().what()}.find(
                  "in place the output is the own block of the input"),
              std::string::npos)
        << refused.error().what();
  });
}

}  // namespace
}  // namespace tutti::harness

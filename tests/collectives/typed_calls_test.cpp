// Collectives of equal blocks as typed calls, each in its four styles.
#include "typed_calls.hpp"

namespace tutti::harness {
namespace {

TEST(TypedCalls, AllReduce) {
  on_all_ranks([](Communicator& c, Rank rank) {
    const Vector in = part(rank, 0, kCount);
    const Vector wanted = maxima(kSize, 0, kCount);
    check(
        blank(), wanted,
        [&](auto& out, auto& options) { c.all_reduce(in, out, kOperator, options); },
        [&](auto& out, auto& options) { return c.async().all_reduce(in, out, kOperator, options); },
        [&](auto& out, auto& options) { return c.plan().all_reduce(in, out, kOperator, options); },
        [&](auto& out, auto& options) { return c.try_().all_reduce(in, out, kOperator, options); });
    check(
        in, wanted, [&](auto& inout, auto& options) { c.all_reduce(inout, kOperator, options); },
        [&](auto& inout, auto& options) { return c.async().all_reduce(inout, kOperator, options); },
        [&](auto& inout, auto& options) { return c.plan().all_reduce(inout, kOperator, options); },
        [&](auto& inout, auto& options) { return c.try_().all_reduce(inout, kOperator, options); });
  });
}

TEST(TypedCalls, Reduce) {
  on_all_ranks([](Communicator& c, Rank rank) {
    const Vector in = part(rank, 0, kCount);
    check(
        blank(), rank == kRoot ? maxima(kSize, 0, kCount) : blank(),
        [&](auto& out, auto& options) { c.reduce(in, out, kOperator, kRoot, options); },
        [&](auto& out, auto& options) {
          return c.async().reduce(in, out, kOperator, kRoot, options);
        },
        [&](auto& out, auto& options) {
          return c.plan().reduce(in, out, kOperator, kRoot, options);
        },
        [&](auto& out, auto& options) {
          return c.try_().reduce(in, out, kOperator, kRoot, options);
        });
  });
}

TEST(TypedCalls, Broadcast) {
  on_all_ranks([](Communicator& c, Rank rank) {
    check(
        part(rank, 0, kCount), part(kRoot, 0, kCount),
        [&](auto& inout, auto& options) { c.broadcast(inout, kRoot, options); },
        [&](auto& inout, auto& options) { return c.async().broadcast(inout, kRoot, options); },
        [&](auto& inout, auto& options) { return c.plan().broadcast(inout, kRoot, options); },
        [&](auto& inout, auto& options) { return c.try_().broadcast(inout, kRoot, options); });
  });
}

TEST(TypedCalls, Scatter) {
  on_all_ranks([](Communicator& c, Rank rank) {
    const Vector in = part(rank, 0, kSize * kCount);
    check(
        blank(), part(kRoot, static_cast<std::size_t>(rank) * kCount, kCount),
        [&](auto& out, auto& options) { c.scatter(in, out, kRoot, options); },
        [&](auto& out, auto& options) { return c.async().scatter(in, out, kRoot, options); },
        [&](auto& out, auto& options) { return c.plan().scatter(in, out, kRoot, options); },
        [&](auto& out, auto& options) { return c.try_().scatter(in, out, kRoot, options); });
  });
}

TEST(TypedCalls, Gather) {
  on_all_ranks([](Communicator& c, Rank rank) {
    const Vector in = part(rank, 0, kCount);
    const Vector initial = blank(kSize * kCount);
    check(
        initial, rank == kRoot ? together({kCount, kCount, kCount}) : initial,
        [&](auto& out, auto& options) { c.gather(in, out, kRoot, options); },
        [&](auto& out, auto& options) { return c.async().gather(in, out, kRoot, options); },
        [&](auto& out, auto& options) { return c.plan().gather(in, out, kRoot, options); },
        [&](auto& out, auto& options) { return c.try_().gather(in, out, kRoot, options); });
  });
}

TEST(TypedCalls, AllGather) {
  on_all_ranks([](Communicator& c, Rank rank) {
    const Vector in = part(rank, 0, kCount);
    check(
        blank(kSize * kCount), together({kCount, kCount, kCount}),
        [&](auto& out, auto& options) { c.all_gather(in, out, options); },
        [&](auto& out, auto& options) { return c.async().all_gather(in, out, options); },
        [&](auto& out, auto& options) { return c.plan().all_gather(in, out, options); },
        [&](auto& out, auto& options) { return c.try_().all_gather(in, out, options); });
  });
}

TEST(TypedCalls, ReduceScatter) {
  on_all_ranks([](Communicator& c, Rank rank) {
    const Vector in = part(rank, 0, kSize * kCount);
    check(
        blank(), maxima(kSize, static_cast<std::size_t>(rank) * kCount, kCount),
        [&](auto& out, auto& options) { c.reduce_scatter(in, out, kOperator, options); },
        [&](auto& out, auto& options) {
          return c.async().reduce_scatter(in, out, kOperator, options);
        },
        [&](auto& out, auto& options) {
          return c.plan().reduce_scatter(in, out, kOperator, options);
        },
        [&](auto& out, auto& options) {
          return c.try_().reduce_scatter(in, out, kOperator, options);
        });
  });
}

TEST(TypedCalls, AllToAll) {
  on_all_ranks([](Communicator& c, Rank rank) {
    const Vector in = part(rank, 0, kSize * kCount);
    Vector wanted;
    for (Rank from = 0; from < kSize; ++from)
      for (const int element : part(from, static_cast<std::size_t>(rank) * kCount, kCount))
        wanted.push_back(element);
    check(
        blank(kSize * kCount), wanted,
        [&](auto& out, auto& options) { c.all_to_all(in, out, options); },
        [&](auto& out, auto& options) { return c.async().all_to_all(in, out, options); },
        [&](auto& out, auto& options) { return c.plan().all_to_all(in, out, options); },
        [&](auto& out, auto& options) { return c.try_().all_to_all(in, out, options); });
  });
}

TEST(TypedCalls, Scan) {
  on_all_ranks([](Communicator& c, Rank rank) {
    const Vector in = part(rank, 0, kCount);
    const Vector wanted = maxima(rank + 1, 0, kCount);
    check(
        blank(), wanted, [&](auto& out, auto& options) { c.scan(in, out, kOperator, options); },
        [&](auto& out, auto& options) { return c.async().scan(in, out, kOperator, options); },
        [&](auto& out, auto& options) { return c.plan().scan(in, out, kOperator, options); },
        [&](auto& out, auto& options) { return c.try_().scan(in, out, kOperator, options); });
    check(
        in, wanted, [&](auto& inout, auto& options) { c.scan(inout, kOperator, options); },
        [&](auto& inout, auto& options) { return c.async().scan(inout, kOperator, options); },
        [&](auto& inout, auto& options) { return c.plan().scan(inout, kOperator, options); },
        [&](auto& inout, auto& options) { return c.try_().scan(inout, kOperator, options); });
  });
}

TEST(TypedCalls, Exscan) {
  on_all_ranks([](Communicator& c, Rank rank) {
    const Vector in = part(rank, 0, kCount);
    const Vector before = maxima(rank, 0, kCount);
    check(
        blank(), rank == 0 ? blank() : before,
        [&](auto& out, auto& options) { c.exscan(in, out, kOperator, options); },
        [&](auto& out, auto& options) { return c.async().exscan(in, out, kOperator, options); },
        [&](auto& out, auto& options) { return c.plan().exscan(in, out, kOperator, options); },
        [&](auto& out, auto& options) { return c.try_().exscan(in, out, kOperator, options); });
    check(
        in, rank == 0 ? in : before,
        [&](auto& inout, auto& options) { c.exscan(inout, kOperator, options); },
        [&](auto& inout, auto& options) { return c.async().exscan(inout, kOperator, options); },
        [&](auto& inout, auto& options) { return c.plan().exscan(inout, kOperator, options); },
        [&](auto& inout, auto& options) { return c.try_().exscan(inout, kOperator, options); });
  });
}

}  // namespace
}  // namespace tutti::harness

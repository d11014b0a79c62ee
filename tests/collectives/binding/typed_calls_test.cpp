// Collectives of equal blocks as typed calls, each in its four styles.
#include "tests/collectives/binding/typed_calls.hpp"

namespace tutti::harness {
namespace {

TEST(TypedCalls, AllReduce) {
  on_all_ranks([](Communicator& c, Rank rank) {
    const Vector in = part(rank, 0, kCount);
    const Vector wanted = maxima(kSize, 0, kCount);
    check(c, blank(), wanted, [&](auto& style, auto& out, auto& options) {
      return style.all_reduce(in, out, kOperator, options);
    });
    check(c, in, wanted, [&](auto& style, auto& inout, auto& options) {
      return style.all_reduce(inout, kOperator, options);
    });
  });
}

TEST(TypedCalls, Reduce) {
  on_all_ranks([](Communicator& c, Rank rank) {
    const Vector in = part(rank, 0, kCount);
    check(c, blank(), rank == kRoot ? maxima(kSize, 0, kCount) : blank(),
          [&](auto& style, auto& out, auto& options) {
            return style.reduce(in, out, kOperator, kRoot, options);
          });
  });
}

TEST(TypedCalls, Broadcast) {
  on_all_ranks([](Communicator& c, Rank rank) {
    check(c, part(rank, 0, kCount), part(kRoot, 0, kCount),
          [&](auto& style, auto& inout, auto& options) {
            return style.broadcast(inout, kRoot, options);
          });
  });
}

TEST(TypedCalls, Scatter) {
  on_all_ranks([](Communicator& c, Rank rank) {
    const Vector in = part(rank, 0, kSize * kCount);
    check(c, blank(), part(kRoot, static_cast<std::size_t>(rank) * kCount, kCount),
          [&](auto& style, auto& out, auto& options) {
            return style.scatter(in, out, kRoot, options);
          });
  });
}

TEST(TypedCalls, Gather) {
  on_all_ranks([](Communicator& c, Rank rank) {
    const Vector in = part(rank, 0, kCount);
    const Vector initial = blank(kSize * kCount);
    check(c, initial, rank == kRoot ? together({kCount, kCount, kCount}) : initial,
          [&](auto& style, auto& out, auto& options) {
            return style.gather(in, out, kRoot, options);
          });
  });
}

TEST(TypedCalls, AllGather) {
  on_all_ranks([](Communicator& c, Rank rank) {
    const Vector in = part(rank, 0, kCount);
    check(
        c, blank(kSize * kCount), together({kCount, kCount, kCount}),
        [&](auto& style, auto& out, auto& options) { return style.all_gather(in, out, options); });
  });
}

TEST(TypedCalls, ReduceScatter) {
  on_all_ranks([](Communicator& c, Rank rank) {
    const Vector in = part(rank, 0, kSize * kCount);
    check(c, blank(), maxima(kSize, static_cast<std::size_t>(rank) * kCount, kCount),
          [&](auto& style, auto& out, auto& options) {
            return style.reduce_scatter(in, out, kOperator, options);
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
    check(c, blank(kSize * kCount), wanted, [&](auto& style, auto& out, auto& options) {
      return style.all_to_all(in, out, options);
    });
  });
}

TEST(TypedCalls, Scan) {
  on_all_ranks([](Communicator& c, Rank rank) {
    const Vector in = part(rank, 0, kCount);
    const Vector wanted = maxima(rank + 1, 0, kCount);
    check(c, blank(), wanted, [&](auto& style, auto& out, auto& options) {
      return style.scan(in, out, kOperator, options);
    });
    check(c, in, wanted, [&](auto& style, auto& inout, auto& options) {
      return style.scan(inout, kOperator, options);
    });
  });
}

TEST(TypedCalls, Exscan) {
  on_all_ranks([](Communicator& c, Rank rank) {
    const Vector in = part(rank, 0, kCount);
    const Vector before = maxima(rank, 0, kCount);
    check(c, blank(), rank == 0 ? blank() : before, [&](auto& style, auto& out, auto& options) {
      return style.exscan(in, out, kOperator, options);
    });
    check(c, in, rank == 0 ? in : before, [&](auto& style, auto& inout, auto& options) {
      return style.exscan(inout, kOperator, options);
    });
  });
}

}  // namespace
}  // namespace tutti::harness

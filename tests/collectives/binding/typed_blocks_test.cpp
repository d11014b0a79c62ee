// Collectives of unequal blocks, messages, and barriers as typed calls, each in its four styles.
#include <atomic>

#include "tests/collectives/binding/typed_calls.hpp"

namespace tutti::harness {
namespace {

const Sizes kCounts{4, 1, 3};          // of the ranks' blocks, where they differ
constexpr std::size_t kAllCounts = 8;  // of all of them

/// @return where the block of a rank begins.
std::size_t begin_of(const Sizes& counts, Rank rank) {
  std::size_t begin = 0;
  for (Rank before = 0; before < rank; ++before) begin += counts[static_cast<std::size_t>(before)];
  return begin;
}

/// @return how many elements a rank sends to another: another number for every pair.
std::size_t exchanged(Rank from, Rank to) {
  return static_cast<std::size_t>(1 + kSize * from + to);
}

TEST(TypedBlocks, Scatterv) {
  on_all_ranks([](Communicator& c, Rank rank) {
    const Vector in = part(rank, 0, kAllCounts);
    const std::size_t own = kCounts[static_cast<std::size_t>(rank)];
    check(c, blank(own), part(kRoot, begin_of(kCounts, rank), own),
          [&](auto& style, auto& out, auto& options) {
            return style.scatterv(in, kCounts, out, kRoot, options);
          });
  });
}

TEST(TypedBlocks, Gatherv) {
  on_all_ranks([](Communicator& c, Rank rank) {
    const Vector in = part(rank, 0, kCounts[static_cast<std::size_t>(rank)]);
    check(c, blank(kAllCounts), rank == kRoot ? together(kCounts) : blank(kAllCounts),
          [&](auto& style, auto& out, auto& options) {
            return style.gatherv(in, out, kCounts, kRoot, options);
          });
  });
}

TEST(TypedBlocks, AllGatherv) {
  on_all_ranks([](Communicator& c, Rank rank) {
    const Vector in = part(rank, 0, kCounts[static_cast<std::size_t>(rank)]);
    check(c, blank(kAllCounts), together(kCounts), [&](auto& style, auto& out, auto& options) {
      return style.all_gatherv(in, out, kCounts, options);
    });
  });
}

TEST(TypedBlocks, ReduceScatterv) {
  on_all_ranks([](Communicator& c, Rank rank) {
    const Vector in = part(rank, 0, kAllCounts);
    const std::size_t own = kCounts[static_cast<std::size_t>(rank)];
    check(c, blank(own), maxima(kSize, begin_of(kCounts, rank), own),
          [&](auto& style, auto& out, auto& options) {
            return style.reduce_scatterv(in, out, kCounts, kOperator, options);
          });
  });
}

TEST(TypedBlocks, AllToAllv) {
  on_all_ranks([](Communicator& c, Rank rank) {
    Sizes sent;
    Sizes received;
    Vector wanted;
    for (Rank peer = 0; peer < kSize; ++peer) {
      sent.push_back(exchanged(rank, peer));
      received.push_back(exchanged(peer, rank));
      Sizes of_peer;
      for (Rank to = 0; to < kSize; ++to) of_peer.push_back(exchanged(peer, to));
      for (const int element : part(peer, begin_of(of_peer, rank), received.back()))
        wanted.push_back(element);
    }
    const Vector in = part(rank, 0, begin_of(sent, kSize));
    check(c, blank(wanted.size()), wanted, [&](auto& style, auto& out, auto& options) {
      return style.all_to_allv(in, sent, out, received, options);
    });
  });
}

constexpr int kTag = 3;  // neither the default nor a rank

TEST(TypedMessages, SendAndRecv) {
  on_all_ranks([](Communicator& c, Rank rank) {
    if (rank == 1) {
      check(c, part(1, 0, kCount), part(1, 0, kCount),
            [&](auto& style, auto& in, auto& options) { return style.send(in, 0, kTag, options); });
    } else if (rank == 0) {
      check(c, blank(), part(1, 0, kCount), [&](auto& style, auto& out, auto& options) {
        return style.recv(out, 1, kTag, options);
      });
    }
  });
}

// Its peers make other calls, since two that swap arguments alike would understand each other.
TEST(TypedMessages, Sendrecv) {
  on_all_ranks([](Communicator& c, Rank rank) {
    const Vector in = part(rank, 0, kCount);
    if (rank == 0) {
      check(c, blank(), part(2, 0, kCount), [&](auto& style, auto& out, auto& options) {
        return style.sendrecv(in, 1, out, 2, kTag, options);
      });
    } else {
      for (int style = 0; style < 4; ++style) {
        Vector out = blank();
        if (rank == 2) c.send(in, 0, kTag);
        else c.recv(out, 0, kTag);
        EXPECT_EQ(out, rank == 2 ? blank() : part(0, 0, kCount));
      }
    }
  });
}

TEST(TypedCalls, Barrier) {
  std::atomic<int> entered = 0;
  on_all_ranks([&](Communicator& c, Rank) {
    int round = 0;
    // Counted where the call is one that goes through.
    const auto enter = [&](const Options& options) {
      if (options.algorithm.empty()) ++entered, ++round;
    };
    const auto check_one = [&](const auto& call) {
      check_style(call, {}, {});
      EXPECT_GE(entered, kSize * round) << "a rank left before all had entered";
    };
    check_one([&](auto&, auto& options) { enter(options), c.barrier(options); });
    check_one([&](auto&, auto& options) { return enter(options), c.async().barrier(options); });
    check_one([&](auto&, auto& options) { return enter(options), c.plan().barrier(options); });
    check_one([&](auto&, auto& options) { return enter(options), c.try_().barrier(options); });
  });
}

}  // namespace
}  // namespace tutti::harness

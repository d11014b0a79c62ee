// Calls that take one element, and calls that return what they bring.
#include <tutti/batch.hpp>

#include "tests/collectives/binding/typed_calls.hpp"

namespace tutti::harness {
namespace {

template <class T>
T value_of(Result<T> result) {
  if (!result) throw Error{result.error()};
  return result.value();
}

TEST(Values, OfReductionsAreReturned) {
  on_all_ranks([](Communicator& c, Rank rank) {
    EXPECT_EQ(c.all_reduce(rank + 1), 6);
    EXPECT_EQ(c.all_reduce(2.5 * rank, max), 5.0);
    EXPECT_TRUE(c.all_reduce(rank == 2, logical_or));
    EXPECT_FALSE(c.all_reduce(rank == 2, logical_and));
    EXPECT_EQ(value_of(c.try_().all_reduce(rank, max)), 2);
    EXPECT_EQ(c.scan(rank + 1), (rank + 1) * (rank + 2) / 2);
    EXPECT_EQ(c.exscan(rank + 1), rank * (rank + 1) / 2);
    EXPECT_EQ(c.exscan(rank + 1, prod, 1), rank == 2 ? 2 : 1);
    EXPECT_EQ(value_of(c.try_().exscan(rank + 5, max, -1)), rank == 0 ? -1 : rank + 4);
  });
}

TEST(Values, OfTheRootAreReturnedThere) {
  on_all_ranks([](Communicator& c, Rank rank) {
    const bool is_root = rank == kRoot;
    EXPECT_EQ(c.reduce(rank + 1, sum, kRoot), is_root ? std::optional{6} : std::nullopt);
    const Vector in = part(rank, 0, kCount);
    EXPECT_EQ(c.reduce(in, max, kRoot), is_root ? maxima(kSize, 0, kCount) : Vector{});
    EXPECT_EQ(value_of(c.try_().reduce(in, max, kRoot)),
              is_root ? maxima(kSize, 0, kCount) : Vector{});
    EXPECT_EQ(c.gather(rank * 2, kRoot), is_root ? (Vector{0, 2, 4}) : Vector{});
    EXPECT_EQ(c.gather(in, kRoot), is_root ? together(Sizes(kSize, kCount)) : Vector{});
    // A root that has a place for the result calls the same as those that name none.
    Vector out(kCount);
    if (is_root) c.reduce(in, out, max, kRoot);
    else EXPECT_EQ(c.reduce(in, max, kRoot), Vector{});
    EXPECT_EQ(out, is_root ? maxima(kSize, 0, kCount) : Vector(kCount));
  });
}

TEST(Values, OfTheRootReachEveryRank) {
  on_all_ranks([](Communicator& c, Rank rank) {
    EXPECT_EQ(c.broadcast(rank * 7, kRoot), 7 * kRoot);
    Vector all;
    if (rank == kRoot) all = {10, 11, 20, 21, 30, 31};
    EXPECT_EQ(c.scatter(all, kRoot), (Vector{10 * rank + 10, 10 * rank + 11}));
    Sizes counts;
    if (rank == kRoot) counts = {1, 0, 3}, all.resize(4);
    const Vector mine = c.scatterv(all, counts, kRoot);
    EXPECT_EQ(mine, rank == 0 ? Vector{10} : rank == 1 ? Vector{} : (Vector{11, 20, 21}));
  });
}

TEST(Values, OfAnIndivisibleScatterAreRefusedEverywhere) {
  on_all_ranks([](Communicator& c, Rank rank) {
    const Vector all(rank == kRoot ? 4 : 0);
    const auto refused = c.try_().scatter(all, kRoot);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::invalid_argument);
    EXPECT_EQ(refused.error().culprit(), kRoot);
    EXPECT_EQ(c.all_reduce(1), kSize) << "the communicator stays usable";
  });
}

TEST(Values, OfAllRanksAreReturned) {
  on_all_ranks([](Communicator& c, Rank rank) {
    EXPECT_EQ(c.all_gather(rank * 3), (Vector{0, 3, 6}));
    const Vector in = part(rank, 0, kCount);
    EXPECT_EQ(c.all_gather(in), together(Sizes(kSize, kCount)));
    EXPECT_EQ(value_of(c.try_().all_gather(in)), together(Sizes(kSize, kCount)));
    Vector vector = part(rank, 0, kCount * kSize);
    EXPECT_EQ(c.reduce_scatter(vector, max),
              maxima(kSize, kCount * static_cast<std::size_t>(rank), kCount));
    const Vector turned = c.all_to_all(Vector{10 * rank, 10 * rank + 1, 10 * rank + 2}.size() == 3
                                           ? std::span<const int>{vector.data(), 3}
                                           : std::span<const int>{});
    for (Rank from = 0; from < kSize; ++from)
      EXPECT_EQ(turned[static_cast<std::size_t>(from)],
                value(from, static_cast<std::size_t>(rank)));
  });
}

TEST(Values, OfUnequalBlocksFindTheirCounts) {
  const Sizes counts{2, 0, 4};
  on_all_ranks([&](Communicator& c, Rank rank) {
    const Vector in = part(rank, 0, counts[static_cast<std::size_t>(rank)]);
    EXPECT_EQ(c.all_gatherv(in), together(counts));
    const Gathered<int> all = c.all_gatherv(in, with_counts);
    EXPECT_EQ(all.counts, counts);
    EXPECT_EQ((Vector{all[2].begin(), all[2].end()}), part(2, 0, 4));
    const Gathered<int> at_root = c.gatherv(in, with_counts, kRoot);
    EXPECT_EQ(at_root.elements, rank == kRoot ? together(counts) : Vector{});
    EXPECT_EQ(c.gatherv(in, kRoot), at_root.elements);
    // Rank r gives r + p elements to rank p.
    Sizes given;
    Vector sent;
    for (Rank to = 0; to < kSize; ++to) {
      given.push_back(static_cast<std::size_t>(rank + to));
      sent.insert(sent.end(), given.back(), 10 * rank + to);
    }
    const Gathered<int> got = c.all_to_allv(sent, given, with_counts);
    for (Rank from = 0; from < kSize; ++from)
      EXPECT_EQ((Vector{got[from].begin(), got[from].end()}),
                Vector(static_cast<std::size_t>(rank + from), 10 * from + rank));
    EXPECT_EQ(value_of(c.try_().all_to_allv(sent, given)), got.elements);
  });
}

TEST(Values, AreSentToWhoeverDoesNotKnowHowMany) {
  on_all_ranks([](Communicator& c, Rank rank) {
    const Vector in = part(rank, 0, static_cast<std::size_t>(rank + 1));
    if (rank != 0) {
      Request request = c.async().send(in, 0, 2);
      request.wait();
      return c.send(rank, 0, 9);
    }
    Sizes lengths(kSize);
    for (Rank i = 1; i < kSize; ++i) {
      const Vector got = c.recv<int>(any_rank, 2);
      ++lengths[got.size() - 1];
      EXPECT_EQ(got, part(static_cast<Rank>(got.size()) - 1, 0, got.size()));
    }
    EXPECT_EQ(lengths, (Sizes{0, 1, 1}));
    Vector one(1);
    c.recv(one, any_rank, 9);
    EXPECT_EQ(c.probe(3 - one[0], 9).from, 3 - one[0]);
    EXPECT_EQ(c.recv<int>(3 - one[0], 9), (Vector{3 - one[0]}));
  });
}

TEST(Values, OfCallsThatWaitForOlderOnesAreRight) {
  on_all_ranks([](Communicator& c, Rank) {
    Vector data(80, 1);
    std::vector<Request> requests;
    for (int& element : data) requests.push_back(c.async().all_reduce(std::span{&element, 1}));
    EXPECT_EQ(c.all_reduce(2), 2 * kSize);
    wait_all(requests);
    EXPECT_EQ(data, Vector(80, kSize));
  });
}

TEST(Values, HaveOneErrorForWhatIsWrong) {
  on_all_ranks([](Communicator& c, Rank rank) {
    if (rank != 0) return;
    const auto code = [](auto call) {
      try {
        call();
      } catch (const Error& error) {
        return error.code();
      }
      return ErrorCode::bug;
    };
    Vector one(1);
    EXPECT_EQ(code([&] { static_cast<void>(c.probe(7, 1)); }), ErrorCode::invalid_argument);
    EXPECT_EQ(code([&] { static_cast<void>(c.probe(0, -1)); }), ErrorCode::invalid_argument);
    EXPECT_EQ(code([&] { static_cast<void>(c.async().recv(one, any_rank)); }),
              ErrorCode::invalid_argument);
    EXPECT_EQ(code([&] { static_cast<void>(c.plan().recv(one, any_rank)); }),
              ErrorCode::invalid_argument);
    EXPECT_EQ(code([&] { batch([&] { static_cast<void>(c.all_reduce(1)); }); }),
              ErrorCode::invalid_argument);
    EXPECT_EQ(code([&] { static_cast<void>(c.probe(any_rank, 1, {.timeout = Duration{1000}})); }),
              ErrorCode::timeout);
  });
}

}  // namespace
}  // namespace tutti::harness

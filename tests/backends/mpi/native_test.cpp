// The MPI's own collectives through Call, against plain loops. Few calls: an MPI may spin in each.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include <tutti/mpi.hpp>

namespace tutti::test {
namespace {

struct World {
  World() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
  }
  int rank = 0;
  int size = 1;
};

constexpr std::size_t kCount = 5;

// Different for every rank and index, small enough for exact sums.
int value(int rank, std::size_t index) {
  return 1000 * (rank + 1) + static_cast<int>(index);
}

template <class T>
std::vector<T> input(int rank, std::size_t count) {
  std::vector<T> data(count);
  for (std::size_t i = 0; i < count; ++i) data[i] = static_cast<T>(value(rank, i));
  return data;
}

template <class T>
std::vector<T> summed(int size, std::size_t count) {
  std::vector<T> data(count);
  for (std::size_t i = 0; i < count; ++i) {
    int total = 0;
    for (int rank = 0; rank < size; ++rank) total += value(rank, i);
    data[i] = static_cast<T>(total);
  }
  return data;
}

template <class T>
std::vector<T> part(const std::vector<T>& data, std::size_t block) {
  const auto begin = data.begin() + static_cast<std::ptrdiff_t>(block * kCount);
  return {begin, begin + kCount};
}

TEST(Native, SendsMessages) {
  const World world;
  const int right = (world.rank + 1) % world.size;
  const int left = (world.rank + world.size - 1) % world.size;
  const std::vector<double> out = input<double>(world.rank, kCount);
  const std::vector<Float16> halves(kCount, Float16{static_cast<float>(world.rank)});
  std::vector<double> in(kCount);
  std::vector<Float16> half_in(kCount);
  mpi::native(call::sendrecv(std::span{out}, right, in, left, 3), MPI_COMM_WORLD);
  EXPECT_EQ(in, input<double>(left, kCount));
  mpi::native(call::sendrecv(std::span{halves}, right, half_in, left, 3), MPI_COMM_WORLD);
  EXPECT_EQ(static_cast<float>(half_in.back()), static_cast<float>(left)) << "only moved";
  if (world.size == 1) return;
  in.assign(kCount, 0);
  if (world.rank == 0) {
    mpi::native(call::send(out, world.size - 1, 4), MPI_COMM_WORLD);
  } else if (world.rank == world.size - 1) {
    mpi::native(call::recv(in, 0, 4), MPI_COMM_WORLD);
    EXPECT_EQ(in, input<double>(0, kCount));
  }
}

TEST(Native, Reduces) {
  const World world;
  std::vector<double> in = input<double>(world.rank, kCount), out(kCount, -1);
  mpi::native(call::all_reduce(in, std::span{out}, sum), MPI_COMM_WORLD);
  EXPECT_EQ(out, summed<double>(world.size, kCount));
  mpi::native(call::all_reduce(in, std::span{in}, sum), MPI_COMM_WORLD);
  EXPECT_EQ(in, out) << "in place";

  const int root = world.size - 1;
  std::vector<std::int64_t> long_in = input<std::int64_t>(world.rank, kCount), long_out(kCount, -1);
  mpi::native(call::reduce(long_in, std::span{long_out}, max, root), MPI_COMM_WORLD);
  EXPECT_EQ(long_out, world.rank == root ? input<std::int64_t>(root, kCount)
                                         : std::vector<std::int64_t>(kCount, -1));
  mpi::native(call::reduce(long_in, std::span{long_in}, sum, root), MPI_COMM_WORLD);
  EXPECT_EQ(long_in, world.rank == root ? summed<std::int64_t>(world.size, kCount)
                                        : input<std::int64_t>(world.rank, kCount));

  const auto all = static_cast<std::size_t>(world.size) * kCount;
  std::vector<float> blocks = input<float>(world.rank, all), own(kCount);
  mpi::native(call::reduce_scatter(blocks, std::span{own}, sum), MPI_COMM_WORLD);
  EXPECT_EQ(own, part(summed<float>(world.size, all), static_cast<std::size_t>(world.rank)));
}

TEST(Native, ReducesThoseBefore) {
  const World world;
  const std::vector<double> in = input<double>(world.rank, kCount);
  std::vector<double> out(kCount, -1);
  mpi::native(call::scan(in, out, sum), MPI_COMM_WORLD);
  EXPECT_EQ(out, summed<double>(world.rank + 1, kCount));
  std::vector<double> before(kCount, -1);
  mpi::native(call::exscan(in, before, sum), MPI_COMM_WORLD);
  if (world.rank > 0) {
    EXPECT_EQ(before, summed<double>(world.rank, kCount));
  }
  std::vector<double> inout = in;
  mpi::native(call::scan(inout, inout, sum), MPI_COMM_WORLD);
  EXPECT_EQ(inout, out) << "in place";
}

TEST(Native, ReducesPairsAndComplexNumbers) {
  const World world;
  std::vector<Indexed<std::int64_t>> pairs{{-value(world.rank, 0), world.rank}, {5, world.rank}},
      out(2);
  mpi::native(call::all_reduce(pairs, std::span{out}, min_loc), MPI_COMM_WORLD);
  EXPECT_EQ(out[0], (Indexed<std::int64_t>{-value(world.size - 1, 0), world.size - 1}));
  EXPECT_EQ(out[1], (Indexed<std::int64_t>{5, 0}));
  std::vector<std::complex<float>> numbers{{1, static_cast<float>(world.rank)}};
  mpi::native(call::all_reduce(numbers, std::span{numbers}, sum), MPI_COMM_WORLD);
  const auto n = static_cast<float>(world.size);
  EXPECT_EQ(numbers[0], (std::complex<float>{n, n * (n - 1) / 2}));
}

TEST(Native, Moves) {
  const World world;
  const auto self = static_cast<std::size_t>(world.rank);
  const auto all = static_cast<std::size_t>(world.size) * kCount;
  const int root = world.size - 1;
  std::vector<Float16> halves(kCount, Float16{static_cast<float>(world.rank)});
  mpi::native(call::broadcast(std::span{halves}, root), MPI_COMM_WORLD);
  EXPECT_EQ(static_cast<float>(halves[kCount - 1]), static_cast<float>(root));

  std::vector<int> whole = input<int>(world.rank, all), own(kCount, -1);
  const std::vector<int> none{};
  mpi::native(call::scatter(world.rank == root ? whole : none, std::span{own}, root),
              MPI_COMM_WORLD);
  EXPECT_EQ(own, part(input<int>(root, all), self));

  own = input<int>(world.rank, kCount);
  std::vector<int> gathered(all, -1), in_place(all, -1);
  mpi::native(call::all_gather(own, std::span{gathered}), MPI_COMM_WORLD);
  for (int rank = 0; rank < world.size; ++rank)
    EXPECT_EQ(part(gathered, static_cast<std::size_t>(rank)), input<int>(rank, kCount));
  const std::span<int> block{in_place.data() + self * kCount, kCount};
  std::copy(own.begin(), own.end(), block.begin());
  mpi::native(call::all_gather(block, std::span{in_place}), MPI_COMM_WORLD);
  EXPECT_EQ(in_place, gathered);

  std::vector<int> collected(all, -1);
  mpi::native(call::gather(own, collected, root), MPI_COMM_WORLD);
  EXPECT_EQ(collected, world.rank == root ? gathered : std::vector<int>(all, -1));
  if (world.rank == root) std::copy(own.begin(), own.end(), collected.begin() + root * 5L);
  const std::span<int> place{collected.data() + self * kCount, kCount};
  mpi::native(call::gather(world.rank == root ? place : std::span{own}, collected, root),
              MPI_COMM_WORLD);
  EXPECT_EQ(collected, world.rank == root ? gathered : std::vector<int>(all, -1)) << "in place";

  std::vector<int> exchanged(all, -1);
  mpi::native(call::all_to_all(whole, std::span{exchanged}), MPI_COMM_WORLD);
  for (int rank = 0; rank < world.size; ++rank)
    EXPECT_EQ(part(exchanged, static_cast<std::size_t>(rank)), part(input<int>(rank, all), self));
  mpi::native(call::barrier(), MPI_COMM_WORLD);
}

// Rank r has r elements in each block: the first one is empty.
TEST(Native, MovesAndReducesUnevenBlocks) {
  const World world;
  const int root = world.size - 1;
  const auto n = static_cast<std::size_t>(world.size);
  const auto self = static_cast<std::size_t>(world.rank);
  std::vector<std::size_t> counts(n);
  std::iota(counts.begin(), counts.end(), 0U);
  const std::size_t all = n * (n - 1) / 2;
  const std::size_t before = self * (self + 1) / 2 - self;
  const auto own_of = [&](int rank) {
    const std::vector<int> whole = input<int>(rank, all);
    const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(before);
    return std::vector<int>(begin, begin + static_cast<std::ptrdiff_t>(self));
  };
  const std::vector<int> whole = input<int>(world.rank, all);
  std::vector<int> own(self, -1);
  const bool is_root = world.rank == root;
  const std::vector<int> none{};
  mpi::native(
      call::scatterv(is_root ? whole : none, is_root ? Counts{counts} : Counts{}, own, root),
      MPI_COMM_WORLD);
  EXPECT_EQ(own, own_of(root));
  std::vector<int> gathered(all, -1);
  mpi::native(call::gatherv(own, gathered, is_root ? Counts{counts} : Counts{}, root),
              MPI_COMM_WORLD);
  EXPECT_EQ(gathered, is_root ? input<int>(root, all) : std::vector<int>(all, -1));

  Call gather = call::all_gather(own, std::span{gathered});
  gather.out_counts = counts;
  mpi::native(gather, MPI_COMM_WORLD);
  EXPECT_EQ(gathered, input<int>(root, all));
  std::vector<int> place(all, -1);
  std::copy(own.begin(), own.end(), place.begin() + static_cast<std::ptrdiff_t>(before));
  Call in_place = call::all_gather(std::span{place}.subspan(before, self), std::span{place});
  in_place.out_counts = counts;
  mpi::native(in_place, MPI_COMM_WORLD);
  EXPECT_EQ(place, gathered) << "in place";

  Call reduce = call::reduce_scatter(whole, std::span{own}, sum);
  reduce.in_counts = counts;
  mpi::native(reduce, MPI_COMM_WORLD);
  const std::vector<int> total = summed<int>(world.size, all);
  const auto first = total.begin() + static_cast<std::ptrdiff_t>(before);
  EXPECT_EQ(own, std::vector<int>(first, first + static_cast<std::ptrdiff_t>(self)));
  std::vector<int> mine = whole;
  Call into_own = call::reduce_scatter(mine, std::span{mine}.subspan(before, self), sum);
  into_own.in_counts = counts;
  EXPECT_EQ(mpi::has_native(into_own, MPI_COMM_WORLD), self == 0) << "but of nothing";

  // To rank d go d elements, so from each rank come as many as the own number says.
  const std::vector<std::size_t> received(n, self);
  std::vector<int> exchanged(n * self, -1);
  mpi::native(call::all_to_allv(whole, counts, exchanged, received), MPI_COMM_WORLD);
  for (std::size_t rank = 0; rank < n; ++rank) {
    const auto begin = exchanged.begin() + static_cast<std::ptrdiff_t>(rank * self);
    EXPECT_EQ(std::vector<int>(begin, begin + static_cast<std::ptrdiff_t>(self)),
              own_of(static_cast<int>(rank)));
  }
}

TEST(Native, TakesEmptyVectors) {
  std::vector<int> none;
  mpi::native(call::all_reduce(none, std::span{none}, sum), MPI_COMM_WORLD);
  mpi::native(call::all_gather(none, std::span{none}), MPI_COMM_WORLD);
  // Empty vectors at one place are no reduce_scatter into the own block, which MPI lacks.
  int place = 0;
  const std::span empty{&place, 0};
  EXPECT_TRUE(mpi::has_native(call::reduce_scatter(empty, empty, sum), MPI_COMM_WORLD));
}

TEST(Native, SaysWhatTheMpiLacks) {
  std::vector<Float16> halves(4);
  std::vector<float> data(4);
  const Operator own{[](const void*, const void*, void*, std::size_t) {}, true};
  const auto lacks = [](const Call& call, const char* what) {
    EXPECT_FALSE(mpi::has_native(call, MPI_COMM_WORLD)) << what;
    try {
      mpi::native(call, MPI_COMM_WORLD);
      ADD_FAILURE() << what << " must be refused";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_NE(std::string{error.what()}.find(what), std::string::npos) << error.what();
    }
  };
  lacks(call::all_reduce(halves, std::span{halves}, sum), "f16");
  Call long_message = call::send(data, 0, 0);
  long_message.in_count = std::size_t{1} << 29;
  lacks(long_message, "2^31");
  lacks(call::all_reduce(data, std::span{data}, average), "average");
  lacks(call::all_reduce(data, std::span{data}, own), "user");
  lacks(call::all_reduce(data, std::span{data}, bit_and), "bit_and of f32");
  lacks({.collective = Collective{kCollectives}}, "this meaning");
  const World world;
  data.resize(2 * static_cast<std::size_t>(world.size));
  const std::span<float> block{data.data() + 2 * world.rank, 2};
  lacks(call::reduce_scatter(data, block, sum), "own block");
  Call big = call::all_reduce(data, std::span{data}, sum);
  big.in_count = big.out_count = std::size_t{1} << 31;
  lacks(big, "2^31");
  --big.in_count;
  lacks(big, "2^31");
  --big.out_count;
  EXPECT_TRUE(mpi::has_native(big, MPI_COMM_WORLD));  // the most that an int counts
  EXPECT_TRUE(mpi::has_native(call::all_reduce(data, std::span{data}, sum), MPI_COMM_WORLD));
}

}  // namespace
}  // namespace tutti::test

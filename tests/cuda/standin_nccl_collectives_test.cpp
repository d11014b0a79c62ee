// Collectives of the stand-in for NCCL, compared with plain loops over all ranks' values.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <numeric>

#include "standin_nccl_rank.hpp"

namespace tutti::nccl_standin {
namespace {

constexpr std::size_t kElements = 1001;

template <class T>
struct Datatype {
  static constexpr ncclDataType_t value = ncclNumTypes;
};
template <ncclDataType_t number>
struct Is {
  static constexpr ncclDataType_t value = number;
};
template <>
struct Datatype<std::int8_t> : Is<ncclInt8> {};
template <>
struct Datatype<std::uint8_t> : Is<ncclUint8> {};
template <>
struct Datatype<std::int32_t> : Is<ncclInt32> {};
template <>
struct Datatype<std::uint32_t> : Is<ncclUint32> {};
template <>
struct Datatype<std::int64_t> : Is<ncclInt64> {};
template <>
struct Datatype<std::uint64_t> : Is<ncclUint64> {};
template <>
struct Datatype<__half> : Is<ncclFloat16> {};
template <>
struct Datatype<__nv_bfloat16> : Is<ncclBfloat16> {};
template <>
struct Datatype<float> : Is<ncclFloat32> {};
template <>
struct Datatype<double> : Is<ncclFloat64> {};

template <class T>
double number_of(T element) {
  if constexpr (std::is_arithmetic_v<T>) return static_cast<double>(element);
  else return static_cast<double>(static_cast<float>(element));
}

template <class T>
std::vector<double> numbers_of(const std::vector<T>& elements) {
  std::vector<double> numbers;
  for (const T element : elements) numbers.push_back(number_of(element));
  return numbers;
}

// So small that all datatypes hold what becomes of them.
double input(int rank, std::size_t index) {
  return static_cast<double>(index % 2 + static_cast<std::size_t>(rank) % 2 + 1);
}

template <class T>
std::vector<T> inputs_of(int rank, std::size_t count) {
  std::vector<T> values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(static_cast<T>(static_cast<float>(input(rank, i))));
  return values;
}

template <class T>
std::vector<double> reduced(ncclRedOp_t op, int size, std::size_t first, std::size_t count) {
  std::vector<double> results;
  for (std::size_t i = first; i < first + count; ++i) {
    double result = input(0, i);
    for (int rank = 1; rank < size; ++rank) {
      const double value = input(rank, i);
      if (op == ncclSum || op == ncclAvg) result += value;
      if (op == ncclProd) result *= value;
      if (op == ncclMin) result = std::min(result, value);
      if (op == ncclMax) result = std::max(result, value);
    }
    if (op == ncclAvg) result = number_of(static_cast<T>(static_cast<float>(result / size)));
    results.push_back(result);
  }
  return results;
}

template <class T>
class CudaNcclStandinElements : public ::testing::Test {};
using Elements =
    ::testing::Types<std::int8_t, std::uint8_t, std::int32_t, std::uint32_t, std::int64_t,
                     std::uint64_t, __half, __nv_bfloat16, float, double>;
TYPED_TEST_SUITE(CudaNcclStandinElements, Elements);

constexpr std::array kOperators{ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg};

TYPED_TEST(CudaNcclStandinElements, AreReduced) {
  with_ranks(kDevices, [](Rank& rank) {
    const auto datatype = Datatype<TypeParam>::value;
    const TypeParam* const from = rank.put(inputs_of<TypeParam>(rank.rank, kElements));
    TypeParam* const into = rank.put(std::vector<TypeParam>(kElements));
    for (const ncclRedOp_t op : kOperators) {
      EXPECT_EQ(
          ncclAllReduce(from, into, kElements, datatype, op, rank.communicator, rank.stream()),
          ncclSuccess);
      EXPECT_EQ(numbers_of(rank.get(into, kElements)),
                reduced<TypeParam>(op, rank.size, 0, kElements))
          << op;
    }
    EXPECT_EQ(rank.state(), ncclSuccess);
  });
}

TEST(CudaNcclStandinCollectives, IntegersWrapAround) {
  with_ranks(2, [](Rank& rank) {
    std::int8_t* const memory = rank.put(std::vector<std::int8_t>{127, -128, -1});
    ncclAllReduce(memory, memory, 3, ncclInt8, ncclSum, rank.communicator, rank.stream());
    EXPECT_EQ(rank.get(memory, 3), (std::vector<std::int8_t>{-2, 0, -2}));
  });
}

class CudaNcclStandinSizes : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Sizes, CudaNcclStandinSizes, ::testing::Range(1, kDevices + 1));

TEST_P(CudaNcclStandinSizes, ReduceHasItsResultAtTheRoot) {
  with_ranks(GetParam(), [](Rank& rank) {
    for (int root = 0; root < rank.size; ++root) {
      const bool is_root = root == rank.rank;
      const float* const from = rank.put(inputs_of<float>(rank.rank, kElements));
      float* const into = is_root ? rank.put(std::vector<float>(kElements)) : nullptr;
      EXPECT_EQ(ncclReduce(from, into, kElements, ncclFloat, ncclSum, root, rank.communicator,
                           rank.stream()),
                ncclSuccess);
      EXPECT_EQ(rank.get(from, kElements), inputs_of<float>(rank.rank, kElements));
      if (is_root) {
        EXPECT_EQ(numbers_of(rank.get(into, kElements)),
                  reduced<float>(ncclSum, rank.size, 0, kElements));
      }
    }
  });
}

TEST_P(CudaNcclStandinSizes, BroadcastComesFromTheRoot) {
  with_ranks(GetParam(), [](Rank& rank) {
    for (int root = 0; root < rank.size; ++root) {
      const bool is_root = root == rank.rank;
      const float* const from = is_root ? rank.put(inputs_of<float>(root, kElements)) : nullptr;
      float* const into = rank.put(std::vector<float>(kElements));
      EXPECT_EQ(
          ncclBroadcast(from, into, kElements, ncclFloat, root, rank.communicator, rank.stream()),
          ncclSuccess);
      EXPECT_EQ(rank.get(into, kElements), inputs_of<float>(root, kElements));
    }
  });
}

TEST_P(CudaNcclStandinSizes, AllGatherHasTheOrderOfRanks) {
  with_ranks(GetParam(), [](Rank& rank) {
    const std::size_t all = kElements * static_cast<std::size_t>(rank.size);
    std::vector<float> expected;
    for (int peer = 0; peer < rank.size; ++peer) {
      const auto part = inputs_of<float>(peer, kElements);
      expected.insert(expected.end(), part.begin(), part.end());
    }
    const float* const from = rank.put(inputs_of<float>(rank.rank, kElements));
    float* const into = rank.put(std::vector<float>(all));
    EXPECT_EQ(ncclAllGather(from, into, kElements, ncclFloat, rank.communicator, rank.stream()),
              ncclSuccess);
    EXPECT_EQ(rank.get(into, all), expected);
  });
}

TEST_P(CudaNcclStandinSizes, ReduceScatterGivesEachRankItsPart) {
  with_ranks(GetParam(), [](Rank& rank) {
    const std::size_t all = kElements * static_cast<std::size_t>(rank.size);
    const float* const from = rank.put(inputs_of<float>(rank.rank, all));
    float* const into = rank.put(std::vector<float>(kElements));
    EXPECT_EQ(ncclReduceScatter(from, into, kElements, ncclFloat, ncclSum, rank.communicator,
                                rank.stream()),
              ncclSuccess);
    EXPECT_EQ(numbers_of(rank.get(into, kElements)),
              reduced<float>(ncclSum, rank.size, kElements * static_cast<std::size_t>(rank.rank),
                             kElements));
  });
}

// Rank i sends its own number times ten and the peer's to each peer.
TEST_P(CudaNcclStandinSizes, AllToAllTurnsPartsAround) {
  with_ranks(GetParam(), [](Rank& rank) {
    std::vector<int> numbers;
    std::vector<int> expected;
    for (int peer = 0; peer < rank.size; ++peer) {
      numbers.insert(numbers.end(), kElements, 10 * rank.rank + peer);
      expected.insert(expected.end(), kElements, 10 * peer + rank.rank);
    }
    const int* const from = rank.put(numbers);
    int* const into = rank.put(std::vector<int>(numbers.size()));
    EXPECT_EQ(ncclAlltoAll(from, into, kElements, ncclInt, rank.communicator, rank.stream()),
              ncclSuccess);
    EXPECT_EQ(rank.get(into, numbers.size()), expected);
    EXPECT_EQ(ncclAlltoAll(into, into, kElements, ncclInt, rank.communicator, rank.stream()),
              ncclInvalidArgument);
  });
}

TEST_P(CudaNcclStandinSizes, GatherAndScatterGoByTheRoot) {
  with_ranks(GetParam(), [](Rank& rank) {
    const std::size_t all = kElements * static_cast<std::size_t>(rank.size);
    for (int root = 0; root < rank.size; ++root) {
      const bool is_root = root == rank.rank;
      int* const own = rank.put(std::vector<int>(kElements, rank.rank));
      int* const gathered = is_root ? rank.put(std::vector<int>(all)) : nullptr;
      EXPECT_EQ(
          ncclGather(own, gathered, kElements, ncclInt, root, rank.communicator, rank.stream()),
          ncclSuccess);
      EXPECT_EQ(
          cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(own), 0xFF, sizeof(int), rank.stream()),
          CUDA_SUCCESS);
      EXPECT_EQ(
          ncclScatter(gathered, own, kElements, ncclInt, root, rank.communicator, rank.stream()),
          ncclSuccess);
      EXPECT_EQ(rank.get(own, kElements), std::vector<int>(kElements, rank.rank));
      if (is_root) {
        EXPECT_EQ(rank.get(gathered, all).back(), rank.size - 1);
      }
    }
  });
}

// All in one group, which a ring of messages is in as well.
TEST_P(CudaNcclStandinSizes, AllMayBeInPlace) {
  with_ranks(GetParam(), [](Rank& rank) {
    const std::size_t all = kElements * static_cast<std::size_t>(rank.size);
    const std::size_t own = kElements * static_cast<std::size_t>(rank.rank);
    const auto inputs = inputs_of<float>(rank.rank, all);
    const auto sums = reduced<float>(ncclSum, rank.size, 0, all);
    const auto own_sums = reduced<float>(ncclSum, rank.size, own, kElements);
    std::array<float*, 4> memory{};
    for (float*& one : memory) one = rank.put(inputs);
    float* const ring = rank.put(std::vector<float>(1));
    const auto& [reduce, gather, scatter, broadcast] = memory;
    ncclGroupStart();
    ncclSend(broadcast, 1, ncclFloat, rank.next(), rank.communicator, rank.stream());
    ncclRecv(ring, 1, ncclFloat, rank.previous(), rank.communicator, rank.stream());
    ncclAllReduce(reduce, reduce, all, ncclFloat, ncclSum, rank.communicator, rank.stream());
    ncclAllGather(gather + own, gather, kElements, ncclFloat, rank.communicator, rank.stream());
    ncclReduceScatter(scatter, scatter + own, kElements, ncclFloat, ncclSum, rank.communicator,
                      rank.stream());
    ncclBroadcast(broadcast, broadcast, all, ncclFloat, 0, rank.communicator, rank.stream());
    EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
    EXPECT_EQ(numbers_of(rank.get(reduce, all)), sums);
    EXPECT_EQ(numbers_of(rank.get(scatter + own, kElements)), own_sums);
    EXPECT_EQ(rank.get(broadcast, all), inputs_of<float>(0, all));
    EXPECT_EQ(rank.get(gather + own, 1).front(), inputs[own]);
    EXPECT_EQ(rank.get(gather, 1), inputs_of<float>(0, 1));
    EXPECT_EQ(rank.get(ring, 1), inputs_of<float>(0, 1)) << "the broadcast came first";
    EXPECT_EQ(rank.state(), ncclSuccess);
  });
}

TEST(CudaNcclStandinCollectives, MayHaveNoElements) {
  with_ranks(2, [](const Rank& rank) {
    EXPECT_EQ(
        ncclAllReduce(nullptr, nullptr, 0, ncclFloat, ncclSum, rank.communicator, rank.stream()),
        ncclSuccess);
    EXPECT_EQ(rank.wait(), CUDA_SUCCESS);
    EXPECT_EQ(rank.state(), ncclSuccess);
  });
}

TEST(CudaNcclStandinCalls, MayWaitForRanksThatHaveNotCalled) {
  setenv("CUDA_STANDIN_CONNECT", "at_call", 1);
  for (const bool blocking : {true, false}) {
    std::promise<void> asked;
    const std::shared_future<void> has_asked = asked.get_future().share();
    with_ranks(
        2,
        [&](Rank& rank) {
          float* const values = rank.put(std::vector<float>(10, 1.0F));
          const auto reduce = [&] {
            return ncclAllReduce(values, values, 10, ncclFloat, ncclSum, rank.communicator,
                                 rank.stream());
          };
          const ncclResult_t enqueued = blocking ? ncclSuccess : ncclInProgress;
          if (rank.rank == 1) {
            has_asked.wait();
            EXPECT_EQ(reduce(), enqueued);
          } else if (blocking) {
            auto result = std::async(std::launch::async, [&] {
              rank.use();
              return reduce();
            });
            EXPECT_EQ(result.wait_for(std::chrono::milliseconds{50}), std::future_status::timeout);
            asked.set_value();
            EXPECT_EQ(result.get(), ncclSuccess);
          } else {
            EXPECT_EQ(reduce(), ncclInProgress);
            for (int i = 0; i < 3; ++i) {
              ncclResult_t state = ncclSuccess;
              EXPECT_EQ(ncclCommGetAsyncError(rank.communicator, &state), ncclSuccess);
              EXPECT_EQ(state, ncclInProgress);
            }
            asked.set_value();
          }
          EXPECT_EQ(rank.state(), ncclSuccess);
          EXPECT_EQ(rank.get(values, 10), std::vector<float>(10, 2.0F));
        },
        blocking);
  }
  unsetenv("CUDA_STANDIN_CONNECT");
}

}  // namespace
}  // namespace tutti::nccl_standin

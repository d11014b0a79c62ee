// Objects that lie in memory of GPUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tutti/cuda_array.hpp>
#include <tutti/objects.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "gpu_world.hpp"

namespace tutti {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

/// An object with an array in it.
struct Part {
  std::string name{};
  cuda::Array<std::uint32_t> values{};
};

}  // namespace

template <>
struct Codec<Part> {
  static void encode(Encoder& to, const Part& part) {
    to.put_run(part.name.size(), part.name.data(), part.name.size());
    Codec<cuda::Array<std::uint32_t>>::encode(to, part.values);
  }
  static void decode(Decoder& from, Part& part) {
    part.name.resize(from.get_count());
    from.read(part.name.data(), part.name.size());
    Codec<cuda::Array<std::uint32_t>>::decode(from, part.values);
  }
};

namespace {

std::vector<std::uint32_t> numbers(std::size_t count, std::uint32_t first) {
  std::vector<std::uint32_t> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

/// A world whose ranks each have their own GPU current.
class CudaArrays : public ::testing::Test {
 protected:
  static constexpr int kRanks = 3;

  /// @return an array of these, on the rank's GPU.
  cuda::Array<std::uint32_t> stored(Rank rank, const std::vector<std::uint32_t>& values) {
    cuda::Array<std::uint32_t> array{values.size()};
    if (!values.empty())
      world_.memory(rank)->copy(reinterpret_cast<std::byte*>(array.data()),
                                reinterpret_cast<const std::byte*>(values.data()),
                                values.size() * sizeof(std::uint32_t));
    return array;
  }
  std::vector<std::uint32_t> fetched(Rank rank, const cuda::Array<std::uint32_t>& array) {
    std::vector<std::uint32_t> values(array.size());
    if (!values.empty())
      world_.memory(rank)->copy(reinterpret_cast<std::byte*>(values.data()),
                                reinterpret_cast<const std::byte*>(array.data()),
                                array.size() * sizeof(std::uint32_t));
    return values;
  }
  template <class Body>
  void run(const Body& body) {
    const auto errors = world_.run([&](Rank rank) {
      const cuda::Device::Current current{world_.device(rank)};
      body(rank, world_[rank]);
    });
    EXPECT_THAT(errors, Each(std::string{}));
  }

  // They may share GPUs.
  harness::GpuWorld world_{kRanks, "shm", std::min(kRanks, cuda::Driver{}.devices())};
};

TEST_F(CudaArrays, AreBroadcast) {
  // The last of these is decoded while it arrives, in more than one piece.
  for (const std::size_t count : {0U, 1U, 50U, 20'000U, 1'000'001U})
    run([&](Rank rank, Communicator& world) {
      cuda::Array<std::uint32_t> array{};
      if (rank == 1) array = stored(rank, numbers(count, 7));
      array = objects(world).broadcast(std::move(array), 1);
      EXPECT_EQ(fetched(rank, array), numbers(count, 7)) << count;
    });
}

TEST_F(CudaArrays, AreGatheredInObjectsOfAnyLength) {
  run([&](Rank rank, Communicator& world) {
    const auto count = [](Rank of) { return static_cast<std::size_t>(of) * 3'001; };
    Part part{"of " + std::to_string(rank), stored(rank, numbers(count(rank), 10))};
    const std::vector<Part> all = objects(world).all_gather(std::move(part));
    ASSERT_EQ(all.size(), static_cast<std::size_t>(kRanks));
    for (Rank of = 0; of < kRanks; ++of) {
      const Part& found = all[static_cast<std::size_t>(of)];
      EXPECT_EQ(found.name, "of " + std::to_string(of));
      EXPECT_EQ(fetched(rank, found.values), numbers(count(of), 10));
    }
  });
}

TEST_F(CudaArrays, AreSentAndReceived) {
  run([&](Rank rank, Communicator& world) {
    if (rank == 0) objects(world).send(stored(rank, numbers(100'000, 1)), 2, 5);
    if (rank != 2) return;
    const auto array = objects(world).recv<cuda::Array<std::uint32_t>>(0, 5);
    EXPECT_EQ(fetched(rank, array), numbers(100'000, 1));
  });
}

TEST_F(CudaArrays, AreMadeOnTheCurrentGpu) {
  if (const std::string why = harness::lack_of(2); !why.empty()) GTEST_SKIP() << why;
  const auto errors = world_.run([&](Rank rank) {
    if (rank > 0) return;
    cuda::Array<float> array{100};
  });
  EXPECT_THAT(errors.front(),
              HasSubstr(" GPUs; set AttachOptions::device, or make the context of one "
                        "current, by cudaSetDevice and, before CUDA 12, cudaFree(0)"));
}

TEST_F(CudaArrays, BrokenBytesAreAnError) {
  Encoder bytes{1U << 20U};
  bytes.put_count(5);  // elements, of 4 bytes each
  for (int byte = 0; byte < 19; ++byte) bytes.put(std::uint8_t{1});
  Decoder decoder{{bytes.data(), bytes.size()}};
  cuda::Array<std::uint32_t> array{};
  EXPECT_THROW(Codec<cuda::Array<std::uint32_t>>::decode(decoder, array), Error);
}

}  // namespace
}  // namespace tutti

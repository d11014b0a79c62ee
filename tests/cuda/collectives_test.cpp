// Collectives on GPUs, on the stand-ins for the driver and NCCL: a thread and a device for each
// rank, whose messages go by NCCL or over the host.
#include <cstdlib>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <tutti/cuda.hpp>

#include "device_buffers.hpp"
#include "device_floats.hpp"
#include "gpu_world.hpp"
#include "tests/collectives/rows.hpp"
#include "tests/support/patience.hpp"

namespace tutti::harness {
namespace {

using namespace std::chrono_literals;
using test::DeviceBuffers;

/// How many ranks, and what their messages go by.
struct Setting {
  int ranks;
  std::string transports = "shm";  // of the host
  std::string transport = "nccl";  // of the GPUs
};
std::ostream& operator<<(std::ostream& out, const Setting& setting) {
  return out << setting.ranks << "_ranks_" << setting.transport << "_" << setting.transports;
}

/// Attaches a device to each rank.
void attach(GpuWorld& world, const std::string& transport = "nccl") {
  for (const std::string& error : world.run([&](Rank rank) {
         cuda::attach(world[rank],
                      {.device = device_of(rank), .transport = transport, .timeout = test::kAmple});
       }))
    ASSERT_EQ(error, "");
}

/// Ranks that share a GPU meet before the call and after it: a stream that waits for a peer may
/// hold up the peer's copies of inputs and results, if both streams have one hardware queue.
std::string run_on_gpus(GpuWorld& world, const Case& what) {
  Experiment experiment{what};
  const auto errors = world.run([&](Rank rank) {
    DeviceBuffers buffers{world.memory(rank), experiment.call(rank)};
    const OwnStream stream{world.device(rank)};
    Options options = experiment.options();
    options.stream = stream.get();
    world[rank].barrier();
    world[rank].run(buffers.call(), options);
    cuda::wait(world[rank], stream.get(), test::kAmple);
    world[rank].barrier();
    buffers.fetch();
  });
  for (Rank rank = 0; rank < what.size; ++rank) {
    if (!errors[static_cast<std::size_t>(rank)].empty())
      return what.describe() + ": " + errors[static_cast<std::size_t>(rank)];
    if (const auto wrong = experiment.problem(rank)) return what.describe() + ": " + *wrong;
  }
  return {};
}

class GpuCollectives : public ::testing::TestWithParam<Setting> {
 protected:
  void SetUp() override {
    // Over the host two ranks may share a GPU. With a third, on an H100, streams of two ranks
    // hung: presumably one queue of copies had both.
    const int ranks = GetParam().ranks;
    const int devices = GetParam().transport == "host" ? (ranks + 1) / 2 : ranks;
    if (const std::string why = lack_of(devices); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_P(GpuCollectives, GiveTheRightResults) {
  const Setting& setting = GetParam();
  GpuWorld world{setting.ranks, setting.transports};
  attach(world, setting.transport);
  const std::vector<int> sizes{setting.ranks};
  std::size_t ordinal = 0;
  for (const Row& row : rows_of(sizes))
    for (const Case& one : cases_of(row, 1)) {
      // Tests on streams without a device run every case of every row.
      if (ordinal++ % 5 != 0) continue;
      ASSERT_EQ(run_on_gpus(world, one), "");
    }
}

INSTANTIATE_TEST_SUITE_P(Nccl, GpuCollectives,
                         ::testing::Values(Setting{1}, Setting{2}, Setting{3}, Setting{4}),
                         ::testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Host, GpuCollectives,
                         ::testing::Values(Setting{1, "shm", "host"}, Setting{2, "shm", "host"},
                                           Setting{3, "shm", "host"}, Setting{4, "shm", "host"},
                                           Setting{2, "tcp", "host"}, Setting{3, "tcp", "host"}),
                         ::testing::PrintToStringParamName());

TEST(GpuCalls, ReturnBeforeTheyAreDone) {
  if (const std::string why = lack_of(2); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{2};
  attach(world);
  for (const std::string& error : world.run([&](Rank rank) {
         const OwnStream stream{world.device(rank)};
         std::vector<float> data(1000, 1.0F);
         const std::size_t bytes = data.size() * sizeof(float);
         auto* const there = reinterpret_cast<float*>(world.memory(rank)->allocate(bytes));
         auto* const raw = reinterpret_cast<std::byte*>(there);
         world.memory(rank)->copy(raw, reinterpret_cast<std::byte*>(data.data()), bytes);
         const std::span<float> all{there, data.size()};
         for (int i = 0; i < 10; ++i) world[rank].all_reduce(all, sum, {.stream = stream.get()});
         cuda::wait(world[rank], stream.get(), test::kAmple);
         world.memory(rank)->copy(reinterpret_cast<std::byte*>(data.data()), raw, bytes);
         EXPECT_EQ(data.back(), 1024.0F);
         world.memory(rank)->deallocate(raw, bytes);
       }))
    EXPECT_EQ(error, "");
}

TEST(GpuCalls, SayWhatIsWrongWithMemoryAndStreams) {
  if (const std::string why = lack_of(2); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{2};
  attach(world);
  for (const std::string& error : world.run([&](Rank rank) {
         const Rank other = 1 - rank;
         const OwnStream stream{world.device(rank)};
         const OwnStream foreign{world.device(other)};
         std::vector<float> host(4);
         auto* const theirs = reinterpret_cast<float*>(world.memory(other)->allocate(64));
         const auto refusal = [&](std::span<float> data, Stream on) -> std::string {
           try {
             world[rank].all_reduce(data, sum, {.stream = on});
           } catch (const Error& caught) {
             EXPECT_EQ(caught.code(), ErrorCode::invalid_argument);
             return caught.what();
           }
           return "no error";
         };
         const std::string own = "GPU " + std::to_string(rank);
         EXPECT_EQ(refusal(host, stream.get()),
                   "the input lies in memory that " + own +
                       " does not see; give memory of it, or leave Options::stream out");
         EXPECT_EQ(refusal({theirs, 4}, stream.get()),
                   "the input lies in memory of GPU " + std::to_string(other) +
                       "; give memory of " + own + ", which is attached to this communicator");
         EXPECT_EQ(refusal(host, foreign.get()),
                   "the stream is none of " + own +
                       ", which is attached to this communicator; nor is one of a green context, "
                       "or of any other than the primary one");
         world[rank].all_reduce(host, sum);  // the host's calls go on
         world.memory(other)->deallocate(reinterpret_cast<std::byte*>(theirs), 64);
       }))
    EXPECT_EQ(error, "");
}

/// NCCL connects ranks when they first call, for which the timeout is that of calls.
TEST(GpuCalls, MayComeLaterThanTheTimeoutOfTheStart) {
  if (const std::string why = lack_of(2); !why.empty()) GTEST_SKIP() << why;
  setenv("CUDA_STANDIN_CONNECT", "at_call", 1);
  GpuWorld world{2};
  for (const std::string& error : world.run([&](Rank rank) {
         cuda::attach(world[rank], {.device = rank, .timeout = 1s});
         const OwnStream stream{world.device(rank)};
         DeviceFloats data{world.memory(rank), 100};
         data.store(std::vector<float>(100, 1.0F));
         if (rank == 1) std::this_thread::sleep_for(1500ms);
         world[rank].all_reduce(data.span(), sum, {.stream = stream.get()});
         cuda::wait(world[rank], stream.get(), test::kAmple);
         EXPECT_EQ(data.load(), std::vector<float>(100, 2.0F));
       }))
    EXPECT_EQ(error, "");
  unsetenv("CUDA_STANDIN_CONNECT");
}

TEST(GpuCalls, AreComparedWhereThatIsAskedFor) {
  if (const std::string why = lack_of(2); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{2};
  const auto errors = world.run([&](Rank rank) {
    cuda::attach(world[rank], {.device = rank, .compare_calls = true, .timeout = test::kAmple});
    const OwnStream stream{world.device(rank)};
    auto* const data = reinterpret_cast<float*>(world.memory(rank)->allocate(400));
    const auto call = [&](std::size_t count) {
      world[rank].all_reduce(std::span<float>{data, count}, sum, {.stream = stream.get()});
    };
    call(100);
    cuda::wait(world[rank], stream.get(), test::kAmple);
    EXPECT_THROW(call(rank == 0 ? 50 : 51), Error);
    world.memory(rank)->deallocate(reinterpret_cast<std::byte*>(data), 400);
    call(100);
  });
  for (const std::string& error : errors)
    EXPECT_NE(error.find("rank 1 calls something else on its stream than rank 0"),
              std::string::npos)
        << error;
}

/// Rank 1 has less left.
TEST(GpuAllocation, FailsOnAllRanksWhereOneHasNoMemory) {
  if (const std::string why = lack_of(2); !why.empty()) GTEST_SKIP() << why;
  constexpr std::size_t kBytes = std::size_t{100} << 20U;
  GpuWorld world{2};
  attach(world);
  const auto allocate = [&](Rank rank, std::size_t bytes) {
    static_cast<void>(cuda::allocate<std::byte>(world[rank], bytes));
  };
  for (const std::string& error : world.run([&](Rank rank) {
         std::vector<std::byte*> taken;
         const auto take_all = [&] {
           for (;;) taken.push_back(world.memory(rank)->allocate(kBytes));
         };
         if (rank == 1) {
           EXPECT_THROW(take_all(), std::bad_alloc);
         }
         const auto give_back = [&](std::vector<std::byte*>* all) {
           for (std::byte* const data : *all) world.memory(rank)->deallocate(data, kBytes);
         };
         const std::unique_ptr<std::vector<std::byte*>, decltype(give_back)> given{&taken,
                                                                                   give_back};
         allocate(rank, kBytes);
       }))
    EXPECT_EQ(error, "rank 1 cannot allocate memory of its GPU: memory of the GPU is exhausted");
  for (const std::string& error : world.run([&](Rank rank) { allocate(rank, 1000); }))
    EXPECT_EQ(error, "") << "it goes on";
}

/// The checks at the end would find memory that is left.
TEST(GpuAllocation, EndsInAnyThread) {
  if (const std::string why = lack_of(2); !why.empty()) GTEST_SKIP() << why;
  std::vector<Buffer<float>> buffers(2);
  GpuWorld world{2};
  attach(world);
  for (const std::string& error : world.run([&](Rank rank) {
         buffers[static_cast<std::size_t>(rank)] = cuda::allocate<float>(world[rank], 1000);
       }))
    EXPECT_EQ(error, "");
  buffers.clear();
}

TEST(GpuAllocation, IsOfTheSameSizeOnAllRanks) {
  if (const std::string why = lack_of(2); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{2};
  attach(world);
  for (const std::string& error : world.run([&](Rank rank) {
         static_cast<void>(cuda::allocate<std::byte>(world[rank], rank == 0 ? 1000 : 1001));
       }))
    EXPECT_EQ(error,
              "rank 1 allocates 1001 bytes of its GPU, and rank 0 1000; all ranks must allocate "
              "as many");
}

TEST(GpuCalls, KeepTheLevelThatIsAskedForWhateverIsForced) {
  if (const std::string why = lack_of(2); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{2};
  attach(world);
  const auto errors = world.run([&](Rank rank) {
    const OwnStream stream{world.device(rank)};
    auto memory = cuda::allocate<float>(world[rank], 100);
    world[rank].all_reduce(std::span{memory.data(), 100}, sum,
                           {.algorithm = "native",
                            .determinism = Determinism::size_invariant,
                            .stream = stream.get()});
  });
  for (const std::string& error : errors)
    EXPECT_NE(error.find("'native' cannot serve: its bits are its own, and size_invariant"),
              std::string::npos)
        << error;
}

TEST(GpuAttach, NamesRanksThatHaveOneDevice) {
  if (const std::string why = lack_of(3); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{3};
  const auto errors = world.run([&](Rank rank) {
    cuda::attach(world[rank], {.device = rank == 2 ? 0 : rank, .timeout = test::kAmple});
  });
  for (const std::string& error : errors)
    EXPECT_EQ(error,
              "ranks 0 and 2 have the same GPU; give each rank its own, such as by "
              "cudaSetDevice(local rank) before");
}

TEST(GpuAttach, IsByTheSameOnAllRanks) {
  if (const std::string why = lack_of(2); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{2};
  for (const std::string& error : world.run([&](Rank rank) {
         cuda::attach(world[rank], {.device = rank, .transport = rank == 0 ? "nccl" : "host"});
       }))
    EXPECT_EQ(error,
              "rank 1 attaches its GPU by 'host' without visible memory, and rank 0 by 'nccl' "
              "without visible memory; all ranks must say the same");
}

TEST(GpuAttach, IsNeededToWait) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{1};
  EXPECT_THROW(cuda::wait(world[0], nullptr, 1s), Error);
}

}  // namespace
}  // namespace tutti::harness

// Messages of GPUs over the host's transport, on the stand-in for the driver: what goes wrong, and
// that streams then go on.
#include <algorithm>
#include <chrono>
#include <functional>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tutti/cuda.hpp>
#include <tutti/spi/communicator.hpp>
#include <tutti/testing.hpp>

#include "backends/cuda/peers/device_peers.hpp"
#include "device_floats.hpp"
#include "host_world.hpp"
#include "runtime/launch/config.hpp"
#include "tests/support/patience.hpp"

namespace tutti::harness {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kCount = 1'000'000;

/// @return whether a text has another one in it.
bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(HostFailures, AreTheSameOnAllRanksWhereCallsDiffer) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{2};
  const auto errors = world.run([&](Rank rank) {
    attach_by_host(world, rank);
    const OwnStream stream{world.device(rank)};
    DeviceFloats data{world.memory(rank), kCount};
    const std::span<float> mine = data.span().first(rank == 0 ? kCount : kCount - 1);
    world[rank].all_reduce(mine, sum, {.algorithm = "direct", .stream = stream.get()});
    try {
      cuda::wait(world[rank], stream.get(), test::kAmple);
    } catch (const Error& error) {
      EXPECT_EQ(error.cause(), ErrorCode::mismatch);
      EXPECT_TRUE(comes_to_an_end(world.device(rank), stream.get()));
      throw;
    }
  });
  EXPECT_TRUE(says(errors[0], "runs another call")) << errors[0];
  EXPECT_EQ(errors[0], errors[1]);
}

TEST(HostFailures, AreToldByTheDeadline) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{2};
  std::latch is_told{1};
  const auto errors = world.run([&](Rank rank) {
    attach_by_host(world, rank);
    const OwnStream stream{world.device(rank)};
    DeviceFloats data{world.memory(rank), kCount};
    const auto call = [&] {
      world[rank].all_reduce(data.span(), sum, {.algorithm = "ring", .stream = stream.get()});
    };
    if (rank == 0) {
      for (int i = 0; i < 3; ++i) call();
      try {
        cuda::wait(world[0], stream.get(), 200ms);
        ADD_FAILURE() << "no error";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::timeout) << error.what();
      }
      is_told.count_down();
      EXPECT_TRUE(comes_to_an_end(world.device(0), stream.get()));
      EXPECT_THROW(call(), Error);
      return;
    }
    is_told.wait();
    call();  // throws, or
    cuda::wait(world[1], stream.get(), test::kAmple);
  });
  EXPECT_EQ(errors[0], "");
  EXPECT_TRUE(says(errors[1], "did not end in time")) << errors[1];
}

/// A rank that has ended. Over TCP others find that out when its process ends, which here is ours
/// too: so it may be their own time that is over.
TEST(HostFailures, AreFoundWhereARankEnds) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  for (const char* const transports : {"shm", "tcp"}) {
    GpuWorld world{2, transports};
    const bool is_tcp = std::string_view{transports} == "tcp";
    const auto errors = world.run([&](Rank rank) {
      attach_by_host(world, rank, 1s);
      const OwnStream stream{world.device(rank)};
      DeviceFloats data{world.memory(rank), kCount};
      world[rank].all_reduce(data.span(), sum, {.algorithm = "ring", .stream = stream.get()});
      cuda::wait(world[rank], stream.get(), test::kAmple);
      if (rank == 1) return world.end(1);
      world[0].all_reduce(data.span(), sum, {.algorithm = "ring", .stream = stream.get()});
      try {
        cuda::wait(world[0], stream.get(), is_tcp ? Duration{500ms} : test::kAmple);
      } catch (const Error& error) {
        EXPECT_TRUE(is_tcp || error.code() != ErrorCode::timeout) << error.what();
        EXPECT_TRUE(comes_to_an_end(world.device(0), stream.get()));
        throw;
      }
    });
    EXPECT_NE(errors[0], "") << transports;
    EXPECT_EQ(errors[1], "") << transports;
  }
}

/// @return an operator that adds up. @param before is called before it does so on a GPU.
Operator sum_on(const std::shared_ptr<cuda::DeviceMemory>& memory, std::function<void()> before) {
  const auto add = [=](const void* left, const void* right, void* out, std::size_t count,
                       Stream stream) {
    memory->wait(stream.handle());
    before();
    std::vector<float> a(count), b(count);
    const std::size_t bytes = count * sizeof(float);
    memory->copy(reinterpret_cast<std::byte*>(a.data()), static_cast<const std::byte*>(left),
                 bytes);
    memory->copy(reinterpret_cast<std::byte*>(b.data()), static_cast<const std::byte*>(right),
                 bytes);
    std::ranges::transform(a, b, a.begin(), std::plus{});
    memory->copy(static_cast<std::byte*>(out), reinterpret_cast<const std::byte*>(a.data()), bytes);
  };
  return Operator{[](const void*, const void*, void*, std::size_t) {}, true}.with_device(add);
}

/// Every rank needs the part that rank 1 reduces, so no rank's call succeeds.
TEST(HostFailures, ReachRanksThatNeedAResult) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{3};
  const auto errors = world.run([&](Rank rank) {
    attach_by_host(world, rank);
    const OwnStream stream{world.device(rank)};
    DeviceFloats data{world.memory(rank), 100};
    const Operator op = sum_on(world.memory(rank), [rank] {
      if (rank == 1) throw std::runtime_error{"the kernel is missing"};
    });
    world[rank].all_reduce(data.span(), op, {.algorithm = "direct", .stream = stream.get()});
    cuda::wait(world[rank], stream.get(), test::kAmple);
  });
  for (const std::string& error : errors)
    EXPECT_TRUE(says(error, "the kernel is missing")) << error;
}

/// Every rank sends its whole vector before it reduces. So the other ranks have all they need when
/// rank 1 fails: their result is complete, and their next call reports the failure.
TEST(HostFailures, ReachRanksThatHaveTheirResultInTheNextCall) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{3};
  std::latch are_complete{2};
  const auto errors = world.run([&](Rank rank) {
    attach_by_host(world, rank);
    const OwnStream stream{world.device(rank)};
    DeviceFloats data{world.memory(rank), 100};
    data.store(std::vector<float>(100, static_cast<float>(rank + 1)));
    const Operator op = sum_on(world.memory(rank), [&are_complete, rank] {
      if (rank != 1) return;
      are_complete.wait();
      throw std::runtime_error{"the kernel is missing"};
    });
    const Options how{.algorithm = "one_shot", .stream = stream.get()};
    world[rank].all_reduce(data.span(), op, how);
    cuda::wait(world[rank], stream.get(), test::kAmple);
    EXPECT_NE(rank, 1);
    EXPECT_EQ(data.load(), std::vector<float>(100, 6.0F));
    are_complete.count_down();
    world[rank].all_reduce(data.span(), op, how);
    cuda::wait(world[rank], stream.get(), test::kAmple);
  });
  for (const std::string& error : errors)
    EXPECT_TRUE(says(error, "the kernel is missing")) << error;
}

TEST(HostFailures, EndWithTheirCommunicatorInTime) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{2};
  for (const std::string& error : world.run([&](Rank rank) {
         attach_by_host(world, rank, 1s);
         if (rank == 1) return;
         const OwnStream stream{world.device(0)};
         DeviceFloats data{world.memory(0), kCount};
         for (int i = 0; i < 3; ++i)
           world[0].all_reduce(data.span(), sum, {.stream = stream.get()});
         const auto start = Clock::now();
         world.end(0);
         EXPECT_LT(Clock::now() - start, test::kLongBefore);
         EXPECT_GE(Clock::now() - start, 1s);
         EXPECT_TRUE(comes_to_an_end(world.device(0), stream.get()));
       }))
    EXPECT_EQ(error, "");
}

/// Calls that read memory of a rank that does not come. Their stream is no more when they end.
TEST(HostFailures, EndCallsOnMemoryOfPeersInTime) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{2};
  for (const std::string& error : world.run([&](Rank rank) {
         attach_by_host(world, rank, 1s, true);
         Buffer<float> data = cuda::allocate<float>(world[rank], kCount);
         if (rank == 1) return;
         {
           const OwnStream stream{world.device(0)};
           world[0].all_reduce(data.span(), sum,
                               {.algorithm = "ring", .visible = true, .stream = stream.get()});
         }
         const auto start = Clock::now();
         world.end(0);
         EXPECT_LT(Clock::now() - start, test::kLongBefore);
         EXPECT_GE(Clock::now() - start, 1s);
       }))
    EXPECT_EQ(error, "");
}

/// A call whose stream is held by other work, which may never end.
TEST(HostFailures, EndACallThatIsNotReady) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{2, "shm", 1};
  on_host(world, [&](Rank rank) {
    const OwnStream stream{world.device(rank)};
    DeviceFloats data{world.memory(rank), 100};
    {
      const Barrier closed{world.memory(rank), stream.get()};
      world[rank].all_reduce(data.span(), sum, {.stream = stream.get()});
      EXPECT_THROW(cuda::wait(world[rank], stream.get(), 100ms), Error);
    }
    EXPECT_TRUE(comes_to_an_end(world.device(rank), stream.get()));
  });
}

TEST(HostFailures, AreRefusedOnAllRanksAtTheStart) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{2};
  auto errors = world.run([&](Rank rank) {
    cuda::attach(world[rank], {.device = 0, .transport = rank == 1 ? "pigeons" : "host"});
  });
  for (const std::string& error : errors)
    EXPECT_EQ(
        error,
        "rank 1 cannot attach a GPU: messages of GPUs do not go by 'pigeons'; say \"nccl\" or "
        "\"host\"");
  errors = world.run([&](Rank rank) {
    cuda::attach(world[rank], {.device = rank == 1 ? 77 : 0, .transport = "host"});
  });
  for (const std::string& error : errors)
    EXPECT_TRUE(says(error, "rank 1 cannot attach a GPU: there is no GPU 77")) << error;
  for (const std::string& error : world.run([&](Rank rank) { world[rank].barrier(); }))
    EXPECT_EQ(error, "");
}

TEST(HostFailures, NameACommunicatorThatCannotBeDivided) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  sim::Cluster cluster{{.size = 1}};
  Communicator alone = make_communicator(cluster.transport(0), make_host_memory());
  try {
    cuda::attach(alone, {.device = 0, .transport = "host"});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_TRUE(says(error.what(),
                     "rank 0 cannot move memory of its GPU over the host: a communicator made from "
                     "a transport alone cannot make groups"))
        << error.what();
  }
}

/// Whether devices of this process lack something, as the stand-in's environment sets it.
bool is_lacked(const std::string& what) {
  const auto environment = runtime::process_environment();
  const auto found = environment.find("CUDA_STANDIN_LACKS");
  return found != environment.end() && found->second == what;
}

std::string text_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(HostLacks, OperationsOfStreams) {
  if (!is_lacked("memops")) GTEST_SKIP() << "set CUDA_STANDIN_LACKS=memops";
  GpuWorld world{2};
  const std::string why =
      "streams of GPU 0 cannot wait for memory (cuStreamWaitValue64); this needs a newer GPU or "
      "driver";
  for (const std::string& error : world.run([&](Rank rank) {
         EXPECT_EQ(text_of([&] { attach_by_host(world, rank); }),
                   "rank 0 cannot move memory of its GPU over the host: " + why);
         const auto device =
             std::make_shared<const cuda::Device>(std::make_shared<const cuda::Driver>(), rank);
         EXPECT_THROW(static_cast<void>(cuda::DevicePeers::connect(world[rank], device, 5s)),
                      cuda::SharedRegion::Unseen);
       }))
    EXPECT_EQ(error, "");
}

/// A device as under WSL, on a virtual GPU, or in a container of its own.
TEST(HostLacks, CudaIpc) {
  if (!is_lacked("ipc")) GTEST_SKIP() << "set CUDA_STANDIN_LACKS=ipc";
  GpuWorld world{2};
  for (const bool visible : {false, true})
    for (const std::string& error : world.run([&](Rank rank) {
           Communicator part = world[rank].split(0);
           cuda::attach(
               part,
               {.device = rank, .transport = "host", .visible = visible, .timeout = test::kAmple});
           EXPECT_EQ(streams_of(part)->peers() != nullptr, visible) << "threads need none";
           Buffer<float> data = cuda::allocate<float>(part, 1000);
           part.all_reduce(data.span(), sum,
                           {.algorithm = "ring", .visible = visible, .stream = Stream::own()});
         }))
      EXPECT_EQ(error, "");
}

TEST(HostLacks, MemoryPools) {
  if (!is_lacked("pools")) GTEST_SKIP() << "set CUDA_STANDIN_LACKS=pools";
  EXPECT_EQ(text_of([] {
              cuda::Device{std::make_shared<const cuda::Driver>(), 0};
            }),
            "GPU 0 has no memory pools (cuMemAllocAsync), in which calls on streams have their "
            "scratch");
}

}  // namespace
}  // namespace tutti::harness

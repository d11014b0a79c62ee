// Ranks that are processes, each with a GPU, on the stand-ins for the driver and NCCL: messages by
// NCCL, over the host's shared memory, over an MPI, and in memory of peers by CUDA IPC.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <tutti/cuda.hpp>
#include <tutti/mpi.hpp>
#include <tutti/spi/communicator.hpp>

#include "device_memory.hpp"
#include "devices.hpp"
#include "runtime/launch/config.hpp"
#include "tests/support/patience.hpp"

namespace tutti::harness {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kCount = 50'000;

/// Every rank contributes its number plus one, times an element's modulo seven.
void check_sums(Communicator& world, std::span<float> there, cuda::DeviceMemory& memory,
                const Options& options) {
  std::vector<float> values(there.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((static_cast<std::size_t>(world.rank()) + 1) * (i % 7));
  auto* const raw = reinterpret_cast<std::byte*>(there.data());
  memory.copy(raw, reinterpret_cast<const std::byte*>(values.data()), there.size_bytes());
  world.all_reduce(there, sum, options);
  memory.copy(reinterpret_cast<std::byte*>(values.data()), raw, there.size_bytes());
  const auto ranks = static_cast<std::size_t>(world.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(values[i], static_cast<float>(ranks * (ranks + 1) / 2 * (i % 7))) << i;
}

void check_world(Communicator& world, std::string_view transport) {
  cuda::attach(world, {.device = device_of(world.rank()),
                       .transport = transport,
                       .visible = transport == "host",
                       .timeout = test::kAmple});
  const auto device = std::make_shared<const cuda::Device>(std::make_shared<const cuda::Driver>(),
                                                           device_of(world.rank()));
  cuda::DeviceMemory memory{device};
  const Options own{.stream = Stream::own()};
  std::byte* const data = memory.allocate(kCount * sizeof(float));
  const std::span<float> elements{reinterpret_cast<float*>(data), kCount};
  check_sums(world, elements, memory, own);
  check_sums(world, elements, memory, {.algorithm = "ring", .stream = Stream::own()});
  Communicator part = world.split(world.rank() % 2, 0);
  check_sums(part, elements, memory, own);
  Buffer<float> seen = cuda::allocate<float>(world, kCount);
  for (const char* const algorithm : {"ring", "direct", "recursive_doubling"})
    check_sums(world, seen.span(), memory,
               {.algorithm = algorithm, .visible = true, .stream = Stream::own()});
  memory.deallocate(data, kCount * sizeof(float));
}

/// Without CUDA IPC, ranks that are processes cannot access each other's memory: "host" sends
/// messages, and "nccl" reports it.
TEST(GpuProcessesWithoutIpc, SendMessages) {
  const auto environment = runtime::process_environment();
  const auto lacks = environment.find("CUDA_STANDIN_LACKS");
  if (lacks == environment.end() || lacks->second != "ipc")
    GTEST_SKIP() << "set CUDA_STANDIN_LACKS=ipc";
  Communicator world = mpi::init(MPI_COMM_WORLD);
  ASSERT_EQ(world.size(), 2);
  check_world(world, "host");
  EXPECT_EQ(streams_of(world)->peers(), nullptr);
  Communicator other = world.split(0);
  try {
    cuda::attach(other, {.device = world.rank(), .visible = true, .timeout = test::kAmple});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string{error.what()}.find("CUDA_ERROR_NOT_SUPPORTED"), std::string::npos)
        << error.what();
  }
}

TEST(GpuProcesses, SendByNccl) {
  Communicator world = mpi::init(MPI_COMM_WORLD);
  if (const std::string why = lack_of(world.size()); !why.empty()) GTEST_SKIP() << why;
  check_world(world, "nccl");
}

TEST(GpuProcesses, SendOverTheHostAndSeePeers) {
  Communicator world = mpi::init(MPI_COMM_WORLD);
  check_world(world, "host");
  EXPECT_EQ(streams_of(world)->peers() != nullptr, world.size() > 1);
}

TEST(GpuProcesses, SendOverAnMpi) {
  Communicator world = mpi::communicator(MPI_COMM_WORLD);
  int threads = 0;
  MPI_Query_thread(&threads);
  if (threads == MPI_THREAD_MULTIPLE) return check_world(world, "host");
  try {
    check_world(world, "host");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string{error.what()}.find("MPI_THREAD_MULTIPLE"), std::string::npos)
        << error.what();
  }
}

/// A process that is through waits until the others see memory of its GPU no more.
TEST(GpuProcesses, EndTogether) {
  std::optional<Communicator> world{mpi::init(MPI_COMM_WORLD)};
  const Rank rank = world->rank();
  cuda::attach(
      *world,
      {.device = device_of(rank), .transport = "host", .visible = true, .timeout = test::kAmple});
  if (rank > 0) std::this_thread::sleep_for(300ms);
  const std::int64_t start = Clock::now().time_since_epoch().count();
  world.reset();
  const auto end = Clock::now();
  std::int64_t last = 0;  // one clock for all processes of a machine
  MPI_Allreduce(&start, &last, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  EXPECT_GE(end.time_since_epoch().count(), last);
  EXPECT_LT(end.time_since_epoch() - Clock::duration{start}, test::kLongBefore);
}

/// The other ranks' later calls report the rank that has ended.
TEST(GpuProcesses, FindARankThatHasEnded) {
  std::optional<Communicator> world{mpi::init(MPI_COMM_WORLD)};
  const Rank rank = world->rank();
  if (world->size() == 1) GTEST_SKIP() << "there is nobody to go on";
  cuda::attach(*world,
               {.device = device_of(rank), .transport = "host", .visible = true, .timeout = 1s});
  const auto start = Clock::now();
  if (rank == 0) {
    world.reset();
    EXPECT_LT(Clock::now() - start, test::kLongBefore);
    return;
  }
  cuda::DeviceMemory memory{std::make_shared<const cuda::Device>(
      std::make_shared<const cuda::Driver>(), device_of(rank))};
  std::byte* const data = memory.allocate(kCount * sizeof(float));
  const std::span<float> elements{reinterpret_cast<float*>(data), kCount};
  try {
    world->all_reduce(elements, sum, {.timeout = test::kAmple, .stream = Stream::own()});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(error.code(), ErrorCode::timeout) << error.what();
  }
  EXPECT_LT(Clock::now() - start, test::kLongBefore);
  memory.deallocate(data, kCount * sizeof(float));
}

}  // namespace
}  // namespace tutti::harness

// Ranks that are processes, each with a GPU, on the stand-ins for the driver and NCCL: messages by
// NCCL, over the host's shared memory, over an MPI, and in memory of peers by CUDA IPC.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tutti/cuda.hpp>
#include <tutti/mpi.hpp>
#include <tutti/spi/communicator.hpp>

#include "backends/cuda/device_memory.hpp"

namespace tutti::harness {
namespace {

using namespace std::chrono_literals;

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
  cuda::attach(world, {.device = world.rank(), .transport = transport, .timeout = 20s});
  const auto device = std::make_shared<const cuda::Device>(std::make_shared<const cuda::Driver>(),
                                                           world.rank());
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

TEST(GpuProcesses, SendByNccl) {
  Communicator world = mpi::init(MPI_COMM_WORLD);
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

}  // namespace
}  // namespace tutti::harness

// Messages of GPUs over an MPI, on the stand-in for the driver. No MPI sees memory of the stand-in,
// so what stands between it and tutti here makes it a CUDA-aware one.
#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <tutti/batch.hpp>
#include <tutti/cuda.hpp>
#include <tutti/mpi.hpp>

#include "device_floats.hpp"
#include "tests/backends/mpi/watchdog.hpp"
#include "tests/support/patience.hpp"

using namespace std::chrono_literals;
using tutti::cuda::Device;
using tutti::cuda::DeviceMemory;

int tutti::test::wanted_thread_level() {
  return MPI_THREAD_MULTIPLE;
}

namespace {

/// A message that the MPI has in memory of the host.
struct Bounced {
  std::byte* device;
  std::vector<std::byte> host;
};

/// What makes an MPI CUDA-aware.
struct Aware {
  bool says_so = false;
  std::shared_ptr<const Device> device{};
  std::shared_ptr<DeviceMemory> memory{};
  std::mutex mutex{};
  std::deque<Bounced> sent{};
  std::map<MPI_Request, Bounced> received{};
  std::size_t messages = 0;
  std::size_t shortest = ~std::size_t{0};
};
Aware aware;

bool is_on_device(const void* data) {
  if (aware.device == nullptr) return false;
  unsigned type = 0;
  CUpointer_attribute asked = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
  void* answer = &type;
  const Device::Current current{*aware.device};
  aware.device->driver().calls().pointer_attributes(1, &asked, &answer,
                                                    tutti::cuda::address_of(data));
  return type == CU_MEMORYTYPE_DEVICE;
}

void count(int bytes) {
  ++aware.messages;
  aware.shortest = std::min(aware.shortest, static_cast<std::size_t>(bytes));
}

template <class Function>
Function real(Function, const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

/// @param before what a request was that is done now.
void take_up(MPI_Request before) {
  const std::lock_guard lock{aware.mutex};
  const auto found = aware.received.find(before);
  if (found == aware.received.end()) return;
  const Bounced& bounced = found->second;
  aware.memory->copy(bounced.device, bounced.host.data(), bounced.host.size());
  aware.received.erase(found);
}

}  // namespace

extern "C" {

int MPIX_Query_cuda_support() {
  return aware.says_so ? 1 : 0;
}

int PMPI_Isend(const void* data, int bytes, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request* request) {
  static const auto call = real(&PMPI_Isend, "PMPI_Isend");
  if (!is_on_device(data)) return call(data, bytes, type, to, tag, comm, request);
  const std::lock_guard lock{aware.mutex};
  count(bytes);
  std::vector<std::byte>& host =
      aware.sent.emplace_back(nullptr, std::vector<std::byte>(static_cast<std::size_t>(bytes)))
          .host;
  aware.memory->copy(host.data(), static_cast<const std::byte*>(data), host.size());
  return call(host.data(), bytes, type, to, tag, comm, request);
}

int PMPI_Irecv(void* data, int bytes, MPI_Datatype type, int from, int tag, MPI_Comm comm,
               MPI_Request* request) {
  static const auto call = real(&PMPI_Irecv, "PMPI_Irecv");
  if (!is_on_device(data)) return call(data, bytes, type, from, tag, comm, request);
  const std::lock_guard lock{aware.mutex};
  count(bytes);
  Bounced bounced{static_cast<std::byte*>(data),
                  std::vector<std::byte>(static_cast<std::size_t>(bytes))};
  const int code = call(bounced.host.data(), bytes, type, from, tag, comm, request);
  aware.received.emplace(*request, std::move(bounced));
  return code;
}

int PMPI_Test(MPI_Request* request, int* done, MPI_Status* status) {
  static const auto call = real(&PMPI_Test, "PMPI_Test");
  const MPI_Request before = *request;
  const int code = call(request, done, status);
  if (*done != 0) take_up(before);
  return code;
}

int PMPI_Testsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  static const auto call = real(&PMPI_Testsome, "PMPI_Testsome");
  const std::vector<MPI_Request> before(requests, requests + count);
  const int code = call(count, requests, done, indices, statuses);
  for (int i = 0; *done != MPI_UNDEFINED && i < *done; ++i)
    take_up(before[static_cast<std::size_t>(indices[i])]);
  return code;
}
}

namespace tutti::harness {
namespace {

/// The most that a first message of tutti's carries over an MPI, which is in memory of the host.
constexpr std::size_t kFirst = 4000;

class MpiMessages : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_MULTIPLE) GTEST_SKIP() << "the MPI has no MPI_THREAD_MULTIPLE";
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    aware.says_so = GetParam();
    aware.device = std::make_shared<const Device>(std::make_shared<const cuda::Driver>(), rank_);
    aware.memory = std::make_shared<DeviceMemory>(aware.device);
    aware.messages = 0;
  }
  /// Threads of the MPI's are gone by now, but not the driver.
  void TearDown() override {
    aware.says_so = false;
    aware.sent.clear();
    aware.memory.reset();
    aware.device.reset();
  }
  /// What lies in memory of the device came from there only if the MPI said that it may.
  void expect_seen() {
    EXPECT_EQ(aware.messages > 0, GetParam());
    if (GetParam()) {
      EXPECT_GT(aware.shortest, kFirst);
    }
    EXPECT_TRUE(aware.received.empty());
  }
  int rank_ = 0;
};

TEST_P(MpiMessages, GiveTheRightSums) {
  {
    Communicator world = mpi::communicator(MPI_COMM_WORLD);
    cuda::attach(world, {.device = rank_, .transport = "host", .timeout = test::kAmple});
    const auto ranks = static_cast<std::size_t>(world.size());
    for (const std::size_t count : {1UL, 1000UL, 1001UL, 5'000UL, 2'000'003UL}) {
      DeviceFloats data{aware.memory, count};
      std::vector<float> values(count);
      std::vector<float> wanted(count);
      for (std::size_t i = 0; i < count; ++i) {
        values[i] = static_cast<float>((static_cast<std::size_t>(rank_) + 1) * (i % 7));
        wanted[i] = static_cast<float>(ranks * (ranks + 1) / 2 * (i % 7));
      }
      for (const char* const algorithm : {"ring", "direct"}) {
        data.store(values);
        world.all_reduce(data.span(), sum, {.algorithm = algorithm, .stream = Stream::own()});
        EXPECT_TRUE(data.load() == wanted) << count << " by " << algorithm;
      }
    }
  }
  expect_seen();
}

/// Messages on both sides of what an MPI takes keep their order between two ranks.
TEST_P(MpiMessages, KeepTheirOrder) {
  {
    Communicator world = mpi::communicator(MPI_COMM_WORLD);
    cuda::attach(world, {.device = rank_, .transport = "host", .timeout = test::kAmple});
    const std::vector<std::size_t> counts{10, 5000, 1000, 1001, 300'000, 1};
    std::deque<DeviceFloats> data;
    for (const std::size_t count : counts) {
      data.emplace_back(aware.memory, count);
      data.back().store(std::vector<float>(count, rank_ == 0 ? static_cast<float>(count) : 0.0F));
    }
    const Options how{.stream = Stream::own()};
    batch([&] {
      for (DeviceFloats& each : data) {
        if (rank_ == 0) world.send(std::span<const float>{each.span()}, 1, 0, how);
        if (rank_ == 1) world.recv(each.span(), 0, 0, how);
      }
    });
    for (std::size_t i = 0; rank_ <= 1 && i < counts.size(); ++i)
      EXPECT_EQ(data[i].load(), std::vector<float>(counts[i], static_cast<float>(counts[i]))) << i;
    world.barrier();
  }
  if (rank_ <= 1) expect_seen();
}

INSTANTIATE_TEST_SUITE_P(CudaAware, MpiMessages, ::testing::Bool());

}  // namespace
}  // namespace tutti::harness

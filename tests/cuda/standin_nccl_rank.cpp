#include "standin_nccl_rank.hpp"
#include "tests/support/patience.hpp"

#include <cstdlib>
#include <utility>

namespace tutti::nccl_standin {
namespace {

CUdeviceptr address_of(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

// The driver reads this when it is initialised, and child processes inherit it.
[[maybe_unused]] const int environment_set =
    setenv("CUDA_STANDIN_DEVICES", std::to_string(kDevices).c_str(), 1);

}  // namespace

OnDevice::OnDevice(int device) : device_{device} {
  EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&context_, device), CUDA_SUCCESS);
  use();
  EXPECT_EQ(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
}

OnDevice::~OnDevice() {
  use();
  for (const CUdeviceptr memory : memory_) EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(device_), CUDA_SUCCESS);
}

void* OnDevice::allocate(std::size_t bytes) {
  CUdeviceptr memory = 0;
  EXPECT_EQ(cuMemAlloc(&memory, bytes), CUDA_SUCCESS);
  memory_.push_back(memory);
  return reinterpret_cast<void*>(memory);  // NOLINT(performance-no-int-to-ptr)
}

void OnDevice::copy(void* to, const void* from, std::size_t bytes) const {
  EXPECT_EQ(cuMemcpyAsync(address_of(to), address_of(from), bytes, stream_), CUDA_SUCCESS);
  EXPECT_EQ(wait(), CUDA_SUCCESS);
}

Rank::Rank(int number, int ranks, const ncclUniqueId& id, bool blocking)
    : OnDevice{number}, rank{number}, size{ranks} {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = blocking ? 1 : 0;
  started = ncclCommInitRankConfig(&communicator, size, id, rank, &config);
}

Rank::~Rank() {
  use();
  if (communicator != nullptr) {
    EXPECT_EQ(ncclCommDestroy(communicator), ncclSuccess);
  }
}

ncclResult_t Rank::state() const {
  ncclResult_t result = ncclInProgress;
  while (result == ncclInProgress) {
    EXPECT_EQ(ncclCommGetAsyncError(communicator, &result), ncclSuccess);
    if (result == ncclInProgress) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return result;
}

ncclResult_t Rank::error() const {
  becomes([this] { return state() != ncclSuccess; });
  return state();
}

void Rank::abort() {
  EXPECT_EQ(ncclCommAbort(std::exchange(communicator, nullptr)), ncclSuccess);
}

ncclUniqueId make_id() {
  ncclUniqueId id{};
  EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  return id;
}

bool becomes(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + test::kAmple;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return true;
}

void with_ranks(int size, const std::function<void(Rank&)>& body, bool blocking) {
  const ncclUniqueId id = make_id();
  std::vector<std::thread> threads;
  for (int number = 0; number < size; ++number)
    threads.emplace_back([&, number] {
      Rank rank{number, size, id, blocking};
      ASSERT_EQ(rank.started, blocking ? ncclSuccess : ncclInProgress);
      ASSERT_EQ(rank.state(), ncclSuccess);
      body(rank);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace tutti::nccl_standin

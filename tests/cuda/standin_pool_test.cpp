// Pools of memory, in the stand-in for the CUDA driver: what they hold, what waits for what, and
// who may access them.
#include <chrono>
#include <thread>

#include "tests/cuda/standin_devices.hpp"

namespace tutti::standin {
namespace {

using namespace std::chrono_literals;

/// A pool of a device.
class OwnPool {
 public:
  explicit OwnPool(int device) {
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = device;
    EXPECT_EQ(cuMemPoolCreate(&pool_, &properties), CUDA_SUCCESS);
  }
  OwnPool(const OwnPool&) = delete;
  OwnPool& operator=(const OwnPool&) = delete;
  ~OwnPool() { EXPECT_EQ(cuMemPoolDestroy(pool_), CUDA_SUCCESS); }

  CUmemoryPool get() const { return pool_; }
  CUdeviceptr allocate(std::size_t bytes, CUstream stream) const {
    CUdeviceptr data = 0;
    EXPECT_EQ(cuMemAllocFromPoolAsync(&data, bytes, pool_, stream), CUDA_SUCCESS);
    return data;
  }
  CUresult open_to(int device, CUmemAccess_flags flags) const {
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = device;
    access.flags = flags;
    return cuMemPoolSetAccess(pool_, &access, 1);
  }

 private:
  CUmemoryPool pool_ = nullptr;
};

/// @return whether an allocation of another stream waits for a free. @param next how many bytes of
/// the kBytes that are freed.
bool waits(const OnDevice& own, const OwnPool& pool, std::size_t next) {
  CUstream other = nullptr;
  EXPECT_EQ(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  const CUdeviceptr first = pool.allocate(kBytes, own.stream());
  EXPECT_EQ(own.wait(), CUDA_SUCCESS);
  Gate gate;
  gate.close(own.stream());
  EXPECT_EQ(cuMemFreeAsync(first, own.stream()), CUDA_SUCCESS);
  const CUdeviceptr second = pool.allocate(next, other);
  std::this_thread::sleep_for(20ms);
  const bool waits = cuStreamQuery(other) == CUDA_ERROR_NOT_READY;
  gate.open();
  EXPECT_EQ(cuMemFreeAsync(second, other), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(other), CUDA_SUCCESS);
  EXPECT_EQ(own.wait(), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(other), CUDA_SUCCESS);
  return waits;
}

TEST(CudaStandinPools, HaveAllocationsWaitForFreesUnlessToldOtherwise) {
  const OnDevice own{0};
  const OwnPool pool{0};
  EXPECT_TRUE(waits(own, pool, kBytes));
  EXPECT_FALSE(waits(own, pool, kBytes + 1));
  int may = 0;
  constexpr auto kDependencies = CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
  EXPECT_EQ(cuMemPoolSetAttribute(pool.get(), kDependencies, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemPoolSetAttribute(pool.get(), kDependencies, &may), CUDA_SUCCESS);
  EXPECT_FALSE(waits(own, pool, kBytes));
}

TEST(CudaStandinPools, AreOpenToWhomTheyAreOpened) {
  const OnDevice first{0};
  const OnDevice second{1};
  const OwnPool pool{1};
  const CUdeviceptr data = pool.allocate(kBytes, second.stream());
  second.put(data, 3);
  first.use();
  EXPECT_EQ(pool.open_to(1, CU_MEM_ACCESS_FLAGS_PROT_NONE), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(pool.open_to(2, CU_MEM_ACCESS_FLAGS_PROT_READ), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(pool.open_to(4, CU_MEM_ACCESS_FLAGS_PROT_READWRITE), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(OwnPool{0}.open_to(3, CU_MEM_ACCESS_FLAGS_PROT_READWRITE), CUDA_ERROR_INVALID_VALUE)
      << "nothing joins them";
  EXPECT_EQ(pool.open_to(0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE), CUDA_SUCCESS);
  EXPECT_EQ(first.run_copy(first.memory(), data), CUDA_SUCCESS);
  EXPECT_EQ(first.get(first.memory()), std::vector<float>(kCount, 3));
  EXPECT_EQ(pool.open_to(0, CU_MEM_ACCESS_FLAGS_PROT_NONE), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxEnablePeerAccess(second.context(), 0), CUDA_SUCCESS);
  EXPECT_EQ(first.run_copy(first.memory(), data), CUDA_ERROR_ILLEGAL_ADDRESS);
  second.use();
  EXPECT_EQ(cuMemFreeAsync(data, second.stream()), CUDA_SUCCESS);
}

}  // namespace
}  // namespace tutti::standin

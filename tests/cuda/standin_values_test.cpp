// Values that streams write and wait for, in the stand-in for the CUDA driver.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>

#include "tests/cuda/standin_context.hpp"

namespace tutti::standin {
namespace {

/// A fixture with pinned words, which are zero at first.
class CudaStandinValues : public CudaStandin {
 protected:
  void SetUp() override {
    CudaStandin::SetUp();
    ASSERT_EQ(cuMemHostAlloc(&words_, kWords * sizeof(std::uint64_t), 0), CUDA_SUCCESS);
    for (std::size_t i = 0; i < kWords; ++i) word(i) = 0;
    ASSERT_EQ(cuStreamCreate(&other_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  }
  void TearDown() override {
    cuStreamDestroy(other_);
    cuMemFreeHost(words_);
    CudaStandin::TearDown();
  }

  std::uint64_t& word(std::size_t i) { return static_cast<std::uint64_t*>(words_)[i]; }
  CUdeviceptr place(std::size_t i) { return address_of(&word(i)); }
  void store(std::size_t i, std::uint64_t value) { std::atomic_ref{word(i)}.store(value); }

  /// Whether the stream has still not gone on after a while.
  bool waits() {
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
    return cuStreamQuery(stream_) == CUDA_ERROR_NOT_READY;
  }

  /// A wait that goes on once the value is there, and not with the one before.
  void expect_goes_on(unsigned condition, std::uint64_t wanted, std::uint64_t before,
                      std::uint64_t enough) {
    store(0, before);
    EXPECT_EQ(cuStreamWaitValue64(stream_, place(0), wanted, condition), CUDA_SUCCESS);
    EXPECT_TRUE(waits()) << condition << ' ' << before;
    store(0, enough);
    EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
    // The lower half by itself; what lies behind it does not matter.
    store(0, before | std::uint64_t{0xFFFFFFFF} << 32U);
    const auto low = static_cast<cuuint32_t>(wanted);
    EXPECT_EQ(cuStreamWaitValue32(stream_, place(0), low, condition), CUDA_SUCCESS);
    EXPECT_TRUE(waits()) << condition << ' ' << before;
    store(0, enough);
    EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  }

  static constexpr std::size_t kWords = 4;
  void* words_ = nullptr;
  CUstream other_ = nullptr;
};

TEST_F(CudaStandinValues, EachConditionIsWaitedFor) {
  expect_goes_on(CU_STREAM_WAIT_VALUE_GEQ, 5, 4, 6);
  expect_goes_on(CU_STREAM_WAIT_VALUE_GEQ, 5, 0xFFFFFFFFFFFFFFFF, 5);
  expect_goes_on(CU_STREAM_WAIT_VALUE_EQ, 5, 6, 5);
  expect_goes_on(CU_STREAM_WAIT_VALUE_AND, 6, 1, 3);
  expect_goes_on(CU_STREAM_WAIT_VALUE_NOR, ~std::uint64_t{3}, 3, 1);
}

TEST_F(CudaStandinValues, AStreamWaitsForAnother) {
  EXPECT_EQ(cuMemsetD8Async(memory_, 0, kBytes, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitValue32(stream_, memory_, 7, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitValue64(stream_, place(1), 8, CU_STREAM_WAIT_VALUE_GEQ), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWriteValue32(stream_, place(2), 9, CU_STREAM_WRITE_VALUE_DEFAULT),
            CUDA_SUCCESS);
  EXPECT_TRUE(waits());
  EXPECT_EQ(std::atomic_ref{word(2)}.load(), 0U);
  EXPECT_EQ(cuStreamWriteValue32(other_, memory_, 7, 0), CUDA_SUCCESS);
  EXPECT_TRUE(waits());
  EXPECT_EQ(cuStreamWriteValue64(other_, place(1), std::uint64_t{1} << 40U, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(word(2), 9U);
}

TEST_F(CudaStandinValues, AWaitEndsWithItsContext) {
  EXPECT_EQ(cuStreamWaitValue32(stream_, place(0), 1, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWriteValue32(stream_, place(1), 1, 0), CUDA_SUCCESS);
  EXPECT_TRUE(waits());
  EXPECT_EQ(cuMemsetD8Async(memory_ + kBytes, 0, 1, other_), CUDA_SUCCESS);
  expect_illegal_address();
  EXPECT_EQ(word(1), 0U);
}

void leave_waiting() {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  void* pinned = nullptr;
  cuInit(0);
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  cuMemHostAlloc(&pinned, sizeof(cuuint32_t), 0);
  *static_cast<cuuint32_t*>(pinned) = 0;
  const CUresult result = cuStreamWaitValue32(stream, address_of(pinned), 1, 0);
  std::exit(result == CUDA_SUCCESS ? 0 : 1);
}

TEST_F(CudaStandinValues, AWaitEndsWithTheProcess) {
  EXPECT_EXIT(leave_waiting(), ::testing::ExitedWithCode(0), "");
}

TEST_F(CudaStandinValues, WhatCannotBeWaitedForIsRefused) {
  std::uint64_t unpinned = 0;
  const auto wait = [&](CUdeviceptr at, unsigned flags = CU_STREAM_WAIT_VALUE_EQ) {
    return cuStreamWaitValue64(stream_, at, 0, flags);
  };
  EXPECT_EQ(wait(0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(wait(place(0) + 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(wait(place(0), 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(wait(place(0), CU_STREAM_WAIT_VALUE_FLUSH), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(wait(address_of(&unpinned)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamWaitValue32(stream_, place(0) + 4, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWriteValue32(stream_, place(0) + 2, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamWriteValue64(stream_, place(0), 0, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  // It lies in no memory once the stream gets there.
  EXPECT_EQ(cuMemFree(memory_), CUDA_SUCCESS);
  EXPECT_EQ(wait(memory_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAlloc(&memory_, kBytes), CUDA_SUCCESS);
}

}  // namespace
}  // namespace tutti::standin

// Calls of users' operators to the CUDA runtime, on a stand-in for it.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tutti/cuda_operator.cuh>

namespace tutti::cuda {
namespace {

using standin::runtime;

struct Hypot {
  float scale;
  float operator()(float a, float b) const { return scale * (a * a + b * b); }
};

class CudaOperator : public ::testing::Test {
 protected:
  void SetUp() override { runtime = {}; }
  std::vector<float> left_ = std::vector<float>(100'000, 3.0F);
  std::vector<float> right_ = std::vector<float>(100'000, 4.0F);
  void call(const DeviceFunction& function) {
    function(left_.data(), right_.data(), left_.data(), left_.size(), nullptr);
  }
};

TEST_F(CudaOperator, IsAppliedToAllElements) {
  call(device_function<float>(Hypot{2}));
  EXPECT_EQ(left_, std::vector<float>(left_.size(), 50.0F));
  device_function<float>(Hypot{2})(nullptr, nullptr, nullptr, 0, nullptr);
  EXPECT_EQ(runtime.launched, 1);
}

// CUDA loads a kernel when it is first used, and may then wait for streams that wait for other
// ranks.
TEST_F(CudaOperator, IsLoadedWhenItIsMade) {
  const DeviceFunction function = device_function<float>(Hypot{2});
  EXPECT_EQ(runtime.loaded, 1);
  EXPECT_EQ(runtime.launched, 0);
}

TEST_F(CudaOperator, IsNotToBlameForErrorsOfTheProgram) {
  runtime.last = cudaErrorInvalidValue;
  EXPECT_NO_THROW(call(device_function<float>(Hypot{2})));
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidValue) << "which the program still finds";
  runtime.load = cudaErrorNoDevice;
  static_cast<void>(device_function<float>(Hypot{2}));
  EXPECT_NE(cudaPeekAtLastError(), cudaSuccess) << "the program had an error before";
}

// A program that makes it may have no GPU, and never call it.
TEST_F(CudaOperator, SaysWhatIsWrongWhenItIsCalled) {
  runtime.load = runtime.launch = cudaErrorNoDevice;
  const DeviceFunction function = device_function<float>(Hypot{2});
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  try {
    call(function);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::transport);
    EXPECT_STREQ(error.what(),
                 "cannot run a user's operator on a GPU: no CUDA-capable device is detected");
  }
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

}  // namespace
}  // namespace tutti::cuda

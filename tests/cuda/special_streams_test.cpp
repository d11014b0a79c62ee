// Streams and memory that are not like others, on the stand-ins for the driver and NCCL: default
// streams, those of threads and of green contexts, managed memory, and captures of other threads.
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <tutti/cuda.hpp>

#include "device_floats.hpp"
#include "gpu_world.hpp"
#include "host_world.hpp"
#include "tests/support/patience.hpp"

namespace tutti::harness {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kCount = 5000;

/// @return the text of what is thrown, which is Error{invalid_argument}.
std::string refusal_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
    return error.what();
  }
  return {};
}

/// @param name of a function of the driver. @return it.
template <class Function>
Function* function_of(const char* name) {
  static const cuda::Library library{"libcuda.so.1"};
  return library[name];
}

class GpuStreams : public ::testing::TestWithParam<const char*> {
 protected:
  /// Runs a body on each of two ranks with numbers that are one.
  static void run(const std::function<void(GpuWorld&, Rank, DeviceFloats&)>& body) {
    if (const std::string why = lack_of(2); !why.empty()) GTEST_SKIP() << why;
    GpuWorld world{2};
    for (const std::string& error : world.run([&](Rank rank) {
           cuda::attach(world[rank],
                        {.device = rank, .transport = GetParam(), .timeout = test::kAmple});
           DeviceFloats data{world.memory(rank), kCount};
           data.store(std::vector<float>(kCount, 1.0F));
           body(world, rank, data);
         }))
      EXPECT_EQ(error, "");
  }
};

TEST_P(GpuStreams, MayBeTheDefaultStream) {
  run([](GpuWorld& world, Rank rank, DeviceFloats& data) {
    for (const Stream stream : {Stream{nullptr}, Stream{CU_STREAM_LEGACY}}) {
      world[rank].all_reduce(data.span(), sum, {.algorithm = "ring", .stream = stream});
      cuda::wait(world[rank], stream, test::kAmple);
    }
    EXPECT_EQ(data.load(), std::vector<float>(kCount, 4.0F));
  });
}

/// The handle of the default stream means one of the context that is current.
TEST_P(GpuStreams, AreNotTheDefaultStreamOfAnotherGpu) {
  run([](GpuWorld& world, Rank rank, DeviceFloats& data) {
    {
      const cuda::Device::Current other{world.device(1 - rank)};
      for (const Stream stream : {Stream{nullptr}, Stream{CU_STREAM_LEGACY}}) {
        const std::string why =
            refusal_of([&] { world[rank].all_reduce(data.span(), sum, {.stream = stream}); });
        EXPECT_NE(why.find("the default stream is that of the current context"), std::string::npos)
            << why;
      }
    }
    const cuda::Device::Current own{world.device(rank)};
    world[rank].all_reduce(data.span(), sum, {.stream = Stream{nullptr}});
    cuda::wait(world[rank], Stream{nullptr}, test::kAmple);
    EXPECT_EQ(data.load(), std::vector<float>(kCount, 2.0F));
  });
}

/// A default stream waits for streams such as a program makes by cudaStreamCreate.
TEST_P(GpuStreams, AreNotTheDefaultStreamWhileAnotherOneIsCaptured) {
  run([](GpuWorld& world, Rank rank, DeviceFloats& data) {
    const cuda::Device& device = world.device(rank);
    const cuda::Device::Current current{device};
    const auto& calls = device.driver().calls();
    const Options how{.stream = Stream{nullptr}};
    CUstream captured = nullptr;
    CUgraph graph = nullptr;
    device.driver().check(calls.create_stream(&captured, CU_STREAM_DEFAULT), "make a stream");
    device.driver().check(calls.begin_capture(captured, CU_STREAM_CAPTURE_MODE_RELAXED), "capture");
    EXPECT_EQ(refusal_of([&] { world[rank].all_reduce(data.span(), sum, how); }),
              "the default stream waits for one that is captured in a graph");
    EXPECT_EQ(calls.end_capture(captured, &graph), CUDA_SUCCESS);
    calls.destroy_graph(graph);
    calls.destroy_stream(captured);
    world[rank].all_reduce(data.span(), sum, how);
    cuda::wait(world[rank], how.stream, test::kAmple);
    EXPECT_EQ(data.load(), std::vector<float>(kCount, 2.0F));
  });
}

/// Its handle means another stream in each thread, such as one of tutti's or of NCCL's.
TEST_P(GpuStreams, AreNotThatOfAThread) {
  run([](GpuWorld& world, Rank rank, DeviceFloats& data) {
    const Options how{.stream = Stream{CU_STREAM_PER_THREAD}};
    for (const std::string& why :
         {refusal_of([&] { world[rank].all_reduce(data.span(), sum, how); }),
          refusal_of([&] { static_cast<void>(world[rank].async().barrier(how)); }),
          refusal_of([&] { world[rank].plan().all_reduce(data.span(), sum, how).start(); }),
          refusal_of([&] { cuda::wait(world[rank], how.stream, test::kAmple); })})
      EXPECT_NE(why.find("cudaStreamPerThread"), std::string::npos) << why;
    world[rank].all_reduce(data.span(), sum, {.stream = Stream::own()});
    EXPECT_EQ(data.load(), std::vector<float>(kCount, 2.0F));
  });
}

TEST_P(GpuStreams, AreNotOfAGreenContext) {
  run([](GpuWorld& world, Rank rank, DeviceFloats& data) {
    const cuda::Device::Current current{world.device(rank)};
    const cuda::Driver& driver = world.device(rank).driver();
    CUdevResource resource{};
    CUdevResourceDesc description = nullptr;
    CUgreenCtx green = nullptr;
    CUstream stream = nullptr;
    driver.check(function_of<decltype(cuDeviceGetDevResource)>("cuDeviceGetDevResource")(
                     rank, &resource, CU_DEV_RESOURCE_TYPE_SM),
                 "find processors");
    driver.check(function_of<decltype(cuDevResourceGenerateDesc)>("cuDevResourceGenerateDesc")(
                     &description, &resource, 1),
                 "describe processors");
    driver.check(function_of<decltype(cuGreenCtxCreate)>("cuGreenCtxCreate")(
                     &green, description, rank, CU_GREEN_CTX_DEFAULT_STREAM),
                 "make a green context");
    driver.check(function_of<decltype(cuGreenCtxStreamCreate)>("cuGreenCtxStreamCreate")(
                     &stream, green, CU_STREAM_NON_BLOCKING, 0),
                 "make a stream");
    const std::string why =
        refusal_of([&] { world[rank].all_reduce(data.span(), sum, {.stream = stream}); });
    EXPECT_NE(why.find("nor is one of a green context"), std::string::npos) << why;
    driver.calls().destroy_stream(stream);
  });
}

/// The driver's answer on the place of managed memory means nothing.
TEST_P(GpuStreams, TakeManagedMemoryAsTheHostDoes) {
  run([](GpuWorld& world, Rank rank, DeviceFloats&) {
    CUdeviceptr managed = 0;
    {
      const cuda::Device::Current current{world.device(0)};  // which all ranks' GPUs access
      world.device(rank).driver().check(
          function_of<CUresult(CUdeviceptr*, std::size_t, unsigned)>("cuMemAllocManaged")(
              &managed, kCount * sizeof(float), CU_MEM_ATTACH_GLOBAL),
          "allocate managed memory");
    }
    const std::span data{reinterpret_cast<float*>(managed), kCount};
    std::ranges::fill(data, 1.0F);
    world[rank].all_reduce(data, sum,
                           {.algorithm = "ring", .timeout = 5s, .stream = Stream::own()});
    EXPECT_EQ(data.front(), 2.0F);
    world[rank].all_reduce(data, sum);
    EXPECT_EQ(data.back(), 4.0F);
    world.device(rank).free(managed);
  });
}

INSTANTIATE_TEST_SUITE_P(Transports, GpuStreams, ::testing::Values("nccl", "host"),
                         [](const auto& one) { return std::string{one.param}; });

/// While a thread captures in the mode GLOBAL others may not ask for events, but in the mode
/// RELAXED.
TEST(GpuHandles, AreAskedWhileAnotherThreadCaptures) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{1};
  attach_by_host(world, 0);
  const cuda::Device& device = world.device(0);
  const OwnStream stream{device};
  const OwnStream other{device};
  DeviceFloats data{world.memory(0), kCount};
  Barrier closed{world.memory(0), stream.get()};
  Request request = world[0].async().all_reduce(data.span(), sum, {.stream = stream.get()});
  std::latch captures{1};
  std::latch is_done{1};
  std::thread capturing{[&] {
    const cuda::Device::Current current{device};
    const auto& calls = device.driver().calls();
    auto* const captured = static_cast<CUstream>(other.get().handle());
    EXPECT_EQ(calls.begin_capture(captured, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    captures.count_down();
    is_done.wait();
    CUgraph graph = nullptr;
    EXPECT_EQ(calls.end_capture(captured, &graph), CUDA_SUCCESS);
    if (graph != nullptr) calls.destroy_graph(graph);
  }};
  captures.wait();
  EXPECT_NO_THROW(EXPECT_FALSE(request.test()));
  closed.open();
  EXPECT_NO_THROW(request.wait());
  is_done.count_down();
  capturing.join();
}

}  // namespace
}  // namespace tutti::harness

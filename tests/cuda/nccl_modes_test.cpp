// Communicators of NCCL that block, and those that do not: both end in time, and are called as NCCL
// wants it.
#include <gtest/gtest.h>
#include <tutti/cuda.hpp>

#include <cstdlib>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "backends/cuda/nccl_communicator.hpp"
#include "device_floats.hpp"
#include "gpu_world.hpp"
#include "host_world.hpp"
#include "tests/support/patience.hpp"

namespace tutti::harness {
namespace {

using namespace std::chrono_literals;

/// A variable of the environment as long as this lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_{name} { setenv(name, value, 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { unsetenv(name_); }

 private:
  const char* name_;
};

/// The error of attaching the GPU of a single rank.
std::string refusal(const char* version, bool nonblocking) {
  const Variable asked{"CUDA_STANDIN_NCCL_VERSION", version};
  GpuWorld world{1};
  return world
      .run([&](Rank rank) {
        cuda::attach(world[rank],
                     {.device = rank, .timeout = test::kAmple, .nonblocking = nonblocking});
      })
      .front();
}

TEST(NcclVersions, AreRefusedWhereTheyFail) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  EXPECT_EQ(refusal("22205", false),
            "rank 0 cannot attach a GPU: NCCL 2.22.5 is too old; install 2.23 or newer");
  EXPECT_EQ(refusal("22300", false), "");
  EXPECT_EQ(refusal("22602", false), "");
  EXPECT_EQ(
      refusal("22602", true),
      "rank 0 cannot attach a GPU: communicators of NCCL 2.26.2 that do not block hang now "
      "and then; leave AttachOptions::nonblocking and NCCL_COMM_BLOCKING=0 out, or take another "
      "version");
  const Variable overrides{"NCCL_COMM_BLOCKING", "0"};
  EXPECT_NE(refusal("22602", false).find("leave AttachOptions::nonblocking"), std::string::npos);
  EXPECT_EQ(refusal("22705", false), "");
}

class NcclModes : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (const std::string why = lack_of(2); !why.empty()) GTEST_SKIP() << why;
  }
};

/// NCCL connects ranks when they first call, which a rank that does not call would hold up for
/// ever.
TEST_P(NcclModes, EndFirstCallsInTime) {
  const Variable connects{"CUDA_STANDIN_CONNECT", "at_call"};
  for (const char* const algorithm : {"native", "ring"}) {
    GpuWorld world{2};
    for (const std::string& error : world.run([&](Rank rank) {
           Communicator quick = world[rank].duplicate({.timeout = 300ms}, 1);
           cuda::attach(quick,
                        {.device = rank, .timeout = test::kAmple, .nonblocking = GetParam()});
           const OwnStream stream{world.device(rank)};
           DeviceFloats data{world.memory(rank), 100};
           if (rank == 1) return world[rank].barrier();
           const auto start = std::chrono::steady_clock::now();
           try {
             quick.all_reduce(data.span(), sum, {.algorithm = algorithm, .stream = stream.get()});
             ADD_FAILURE() << "no error";
           } catch (const Error& error) {
             EXPECT_EQ(error.code(), ErrorCode::timeout) << error.what();
           }
           EXPECT_LE(std::chrono::steady_clock::now() - start, test::kLongBefore);
           EXPECT_TRUE(comes_to_an_end(world.device(rank), stream.get()));
           EXPECT_THROW(quick.all_reduce(data.span(), sum, {.stream = stream.get()}), Error);
           world[rank].barrier();
         }))
      EXPECT_EQ(error, "");
  }
}

TEST_P(NcclModes, AreWhatNcclIsConfiguredWith) {
  const auto nccl = std::make_shared<const cuda::Nccl>();
  const auto device =
      std::make_shared<const cuda::Device>(std::make_shared<const cuda::Driver>(), 0);
  ncclUniqueId id{};
  nccl->check(nccl->calls().unique_id(&id), "start NCCL");
  cuda::NcclCommunicator single{{nccl, device, test::kAmple, GetParam()}, 1, 0, id};
  const OwnStream stream{*device};
  DeviceFloats data{std::make_shared<cuda::DeviceMemory>(device), 100};
  ncclResult_t result = ncclInternalError;
  single.call("reduce", test::kAmple, [&](ncclComm_t communicator) {
    float* const floats = data.span().data();
    result = nccl->calls().all_reduce(floats, floats, 100, ncclFloat32, ncclSum, communicator,
                                      static_cast<CUstream>(stream.get().handle()));
    return result;
  });
  EXPECT_EQ(result, GetParam() ? ncclInProgress : ncclSuccess);
}

/// The variable overrides NCCL's configuration.
TEST_P(NcclModes, AreWhatTheEnvironmentSays) {
  const Variable overrides{"NCCL_COMM_BLOCKING", GetParam() ? "1" : "0"};
  GpuWorld world{2};
  for (const std::string& error : world.run([&](Rank rank) {
         cuda::attach(world[rank],
                      {.device = rank, .timeout = test::kAmple, .nonblocking = GetParam()});
         const OwnStream stream{world.device(rank)};
         Buffer<float> data = cuda::allocate<float>(world[rank], 100);
         for (const char* const algorithm : {"native", "ring"})
           world[rank].all_reduce(data.span(), sum,
                                  {.algorithm = algorithm, .stream = stream.get()});
         cuda::wait(world[rank], stream.get(), test::kAmple);
       }))
    EXPECT_EQ(error, "");
}

/// One thread waits for the other rank in its first call, in which another one comes.
TEST_P(NcclModes, LetThreadsTakeTurns) {
  const Variable connects{"CUDA_STANDIN_CONNECT", "at_call"};
  GpuWorld world{2};
  for (const std::string& error : world.run([&](Rank rank) {
         Communicator first = world[rank].duplicate(world[rank].options(), 1);
         Communicator second = world[rank].duplicate(world[rank].options(), 2);
         for (Communicator* const each : {&first, &second})
           cuda::attach(*each,
                        {.device = rank, .timeout = test::kAmple, .nonblocking = GetParam()});
         const auto call = [&](Communicator& communicator) {
           const OwnStream stream{world.device(rank)};
           DeviceFloats data{world.memory(rank), 100};
           communicator.all_reduce(data.span(), sum, {.stream = stream.get()});
           cuda::wait(communicator, stream.get(), test::kAmple);
         };
         if (rank == 1) {
           std::this_thread::sleep_for(200ms);
           call(first);
           return call(second);
         }
         auto other = std::async(std::launch::async, [&] {
           std::this_thread::sleep_for(50ms);
           call(second);
         });
         call(first);
         other.get();
       }))
    EXPECT_EQ(error, "");
}

/// A kernel of NCCL that waits for its peer may leave no room for another one, so all ranks run
/// calls in the order in which they are enqueued.
TEST_P(NcclModes, KeepCallsOfAllStreamsInOrder) {
  GpuWorld world{2};
  for (const std::string& error : world.run([&](Rank rank) {
         cuda::attach(world[rank],
                      {.device = rank, .timeout = test::kAmple, .nonblocking = GetParam()});
         const OwnStream native{world.device(rank)};
         const OwnStream schedules{world.device(rank)};
         Buffer<float> registered = cuda::allocate<float>(world[rank], 100);
         DeviceFloats data{world.memory(rank), 100};
         Barrier gate{world.memory(rank), native.get()};
         world[rank].all_reduce(registered.span(), sum, {.stream = native.get()});
         world[rank].all_reduce(data.span(), sum, {.algorithm = "ring", .stream = schedules.get()});
         if (rank == 1) std::this_thread::sleep_for(100ms);
         gate.open();
         for (const Stream stream : {native.get(), schedules.get()})
           cuda::wait(world[rank], stream, test::kAmple);
       }))
    EXPECT_EQ(error, "");
}

/// The same with a kernel of ours that the peer needs: rank 1 runs its call of NCCL after that.
TEST_P(NcclModes, KeepCallsOnMemoryOfPeersInOrder) {
  GpuWorld world{2};
  for (const std::string& error : world.run([&](Rank rank) {
         cuda::attach(
             world[rank],
             {.device = rank, .visible = true, .timeout = test::kAmple, .nonblocking = GetParam()});
         const OwnStream first{world.device(rank)};
         const OwnStream second{world.device(rank)};
         Buffer<float> seen = cuda::allocate<float>(world[rank], 20'000);
         DeviceFloats data{world.memory(rank), 100};
         Barrier gate{world.memory(rank), first.get()};
         world[rank].all_reduce(seen.span(), sum,
                                {.algorithm = "ring", .visible = true, .stream = first.get()});
         world[rank].all_reduce(
             data.span(), sum,
             {.algorithm = "native", .stream = rank == 0 ? second.get() : first.get()});
         if (rank == 0) std::this_thread::sleep_for(100ms);
         gate.open();
         for (const Stream stream : {first.get(), second.get()})
           cuda::wait(world[rank], stream, test::kAmple);
       }))
    EXPECT_EQ(error, "");
}

INSTANTIATE_TEST_SUITE_P(Modes, NcclModes, ::testing::Bool(), [](const auto& one) {
  return std::string{one.param ? "nonblocking" : "blocking"};
});

}  // namespace
}  // namespace tutti::harness

// Waits for calls on streams: beside the host's calls, with a deadline, and where a communicator
// fails.
#include <gtest/gtest.h>
#include <tutti/cuda.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu_world.hpp"
#include "tests/support/patience.hpp"

namespace tutti::harness {
namespace {

using namespace std::chrono_literals;

class GpuWaits : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string why = lack_of(2); !why.empty()) GTEST_SKIP() << why;
    world_.emplace(2);
  }
  void run(const std::function<void(Rank, Communicator&, std::span<float>)>& body) {
    for (const std::string& error : world_->run([&](Rank rank) {
           const std::string_view by = GetParam();
           cuda::attach((*world_)[rank], {.device = rank,
                                          .transport = by == "host" ? "host" : "nccl",
                                          .timeout = test::kAmple,
                                          .nonblocking = by == "nonblocking"});
           cuda::DeviceMemory& memory = *world_->memory(rank);
           std::byte* const data = memory.allocate(kBytes);
           body(rank, (*world_)[rank], {reinterpret_cast<float*>(data), kBytes / sizeof(float)});
           memory.deallocate(data, kBytes);
         }))
      EXPECT_EQ(error, "");
  }
  GpuWorld& world() { return *world_; }

  static constexpr std::size_t kBytes = 4000;

 private:
  std::optional<GpuWorld> world_{};
};

/// One rank waits for the host's call first, and the other one for its stream, with the host's call
/// under way: longer than what goes without anybody's help.
TEST_P(GpuWaits, GoOnWithTheHostsCalls) {
  run([&](Rank rank, Communicator& communicator, std::span<float> data) {
    const OwnStream stream{world().device(rank)};
    std::vector<float> host(3'000'000, 1.0F);
    Request request = communicator.async().all_reduce(std::span{host}, sum);
    if (rank == 0) communicator.all_reduce(data, sum, {.stream = Stream::own()});
    request.wait();
    if (rank == 1) communicator.all_reduce(data, sum, {.stream = Stream::own()});
    EXPECT_EQ(host.back(), 2.0F);
  });
}

TEST_P(GpuWaits, ForAHandleNeedNoStream) {
  run([&](Rank rank, Communicator& communicator, std::span<float> data) {
    std::optional<OwnStream> stream{std::in_place, world().device(rank)};
    Request request = communicator.async().all_reduce(data, sum, {.stream = stream->get()});
    stream.reset();
    request.wait();
    communicator.all_reduce(data, sum, {.stream = Stream::own()});
  });
}

TEST_P(GpuWaits, ForManyHaveADeadline) {
  run([&](Rank rank, Communicator& communicator, std::span<float> data) {
    if (rank == 1) return;
    const OwnStream stream{world().device(rank)};
    std::vector<Request> requests;
    requests.push_back(
        communicator.async().all_reduce(data, sum, {.timeout = 200ms, .stream = stream.get()}));
    try {
      wait_all(requests);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::timeout) << error.what();
    }
    world().memory(rank)->wait(stream.get().handle());  // it goes on
  });
}

TEST_P(GpuWaits, EndStreamsOfACommunicatorThatHasFailed) {
  run([&](Rank rank, Communicator& communicator, std::span<float> data) {
    if (rank == 1) return;
    const OwnStream stream{world().device(rank)};
    communicator.all_reduce(data, sum, {.stream = stream.get()});
    std::vector<float> host(10);
    EXPECT_THROW(communicator.all_reduce(std::span{host}, sum, {.timeout = 100ms}), Error);
    EXPECT_THROW(cuda::wait(communicator, stream.get(), test::kAmple), Error);
    world().memory(rank)->wait(stream.get().handle());  // it goes on
  });
}

INSTANTIATE_TEST_SUITE_P(Transports, GpuWaits, ::testing::Values("nccl", "nonblocking", "host"),
                         [](const auto& one) { return std::string{one.param}; });

}  // namespace
}  // namespace tutti::harness

// Ranks that see memory of each other's GPUs, on the stand-in for the driver: threads of one
// process, and streams that have no other way to move anything.
#include <barrier>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <tutti/cuda.hpp>
#include <tutti/spi/communicator.hpp>

#include "backends/cuda/device_streams.hpp"
#include "backends/cuda/peers/device_peers.hpp"
#include "tests/collectives/rows.hpp"
#include "tests/cuda/device_buffers.hpp"
#include "tests/cuda/gpu_world.hpp"
#include "tests/cuda/graph.hpp"
#include "tests/cuda/host_world.hpp"
#include "tests/runtime/worlds.hpp"
#include "tests/support/patience.hpp"

namespace tutti::harness {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kScratch = std::size_t{8} << 20;

/// Streams whose ranks see each other, and that move no messages otherwise.
class OnlyPeers final : public cuda::DeviceStreams {
 public:
  OnlyPeers(const std::shared_ptr<const cuda::Device>& device, Communicator& world)
      : DeviceStreams{device, std::make_shared<cuda::DevicePeers>(device, world.duplicate({}),
                                                                  kScratch, 5s)} {}
  [[nodiscard]] std::string name() const override { return "peers"; }
  [[nodiscard]] CostModel cost_model() const override { return {}; }
  [[nodiscard]] std::shared_ptr<StreamTransport> divide(Communicator&) override { return nullptr; }
  [[nodiscard]] std::shared_ptr<std::byte> allocate_registered(std::size_t bytes) override {
    return device_peers()->allocate(bytes);
  }
  void exchange(std::span<const StreamMessage>, Stream) override {
    throw Error{ErrorCode::bug, "a message is moved"};
  }
  [[nodiscard]] bool has_native(const NativeCall&) const override { return false; }
  void run_native(const NativeCall&, const std::byte*, std::byte*, Stream) override {}
  void check_health() const override {
    if (failure_) throw Error{*failure_};
  }
  void abort(const Error& cause) noexcept override {
    failure_ = cause;
    device_peers()->abort();
  }

 private:
  std::optional<Error> failure_{};
};

/// The objects of a rank.
struct Own {
  Communicator& world;
  std::shared_ptr<const cuda::Device> device;
  std::shared_ptr<OnlyPeers> streams;
  std::shared_ptr<cuda::DeviceMemory> memory;
};

void on_peers(int size, const std::function<void(Own&)>& body) {
  const auto driver = std::make_shared<const cuda::Driver>();
  std::barrier together{size};  // memory is there as long as peers may read it
  test::expect_no_error(test::in_world({size, "shm", 1}, [&](Communicator& world) {
    const auto device = std::make_shared<const cuda::Device>(driver, device_of(world.rank()));
    const auto streams = std::make_shared<OnlyPeers>(device, world);
    attach_streams(world, streams);
    Own own{world, device, streams, std::make_shared<cuda::DeviceMemory>(device)};
    body(own);
    together.arrive_and_wait();
  }));
}

/// Numbers of the own rank in memory that peers see.
class SeenFloats {
 public:
  SeenFloats(Own& own, float value) : own_{own} {
    const std::vector<float> host(kCount, value);
    own_.memory->copy(seen_.get(), reinterpret_cast<const std::byte*>(host.data()), kBytes);
  }
  [[nodiscard]] std::span<float> span() const {
    return {reinterpret_cast<float*>(seen_.get()), kCount};
  }
  /// Whether all have this value.
  [[nodiscard]] bool are(float value) const {
    std::vector<float> host(kCount);
    own_.memory->copy(std::as_writable_bytes(std::span{host}).data(), seen_.get(), kBytes);
    return host == std::vector(kCount, value);
  }
  void drop() { seen_.reset(); }

 private:
  static constexpr std::size_t kCount = 10'000;
  static constexpr std::size_t kBytes = kCount * sizeof(float);

  Own& own_;
  std::shared_ptr<std::byte> seen_ = own_.streams->allocate_registered(kBytes);
};

class GpuPeers : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  }
};

/// All that cases need lies in memory that peers see, or none of it.
TEST_P(GpuPeers, GiveTheRightResults) {
  const int size = GetParam();
  std::vector<Experiment> experiments;
  std::size_t ordinal = 0;
  for (const Row& row : rows_of({size}))
    for (const Case& one : cases_of(row, 1))
      if (one.model.op.kind() != OperatorKind::user && row.collective != Collective::barrier &&
          one.counts_are != CountsAre::own && ordinal++ % 5 == 0)
        experiments.emplace_back(one);
  on_peers(size, [&](Own& own) {
    const Rank rank = own.world.rank();
    const std::shared_ptr<std::byte> seen = own.streams->allocate_registered(kScratch);
    const OwnStream stream{*own.device};
    bool is_seen = false;
    // The driver makes and frees memory when streams of all ranks that share the GPU are done: no
    // rank may be ahead.
    for (Experiment& experiment : experiments) {
      own.world.barrier();
      std::size_t next = 0;
      const auto allocate = [&](std::size_t bytes) {
        const std::size_t first = std::exchange(next, next + (bytes + 63) / 64 * 64);
        return std::shared_ptr<std::byte>{seen, seen.get() + first};
      };
      is_seen = !is_seen;
      test::DeviceBuffers buffers{
          own.memory, experiment.call(rank),
          is_seen ? test::DeviceBuffers::Allocate{allocate} : test::DeviceBuffers::Allocate{}};
      own.world.barrier();
      Options options = experiment.options();
      options.stream = stream.get();
      options.visible = true;
      own.world.run(buffers.call(), options);
      wait_for_stream(own.world, stream.get(), test::kAmple);
      buffers.fetch();
      const auto wrong = experiment.problem(rank);
      ASSERT_FALSE(wrong) << experiment.what().describe() << ": " << *wrong;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, GpuPeers, ::testing::Values(1, 2, 3, 4));

TEST(GpuPeerCalls, AreCapturedInGraphs) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  on_peers(3, [](Own& own) {
    const OwnStream stream{*own.device};
    const SeenFloats data{own, 1.0F};
    Graph graph{*own.device, stream.get()};
    own.world.all_reduce(data.span(), sum,
                         {.algorithm = "ring", .visible = true, .stream = stream.get()});
    own.world.all_reduce(
        data.span(), sum,
        {.algorithm = "recursive_doubling", .visible = true, .stream = stream.get()});
    graph.end();
    for (int i = 0; i < 3; ++i) graph.launch();
    wait_for_stream(own.world, stream.get(), test::kAmple);
    EXPECT_TRUE(data.are(729.0F));
  });
}

TEST(GpuPeerCalls, ComeAfterThoseOfOtherStreams) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  on_peers(2, [](Own& own) {
    const OwnStream one{*own.device};
    const OwnStream two{*own.device};
    const SeenFloats data{own, 1.0F};
    for (int i = 0; i < 10; ++i)
      own.world.all_reduce(data.span(), sum,
                           {.visible = true, .stream = i % 2 == 0 ? one.get() : two.get()});
    wait_for_stream(own.world, two.get(), test::kAmple);
    EXPECT_TRUE(data.are(1024.0F));
  });
}

/// This holds after a captured call on the same stream.
TEST(GpuPeerCalls, ComeAfterThoseBeforeACapture) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  on_peers(2, [](Own& own) {
    const OwnStream one{*own.device};
    const OwnStream two{*own.device};
    const SeenFloats data{own, 1.0F};
    Barrier barrier{own.memory, one.get()};
    own.world.all_reduce(data.span(), sum, {.visible = true, .stream = one.get()});
    Graph graph{*own.device, two.get()};
    own.world.all_reduce(data.span(), sum, {.visible = true, .stream = two.get()});
    graph.end();
    own.world.all_reduce(data.span(), sum, {.visible = true, .stream = two.get()});
    EXPECT_FALSE(comes_to_an_end(*own.device, two.get(), 50ms));
    own.world.barrier();
    barrier.open();
    wait_for_stream(own.world, two.get(), test::kAmple);
  });
}

TEST(GpuPeerCalls, FailOnAllRanksWhereOneDoesNotCome) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  on_peers(3, [](Own& own) {
    const OwnStream stream{*own.device};
    const SeenFloats data{own, 1.0F};
    if (own.world.rank() != 2) {
      own.world.all_reduce(data.span(), sum,
                           {.algorithm = "ring", .visible = true, .stream = stream.get()});
      EXPECT_THROW(wait_for_stream(own.world, stream.get(),
                                   own.world.rank() == 0 ? Duration{200ms} : test::kAmple),
                   Error);
      own.memory->wait(stream.get().handle());  // it has gone on
    }
  });
}

TEST(GpuPeerCalls, GoOnInGraphsWhereOneDoesNotCome) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  on_peers(2, [](Own& own) {
    const OwnStream stream{*own.device};
    const SeenFloats data{own, 1.0F};
    Graph graph{*own.device, stream.get()};
    own.world.all_reduce(data.span(), sum,
                         {.algorithm = "ring", .visible = true, .stream = stream.get()});
    graph.end();
    if (own.world.rank() == 1) return;
    graph.launch();
    EXPECT_THROW(wait_for_stream(own.world, stream.get(), 100ms), Error);
    own.memory->wait(stream.get().handle());
  });
}

/// A failed call does not touch the program's stream again.
TEST(GpuPeerCalls, LeaveStreamsAloneWhenTheyAreDone) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  on_peers(2, [](Own& own) {
    const OwnStream stream{*own.device};
    const SeenFloats data{own, 1.0F};
    own.world.all_reduce(data.span(), sum, {.visible = true, .stream = stream.get()});
    wait_for_stream(own.world, stream.get(), test::kAmple);
    Graph graph{*own.device, stream.get()};
    own.world.barrier();  // the other one's call is done, too
    own.streams->abort(Error{ErrorCode::aborted, "for a test"});
    EXPECT_NO_THROW(graph.end());
  });
}

TEST(GpuPeerMemory, IsUsedAgain) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  on_peers(2, [](Own& own) {
    auto one = own.streams->allocate_registered(4096);
    const std::byte* const first = one.get();
    auto two = own.streams->allocate_registered(4096);
    EXPECT_NE(two.get(), first);
    one.reset();
    own.world.barrier();
    EXPECT_EQ(own.streams->allocate_registered(4000).get(), first);
    if (own.world.rank() == 0) two.reset();  // not the other rank's
    EXPECT_NE(own.streams->allocate_registered(8192).get(), first);
  });
}

/// CUDA IPC shares blocks of 2 MiB, in which nothing else may lie.
TEST(GpuPeerMemory, FillsBlocks) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  on_peers(1, [](Own& own) {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{2} << 20U, std::size_t{3} << 20U}) {
      const auto seen = own.streams->allocate_registered(bytes);
      std::size_t found = 0;
      CUpointer_attribute asked = CU_POINTER_ATTRIBUTE_RANGE_SIZE;
      void* answer = &found;
      own.device->driver().check(own.device->driver().calls().pointer_attributes(
                                     1, &asked, &answer, cuda::address_of(seen.get())),
                                 "ask how much memory that is");
      EXPECT_GE(found, bytes);
      EXPECT_EQ(found % (std::size_t{2} << 20U), 0U);
    }
  });
}

/// Memory that a call still has to read is not reused, since its next owner would see it zeroed.
TEST(GpuPeerMemory, IsUsedAgainBehindTheCallsSoFar) {
  if (const std::string why = lack_of(1); !why.empty()) GTEST_SKIP() << why;
  on_peers(2, [](Own& own) {
    const OwnStream stream{*own.device};
    const SeenFloats to{own, 0.0F};
    SeenFloats from{own, 1.0F};
    Barrier barrier{own.memory, stream.get()};
    own.world.all_reduce(std::span<const float>{from.span()}, to.span(), sum,
                         {.visible = true, .stream = stream.get()});
    const float* const first = from.span().data();
    from.drop();
    std::jthread later{[&] {
      std::this_thread::sleep_for(50ms);
      barrier.open();
    }};
    const SeenFloats again{own, 0.0F};
    EXPECT_EQ(again.span().data(), first);
    later.join();
    wait_for_stream(own.world, stream.get(), test::kAmple);
    EXPECT_TRUE(to.are(2.0F));
  });
}

}  // namespace
}  // namespace tutti::harness

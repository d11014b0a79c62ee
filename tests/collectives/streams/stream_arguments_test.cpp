// Calls on streams that are rejected, and their handles and batches.
#include <gtest/gtest.h>
#include <tutti/batch.hpp>
#include <tutti/spi/communicator.hpp>

#include <string>
#include <vector>

#include "tests/collectives/on_streams.hpp"

namespace tutti::harness {
namespace {

TEST(StreamArguments, MessagesHaveNoTag) {
  StreamHub hub{2};
  on_streams(hub, [](Communicator& world) {
    std::vector<int> data(10);
    EXPECT_EQ(refusal_of([&] {
                world.send(std::span<const int>{data}, 1 - world.rank(), 3, {.stream = kStream});
              }),
              "on a stream messages of two ranks are received in the order in which they are sent, "
              "and have no tag; leave tag 3 out");
  });
}

TEST(StreamArguments, FieldsThatAreIgnoredMayHoldAnything) {
  StreamHub hub{2};
  std::vector<std::byte> device(64);
  hub.put_on_device(device);
  on_streams(hub, [&](Communicator& world) {
    std::vector<int> data(10, world.rank());
    auto* const nowhere = reinterpret_cast<std::size_t*>(64);
    Call call = call::broadcast(data, 1);
    call.op = reinterpret_cast<const Operator*>(nowhere);
    call.in_counts = call.out_counts = Counts{nowhere, 3};
    call.tag = 7;
    if (world.rank() == 0) call.in = nowhere;
    world.run(call, {.stream = kStream});
    EXPECT_EQ(data, std::vector<int>(10, 1));
    if (world.rank() == 0) call.in = device.data();
    world.run(call);
    Call barrier = call::barrier();
    barrier.op = call.op;
    barrier.in = device.data();
    world.run(barrier);
    world.run(barrier, {.stream = kStream});
  });
}

TEST(StreamArguments, AnotherTransportIsRefused) {
  StreamHub hub{2};
  on_streams(hub, [](Communicator& world) {
    std::vector<float> data(10);
    EXPECT_EQ(
        refusal_of([&] { world.all_reduce(data, sum, {.transport = "tcp", .stream = kStream}); }),
        "a call on a stream goes by threads, which is attached; leave transport \"tcp\" out");
  });
}

TEST(StreamArguments, ASecondGpuIsRefused) {
  StreamHub hub{1};
  on_streams(hub, [&](Communicator& world) {
    EXPECT_NE(refusal_of([&] {
                attach_streams(world, hub.transport(0));
              }).find("a GPU is attached to this communicator already"),
              std::string::npos);
  });
}

TEST(StreamArguments, GroupsAreNoPartOfABatch) {
  StreamHub hub{2};
  on_streams(hub, [](Communicator& world) {
    const std::string why =
        refusal_of([&] { batch([&] { static_cast<void>(world.duplicate(world.options())); }); });
    EXPECT_NE(why.find("a group of ranks that have GPUs"), std::string::npos) << why;
    std::vector<int> data(10, 1);
    world.duplicate(world.options()).all_reduce(data, sum, {.stream = kStream});
    EXPECT_EQ(data, std::vector<int>(10, 2));
  });
}

TEST(StreamArguments, APlanOfTheHostRefusesMemoryOfAGpu) {
  StreamHub hub{1};
  std::vector<std::byte> device(64);
  hub.put_on_device(device);
  on_streams(hub, [&](Communicator& world) {
    std::vector<int> data(16, 1);
    Plan plan = world.plan().all_reduce(std::span{data});
    EXPECT_NE(refusal_of([&] {
                plan.start(device.data(), device.data());
              }).find("lies in memory of a GPU"),
              std::string::npos);
    plan.start();
    plan.wait();
  });
}

TEST(StreamArguments, WhyWhatIsForcedCannotServeIsExplained) {
  StreamHub hub{2};
  on_streams(hub, [](Communicator& world) {
    std::vector<float> data(10);
    EXPECT_EQ(world.explain(call::broadcast(std::span{data}, 0),
                            {.algorithm = "native", .stream = kStream}),
              "broadcast of 40 bytes on 2 ranks: native cannot serve: threads has no such call");
  });
}

/// Messages wait for each other whatever stands between them, and on whatever streams they are.
TEST(StreamBatches, ExchangeMessagesOfSeveralStreamsAroundCollectives) {
  StreamHub hub{2};
  int other = 0;  // no stream, but another one than kStream
  on_streams(hub, [&](Communicator& world) {
    const Rank peer = 1 - world.rank();
    std::vector<int> mine(50, world.rank()), theirs(50, -1), all(8, 1);
    batch([&] {
      world.send(std::span<const int>{mine}, peer, 0, {.stream = kStream});
      world.all_reduce(all, sum, {.stream = kStream});
      world.recv(std::span{theirs}, peer, 0, {.stream = &other});
    });
    EXPECT_EQ(theirs, std::vector<int>(50, peer));
    EXPECT_EQ(all, std::vector<int>(8, 2));
  });
}

TEST(StreamBatches, AHandleThatWasAskedTooEarlyIsStillOne) {
  StreamHub hub{2};
  on_streams(hub, [](Communicator& world) {
    std::vector<int> data(8, 1);
    Request request;
    batch([&] {
      request = world.async().all_reduce(std::span{data}, sum, {.stream = kStream});
      EXPECT_THROW(request.wait(), Error);
      EXPECT_FALSE(request.is_empty());
    });
    request.wait();
    EXPECT_TRUE(request.is_empty());
    EXPECT_EQ(data, std::vector<int>(8, 2));
  });
}

TEST(StreamComparison, TellsVisibleFromPlainCalls) {
  StreamHub hub{2};
  hub.show_memory();
  for (const test::Outcome& outcome : test::in_world({2, "shm", 1}, [&](Communicator& world) {
         attach_streams(world, hub.transport(world.rank()), true);
         std::vector<float> data(5000, 1.0F);
         world.all_reduce(data, sum,
                          {.algorithm = "ring", .visible = world.rank() == 0, .stream = kStream});
       }))
    EXPECT_NE(outcome.text().find("rank 1 calls something else on its stream than rank 0"),
              std::string::npos)
        << outcome.text();
}

}  // namespace
}  // namespace tutti::harness

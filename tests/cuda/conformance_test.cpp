// The contract of StreamTransport, tested for each implementation on the stand-ins for the driver
// and NCCL: the collectives depend on nothing else.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tutti/cuda.hpp>
#include <tutti/spi/communicator.hpp>

#include "gpu_world.hpp"
#include "tests/support/patience.hpp"

namespace tutti::harness {
namespace {

using namespace std::chrono_literals;

/// The transport of messages.
struct Route {
  std::string transport;   // of GPUs
  std::string transports;  // of the host
};
std::ostream& operator<<(std::ostream& out, const Route& route) {
  return out << route.transport << "_" << route.transports;
}

/// A rank with a stream, and memory of its device.
struct Own {
  Rank rank;
  int size;
  StreamTransport& streams;
  Stream stream;
  cuda::DeviceMemory& memory;
  Communicator& world;

  /// @return memory of the device with these values, in the order of the stream.
  [[nodiscard]] std::byte* upload(const std::vector<std::byte>& values) const {
    std::byte* const data = streams.allocate(std::max<std::size_t>(values.size(), 1), stream);
    finish();
    memory.copy(data, values.data(), values.size());
    return data;
  }
  [[nodiscard]] std::vector<std::byte> download(const std::byte* data, std::size_t bytes) const {
    finish();
    std::vector<std::byte> values(bytes);
    memory.copy(values.data(), data, bytes);
    return values;
  }
  void finish() const { wait_for_stream(world, stream, test::kAmple); }
};

/// @return the message of a rank to another one in a round; all three change its bytes.
std::vector<std::byte> message_of(Rank from, Rank to, int round, std::size_t bytes) {
  std::vector<std::byte> values(bytes);
  std::minstd_rand random{static_cast<unsigned>(1 + from * 100 + to * 10 + round * 1000)};
  for (std::byte& value : values) value = static_cast<std::byte>(random() & 0xffU);
  return values;
}

class StreamConformance : public ::testing::TestWithParam<Route> {
 protected:
  /// @return the number of devices: one for each rank, or, over the host, one for two.
  static int devices_for(int size) {
    return GetParam().transport == "host" ? std::min(size, cuda::Driver{}.devices()) : size;
  }
  void run(int size, const std::function<void(const Own&)>& body) {
    if (const std::string why = lack_of(devices_for(size)); !why.empty()) GTEST_SKIP() << why;
    GpuWorld world{size, GetParam().transports, devices_for(size)};
    for (const std::string& error : world.run([&](Rank rank) {
           cuda::attach(world[rank], {.device = world.device(rank).ordinal(),
                                      .transport = GetParam().transport,
                                      .timeout = test::kAmple});
           const OwnStream stream{world.device(rank)};
           const auto streams = streams_of(world[rank]);
           const Own own{rank, size, *streams, stream.get(), *world.memory(rank), world[rank]};
           body(own);
           own.finish();
         }))
      EXPECT_EQ(error, "");
  }
};

/// Everyone sends everyone, itself too, messages from one byte to more than any window holds.
TEST_P(StreamConformance, MovesMessagesOfAnyLengthBetweenAll) {
  run(3, [](const Own& own) {
    const std::vector<std::size_t> lengths{1, 7, 4096, 70'001, std::size_t{3} << 20};
    for (int round = 0; round < static_cast<int>(lengths.size()); ++round) {
      const std::size_t bytes = lengths[static_cast<std::size_t>(round)];
      std::vector<StreamMessage> messages;
      std::vector<std::byte*> taken;
      for (Rank peer = 0; peer < own.size; ++peer) {
        taken.push_back(own.upload(std::vector<std::byte>(bytes)));
        messages.push_back({Transfer::Kind::recv, peer, taken.back(), bytes});
        messages.push_back({Transfer::Kind::send, peer,
                            own.upload(message_of(own.rank, peer, round, bytes)), bytes});
      }
      own.streams.exchange(messages, own.stream);
      for (Rank peer = 0; peer < own.size; ++peer)
        ASSERT_EQ(own.download(taken[static_cast<std::size_t>(peer)], bytes),
                  message_of(peer, own.rank, round, bytes))
            << bytes << " bytes from " << peer;
      for (const StreamMessage& message : messages)
        own.streams.deallocate(message.data, own.stream);
    }
  });
}

/// Between two ranks messages match in their order, also within a group and of other lengths. The
/// host's chunks have 512 KiB, of two ranks all together 8 MiB.
TEST_P(StreamConformance, KeepsTheOrderOfMessages) {
  run(2, [](const Own& own) {
    const Rank peer = 1 - own.rank;
    const std::vector<std::size_t> lengths{100,     5000,    3,         200'000,    4, 2'800'000,
                                           524'288, 524'292, 1'048'576, 20'000'004, 8};
    std::vector<std::byte*> sent;
    std::vector<std::byte*> taken;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      sent.push_back(own.upload(message_of(own.rank, peer, static_cast<int>(i), lengths[i])));
      taken.push_back(own.upload(std::vector<std::byte>(lengths[i])));
    }
    // The groups follow each other without a wait.
    for (const auto& [first, end] : {std::pair{0U, 2U}, {2U, 4U}, {4U, 11U}}) {
      std::vector<StreamMessage> group;
      for (std::size_t i = first; i < end; ++i) {
        group.push_back({Transfer::Kind::send, peer, sent[i], lengths[i]});
        group.push_back({Transfer::Kind::recv, peer, taken[i], lengths[i]});
      }
      own.streams.exchange(group, own.stream);
    }
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      EXPECT_EQ(own.download(taken[i], lengths[i]),
                message_of(peer, own.rank, static_cast<int>(i), lengths[i]))
          << i;
      own.streams.deallocate(sent[i], own.stream);
      own.streams.deallocate(taken[i], own.stream);
    }
  });
}

/// A group sends the results of earlier work on the stream, and later work reads its messages.
TEST_P(StreamConformance, RunsInTheOrderOfTheStream) {
  run(2, [](const Own& own) {
    constexpr std::size_t kCount = 10'000;
    constexpr std::size_t kBytes = kCount * sizeof(float);
    const auto raw = [](float value) {
      const std::vector<float> values(kCount, value);
      std::vector<std::byte> bytes(kBytes);
      std::memcpy(bytes.data(), values.data(), kBytes);
      return bytes;
    };
    std::byte* const mine = own.upload(raw(static_cast<float>(own.rank + 1)));
    std::byte* const theirs = own.upload(raw(0));
    std::byte* const copied = own.upload(raw(-1));
    const std::array<const void*, 2> both{mine, theirs};
    for (int i = 0; i < 3; ++i) {
      const std::array<StreamMessage, 2> group{
          StreamMessage{Transfer::Kind::send, 1 - own.rank, mine, kBytes},
          StreamMessage{Transfer::Kind::recv, 1 - own.rank, theirs, kBytes}};
      own.streams.exchange(group, own.stream);
      own.streams.fold({.type = Datatype::f32,
                        .element_bytes = sizeof(float),
                        .op = &sum,
                        .destination = mine,
                        .operands = both,
                        .count = kCount},
                       own.stream);
      own.streams.copy(copied, mine, kBytes, own.stream);
    }
    EXPECT_EQ(own.download(copied, kBytes), raw(12));
    own.streams.clear(copied, kBytes, own.stream);
    EXPECT_EQ(own.download(copied, kBytes), std::vector<std::byte>(kBytes));
    for (std::byte* const data : {mine, theirs, copied}) own.streams.deallocate(data, own.stream);
  });
}

TEST_P(StreamConformance, HasMarksAndStreamsThatFollowEachOther) {
  run(2, [](const Own& own) {
    constexpr std::size_t kBytes = 100'000;
    const Stream second = own.streams.own_stream();
    std::byte* const data = own.upload(message_of(own.rank, 1 - own.rank, 0, kBytes));
    std::byte* const taken = own.upload(std::vector<std::byte>(kBytes));
    std::byte* const copied = own.upload(std::vector<std::byte>(kBytes));
    const std::array<StreamMessage, 2> group{
        StreamMessage{Transfer::Kind::send, 1 - own.rank, data, kBytes},
        StreamMessage{Transfer::Kind::recv, 1 - own.rank, taken, kBytes}};
    own.streams.exchange(group, own.stream);
    own.streams.follow(second, own.stream);
    own.streams.copy(copied, taken, kBytes, second);
    const auto mark = own.streams.mark(second);
    while (!mark->is_done()) std::this_thread::yield();
    EXPECT_EQ(own.download(copied, kBytes), message_of(1 - own.rank, own.rank, 0, kBytes));
    for (std::byte* const each : {data, taken, copied}) own.streams.deallocate(each, own.stream);
  });
}

TEST_P(StreamConformance, KnowsMemoryOfItsDevice) {
  run(2, [](const Own& own) {
    std::byte host{};
    std::byte* const data = own.upload(std::vector<std::byte>(64));
    EXPECT_TRUE(own.streams.is_on_device(data));
    EXPECT_FALSE(own.streams.is_on_device(&host));
    EXPECT_NO_THROW(own.streams.check(own.stream, {data, 64}, {}));
    EXPECT_THROW(own.streams.check(own.stream, {&host, 1}, {}), Error);
    const std::shared_ptr<std::byte> registered = own.streams.allocate_registered(1000);
    EXPECT_TRUE(own.streams.is_on_device(registered.get()));
    EXPECT_EQ(own.download(registered.get(), 1000), std::vector<std::byte>(1000));
    own.streams.deallocate(data, own.stream);
  });
}

/// A group without an answer ends with abort, and so does all later work on its stream.
TEST_P(StreamConformance, EndsWhatIsUnderWayByAbort) {
  if (const std::string why = lack_of(devices_for(2)); !why.empty()) GTEST_SKIP() << why;
  GpuWorld world{2, GetParam().transports, devices_for(2)};
  const auto errors = world.run([&](Rank rank) {
    cuda::attach(world[rank], {.device = world.device(rank).ordinal(),
                               .transport = GetParam().transport,
                               .timeout = test::kAmple});
    if (rank == 1) return;
    const OwnStream stream{world.device(rank)};
    const auto streams = streams_of(world[rank]);
    std::byte* const data = world.memory(rank)->allocate(1000);
    const StreamMessage never{Transfer::Kind::recv, 1, data, 1000};
    streams->exchange({&never, 1}, stream.get());
    streams->abort(Error{ErrorCode::aborted, "given up by the test"});
    streams->abort(Error{ErrorCode::aborted, "and again"});
    world.memory(rank)->wait(stream.get().handle());
    try {
      streams->check(stream.get(), {}, {});
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(std::string{error.what()}, "given up by the test");
    }
    world.memory(rank)->deallocate(data, 1000);
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

INSTANTIATE_TEST_SUITE_P(Transports, StreamConformance,
                         ::testing::Values(Route{"nccl", "shm"}, Route{"host", "shm"},
                                           Route{"host", "tcp"}));

}  // namespace
}  // namespace tutti::harness

// Counts beyond 2^31, for real: where a count or an offset passed through an int, this would show.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>

#include <tutti/mpi.hpp>

#include "watchdog.hpp"

namespace tutti::test {
namespace {

constexpr std::size_t kHuge = (std::size_t{1} << 31) + 4097;

/// A byte that differs for each rank and index, also for indices equal modulo 2^31 or 2^32.
std::uint8_t byte_of(Rank rank, std::size_t index) {
  return static_cast<std::uint8_t>((index * 0x9e3779b97f4a7c15u >> 56) +
                                   static_cast<std::size_t>(rank) * 37);
}

/// Memory that is not written before the test writes it.
std::unique_ptr<std::uint8_t[]> bytes(std::size_t count) {
  return std::make_unique_for_overwrite<std::uint8_t[]>(count);
}

/// How many elements differ from what `expected(index)` says.
template <class Expected>
std::size_t wrong(const std::uint8_t* data, Expected expected) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < kHuge; ++i) count += data[i] != expected(i);
  return count;
}

Communicator make_patient_world() {
  return mpi::communicator(MPI_COMM_WORLD, {.timeout = std::chrono::seconds{200}});
}

/// From rank 1 to rank 0, and back at once.
void expect_huge_messages(Communicator& world) {
  const Rank peer = 1 - world.rank();
  const auto in = bytes(kHuge);
  const auto out = bytes(kHuge);
  for (std::size_t i = 0; i < kHuge; ++i) out[i] = byte_of(world.rank(), i);
  watch("a huge message");
  if (world.rank() == 1) world.send(std::span{out.get(), kHuge}, peer);
  else world.recv(std::span{in.get(), kHuge}, peer);
  watch("comparing");
  if (world.rank() == 0) {
    EXPECT_EQ(wrong(in.get(), [](std::size_t i) { return byte_of(1, i); }), 0U);
  }
  watch("huge messages both ways");
  world.sendrecv(std::span{out.get(), kHuge}, peer, std::span{in.get(), kHuge}, peer);
  watch("comparing again");
  EXPECT_EQ(wrong(in.get(), [peer](std::size_t i) { return byte_of(peer, i); }), 0U);
}

TEST(Huge, MessagesOfMoreThanTwoToThe31Elements) {
  Communicator world = make_patient_world();
  expect_huge_messages(world);
}

TEST(Huge, MessagesOverOtherTransports) {
  for (const char* const transport : {"shm", "tcp"}) {
    SCOPED_TRACE(transport);
    Communicator world =
        mpi::init(MPI_COMM_WORLD, {.transport = transport, .timeout = std::chrono::seconds{200}});
    expect_huge_messages(world);
  }
}

TEST(Huge, AllReduceOfMoreThanTwoToThe31Elements) {
  Communicator world = make_patient_world();
  const auto data = bytes(kHuge);
  for (std::size_t i = 0; i < kHuge; ++i) data[i] = byte_of(world.rank(), i);
  watch("all_reduce of a huge vector");
  world.all_reduce(std::span{data.get(), kHuge}, sum, {.algorithm = "ring"});
  watch("comparing");
  const auto total = [&](std::size_t i) {
    std::uint8_t all = 0;
    for (Rank rank = 0; rank < world.size(); ++rank)
      all = static_cast<std::uint8_t>(all + byte_of(rank, i));
    return all;
  };
  EXPECT_EQ(wrong(data.get(), total), 0U);
}

TEST(Huge, BroadcastInSegmentsOfMoreThanTwoToThe31Elements) {
  Communicator world = make_patient_world();
  const auto data = bytes(kHuge);
  for (std::size_t i = 0; i < kHuge; ++i) data[i] = byte_of(world.rank(), i);
  watch("broadcast of a huge vector");
  world.broadcast(std::span{data.get(), kHuge}, 1, {.algorithm = "chain"});
  watch("comparing");
  EXPECT_EQ(wrong(data.get(), [](std::size_t i) { return byte_of(1, i); }), 0U);
}

TEST(Huge, AllGatherOfBlocksOfMoreThanTwoToThe31Elements) {
  Communicator world = make_patient_world();
  const auto size = static_cast<std::size_t>(world.size());
  const auto self = static_cast<std::size_t>(world.rank());
  const auto data = bytes(kHuge * size);
  const std::span own{data.get() + self * kHuge, kHuge};
  for (std::size_t i = 0; i < kHuge; ++i) own[i] = byte_of(world.rank(), i);
  watch("all_gather of huge blocks");
  world.all_gather(own, std::span{data.get(), kHuge * size});
  watch("comparing");
  for (Rank rank = 0; rank < world.size(); ++rank)
    EXPECT_EQ(wrong(data.get() + static_cast<std::size_t>(rank) * kHuge,
                    [rank](std::size_t i) { return byte_of(rank, i); }),
              0U)
        << "rank " << rank;
}

}  // namespace
}  // namespace tutti::test

// Once warm, posting and polling allocate nothing.
#include <gtest/gtest.h>

#include <array>

#include "counted_new.hpp"
#include "port.hpp"

namespace tutti::test {
namespace {

// Exchanges one message with both neighbours, in two pieces at each end.
void exchange(Port& port, std::vector<std::byte>& out, std::vector<std::byte>& in) {
  Transport& transport = port.transport();
  const std::size_t half = in.size() / 2;
  const std::array<Piece, 2> from{Piece{out.data() + half, half}, Piece{out.data(), half}};
  const std::array<Piece, 2> into{Piece{in.data() + half, half}, Piece{in.data(), half}};
  const std::array<Transfer, 2> transfers{
      Transfer{.kind = Transfer::Kind::recv, .peer = port.left(), .cookie = 0, .pieces = into},
      Transfer{.kind = Transfer::Kind::send, .peer = port.right(), .cookie = 1, .pieces = from}};
  transport.post(transfers);
  std::array<Completion, 4> completions{};
  for (std::size_t done = 0; done < transfers.size();) {
    const std::size_t count = transport.poll(completions);
    if (count == 0) sched_yield();
    done += count;
  }
}

TEST(MpiTransport, DoesNotAllocateOnceItIsWarm) {
  Port port;
  for (const std::size_t bytes : {8U, 4000U, 8000U, 20000U, 300000U}) {
    std::vector<std::byte> out = pattern(bytes, port.self(), port.right(), 1), in(bytes);
    for (int warm_up = 0; warm_up < 20; ++warm_up) exchange(port, out, in);
    const std::size_t before = allocations();
    for (int turn = 0; turn < 20; ++turn) exchange(port, out, in);
    EXPECT_EQ(allocations() - before, 0U) << bytes << " bytes";
    EXPECT_EQ(in, pattern(bytes, port.left(), port.self(), 1));
  }
  EXPECT_GT(allocations(), 0U) << "the counter does not count";
}

}  // namespace
}  // namespace tutti::test

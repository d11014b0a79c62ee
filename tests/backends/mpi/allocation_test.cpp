// Once warm, posting and polling allocate nothing.
#include <gtest/gtest.h>

#include <array>
#include <new>

#include "port.hpp"
#include "tests/support/replaced_new.hpp"

namespace tutti::test {
namespace {

/// @return the allocations of a body. The MPI's own calls of malloc are its business.
template <class Body>
std::uint64_t counted(const Body& body) {
  harness::allocations = 0;
  const harness::Count on{true};
  body();
  return harness::allocations;
}

/// Polls until transfers are done. @param transfers their number.
void complete(Port& port, std::size_t transfers) {
  std::array<Completion, 4> completions{};
  for (std::size_t done = 0; done < transfers;) {
    const std::size_t count = port.transport().poll(completions);
    if (count == 0) sched_yield();
    done += count;
  }
}

// Exchanges one message with both neighbours, in two pieces at each end, or combined.
void exchange(Port& port, std::vector<std::byte>& out, std::vector<std::byte>& in,
              Combiner* combiner = nullptr) {
  const std::size_t half = in.size() / 2;
  const std::array<Piece, 2> from{Piece{out.data() + half, half}, Piece{out.data(), half}};
  const std::array<Piece, 2> into{Piece{in.data() + half, half}, Piece{in.data(), half}};
  const std::array<Transfer, 2> transfers{Transfer{.kind = Transfer::Kind::recv,
                                                   .peer = port.left(),
                                                   .cookie = 0,
                                                   .pieces = into,
                                                   .combiner = combiner,
                                                   .reduced = combiner != nullptr},
                                          Transfer{.kind = Transfer::Kind::send,
                                                   .peer = port.right(),
                                                   .cookie = 1,
                                                   .pieces = from,
                                                   .reduced = combiner != nullptr}};
  port.transport().post(transfers);
  complete(port, transfers.size());
}

TEST(MpiTransport, DoesNotAllocateOnceItIsWarm) {
  Port port;
  for (const std::size_t bytes : {8U, 4000U, 8000U, 20000U, 300000U}) {
    std::vector<std::byte> out = pattern(bytes, port.self(), port.right(), 1), in(bytes);
    for (int warm_up = 0; warm_up < 20; ++warm_up) exchange(port, out, in);
    EXPECT_EQ(counted([&] {
                for (int turn = 0; turn < 20; ++turn) exchange(port, out, in);
              }),
              0U)
        << bytes << " bytes";
    EXPECT_EQ(in, pattern(bytes, port.left(), port.self(), 1));
  }
  EXPECT_GT(counted([] { operator delete(operator new(1)); }), 0U) << "the counter does not count";
}

TEST(MpiTransport, DoesNotAllocateForCombinersOnceItIsWarm) {
  struct Counter final : Combiner {
    void combine(std::span<const std::byte> part) override { bytes += part.size(); }
    std::size_t bytes = 0;
  };
  Port port;
  for (const std::size_t bytes : {8U, 4000U, 20000U, 3000000U}) {
    std::vector<std::byte> out = pattern(bytes, port.self(), port.right(), 1), in(bytes);
    Counter counter{};
    for (int warm_up = 0; warm_up < 5; ++warm_up) exchange(port, out, in, &counter);
    EXPECT_EQ(counted([&] {
                for (int turn = 0; turn < 5; ++turn) exchange(port, out, in, &counter);
              }),
              0U)
        << bytes << " bytes";
    EXPECT_EQ(counter.bytes, 10 * bytes);
  }
}

// A poll without memory for its results would lose them.
TEST(MpiTransport, NeverAllocatesInAPoll) {
  Port port;
  constexpr std::size_t kMessages = 1000;  // far more than there is room for at first
  const std::vector<std::byte> out = pattern(100, port.self(), port.right(), 1);
  std::vector<std::vector<std::byte>> in(kMessages, std::vector<std::byte>(out.size()));
  std::vector<Piece> into{};
  const Piece from{const_cast<std::byte*>(out.data()), out.size()};
  std::vector<Transfer> transfers{};
  for (std::vector<std::byte>& bytes : in) into.push_back({bytes.data(), bytes.size()});
  for (const Piece& piece : into) {
    transfers.push_back(
        {.kind = Transfer::Kind::recv, .peer = port.left(), .pieces = std::span{&piece, 1}});
    transfers.push_back(
        {.kind = Transfer::Kind::send, .peer = port.right(), .pieces = std::span{&from, 1}});
  }
  port.transport().post(transfers);
  EXPECT_EQ(counted([&] { complete(port, transfers.size()); }), 0U);
  for (const std::vector<std::byte>& bytes : in)
    EXPECT_EQ(bytes, pattern(out.size(), port.left(), port.self(), 1));
}

}  // namespace
}  // namespace tutti::test

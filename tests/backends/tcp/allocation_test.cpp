// Once messages of a kind have been sent, more of them allocate nothing.
#include <array>

#include <gtest/gtest.h>

#include "tests/conformance/loopback.hpp"
#include "tests/support/replaced_new.hpp"

namespace tutti::tcp {
namespace {

void exchange(Transport& one, Transport& other, std::span<const Piece> from,
              std::span<const Piece> to) {
  const std::array<Transfer, 2> sends{
      Transfer{.kind = Transfer::Kind::send, .peer = 1, .pieces = from},
      Transfer{.kind = Transfer::Kind::send, .peer = 1, .tag = 1, .pieces = from}};
  const std::array<Transfer, 2> receives{
      Transfer{.kind = Transfer::Kind::recv, .peer = 0, .tag = 1, .pieces = to},
      Transfer{.kind = Transfer::Kind::recv, .peer = 0, .pieces = to}};
  std::array<Completion, 4> completions{};
  one.post(sends);
  std::size_t done = other.poll(completions);
  other.post(receives);  // the first message of the two is not yet asked for
  while (done < 4) done += one.poll(completions) + other.poll(completions);
}

TEST(Allocation, HappensOnlyAtFirst) {
  const auto fabrics = conformance::connect_fabrics(2, {});
  const auto one = fabrics[0]->transport(1, {0, 1}, std::make_shared<FailureSignal>());
  const auto other = fabrics[1]->transport(1, {0, 1}, std::make_shared<FailureSignal>());
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{60000}, std::size_t{3000000}}) {
    std::vector<std::byte> out(bytes);
    std::vector<std::byte> in(bytes);
    const std::array<Piece, 2> from{Piece{out.data(), 3}, Piece{out.data() + 3, bytes - 3}};
    const std::array<Piece, 2> to{Piece{in.data(), 5}, Piece{in.data() + 5, bytes - 5}};
    for (int i = 0; i < 50; ++i) exchange(*one, *other, from, to);
    harness::allocations = 0;
    const harness::Count on{true};
    for (int i = 0; i < 50; ++i) exchange(*one, *other, from, to);
    EXPECT_EQ(harness::allocations, 0U) << bytes << " bytes";
  }
}

TEST(Allocation, HappensOnlyAtFirstForTheOwnRank) {
  const auto fabrics = conformance::connect_fabrics(2, {});
  const auto transport = fabrics[0]->transport(1, {0, 1}, std::make_shared<FailureSignal>());
  std::array<std::byte, 64> out{};
  std::array<std::byte, 64> in{};
  const Piece from{out.data(), out.size()};
  const Piece to{in.data(), in.size()};
  const std::array<Transfer, 2> both{
      Transfer{.kind = Transfer::Kind::send, .peer = 0, .pieces = std::span{&from, 1}},
      Transfer{.kind = Transfer::Kind::recv, .peer = 0, .pieces = std::span{&to, 1}}};
  std::array<Completion, 2> completions{};
  const auto exchange = [&](int times) {
    for (int i = 0; i < times; ++i) {
      transport->post(both);
      for (std::size_t done = 0; done < 2;) done += transport->poll(completions);
    }
  };
  exchange(50);
  harness::allocations = 0;
  const harness::Count on{true};
  exchange(1000);
  EXPECT_EQ(harness::allocations, 0U);
}

}  // namespace
}  // namespace tutti::tcp

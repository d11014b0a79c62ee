// The transport over MPI when ranks disagree or fail.
#include <gtest/gtest.h>

#include <functional>

#include "port.hpp"
#include "tests/support/patience.hpp"

namespace tutti::test {
namespace {

using Bytes = std::vector<std::byte>;

// The Error a piece of work throws.
Error error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  }
  return {ErrorCode::bug, "no error was thrown"};
}

bool contains(const Error& error, const std::string& text) {
  return std::string{error.what()}.find(text) != std::string::npos;
}

// Rank 0 receives from the last rank, with arguments that do not match.
struct Disagreement {
  std::size_t sent;
  std::size_t expected;
  std::uint64_t fingerprint;
};

class MpiMismatch : public testing::TestWithParam<Disagreement> {};

TEST_P(MpiMismatch, IsAnErrorOnAllRanks) {
  const auto [sent, expected, fingerprint] = GetParam();
  Port port;
  const Rank last = port.size() - 1;
  Bytes out(sent, std::byte{1});
  Bytes in(expected + 64, std::byte{9});
  if (port.self() == last) port.send(0, out, {.tag = 4, .fingerprint = 7});
  const Error error = error_of([&] {  // found as the receive is posted, or later
    if (port.self() != 0) port.receive(0, in, {.tag = 5});  // never sent
    else if (expected == 0) port.receive(last, std::vector<Piece>{}, {4, fingerprint});
    else port.receive(last, {{in.data(), expected}}, {4, fingerprint});
    port.wait();
  });
  if (port.self() == 0) {
    EXPECT_EQ(error.code(), ErrorCode::mismatch) << error.what();
    EXPECT_EQ(error.culprit(), last);
    EXPECT_TRUE(contains(error, "rank " + std::to_string(last))) << error.what();
    EXPECT_TRUE(contains(error, fingerprint != 7 ? "0x0000000000000007" : std::to_string(sent)));
    EXPECT_TRUE(
        contains(error, fingerprint != 7 ? "0x0000000000000008" : std::to_string(expected)));
  } else {
    EXPECT_EQ(error.code(), ErrorCode::aborted) << error.what();
    EXPECT_EQ(error.cause(), ErrorCode::mismatch) << error.what();
    EXPECT_TRUE(contains(error, "rank 0 failed (mismatch)")) << error.what();
    EXPECT_EQ(error.culprit(), last);
  }
  port.transport().abort(error);
  port.transport().abort(error);
  for (std::size_t i = expected; i < in.size(); ++i) ASSERT_EQ(in[i], std::byte{9});
  EXPECT_EQ(error_of([&port] { port.poll(); }).code(), error.code()) << "the first cause stays";
  EXPECT_EQ(error_of([&port, &in] { port.send(0, in, {}); }).code(), error.code());
}

INSTANTIATE_TEST_SUITE_P(OfFingerprints, MpiMismatch,
                         testing::Values(Disagreement{8, 8, 8}, Disagreement{0, 0, 8},
                                         Disagreement{100000, 100000, 8}));
INSTANTIATE_TEST_SUITE_P(OfLengths, MpiMismatch,
                         testing::Values(Disagreement{8, 16, 7}, Disagreement{16, 8, 7},
                                         Disagreement{0, 8, 7}, Disagreement{8, 0, 7},
                                         Disagreement{4000, 4001, 7}, Disagreement{4001, 4000, 7},
                                         Disagreement{100000, 8, 7}, Disagreement{8, 100000, 7},
                                         Disagreement{100000, 50000, 7},
                                         Disagreement{500000, 1000000, 7}));

/// One rank fails; every other one gets its reason.
void expect_all_hear_of(Rank failed) {
  Port port;
  Bytes small(8), large(1000000);
  const Rank culprit = port.size() - 1;
  if (port.self() == failed) {
    port.transport().abort({ErrorCode::timeout, "the ring has lost a rank", culprit});
    EXPECT_EQ(error_of([&port] { port.poll(); }).code(), ErrorCode::timeout);
    return;
  }
  port.receive(failed, small, {.tag = 1});
  port.receive(failed, large, {.tag = 2});
  port.send(failed, large, {.tag = 3});  // the failed rank never receives it
  const Error error = error_of([&port] { port.wait(); });
  EXPECT_EQ(error.code(), ErrorCode::aborted);
  EXPECT_TRUE(contains(error, "the ring has lost a rank")) << error.what();
  EXPECT_TRUE(contains(error, "timeout")) << error.what();
  EXPECT_EQ(error.culprit(), culprit);
  const Duration before = port.transport().now();
  port.transport().abort(error);
  EXPECT_LT(port.transport().now() - before, kLongBefore);
}

TEST(MpiAbort, OfTheFirstRankWakesTheOthersWithItsCause) {
  expect_all_hear_of(0);
}

TEST(MpiAbort, OfTheLastRankWakesTheOthersWithItsCause) {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  expect_all_hear_of(size - 1);
}

TEST(MpiAbort, EndsAlsoWhereTransfersAreUnderWay) {
  Port port;
  Bytes out(3000000, std::byte{1}), in(3000000);
  port.receive(port.left(), in, {});
  port.send(port.right(), out, {});
  static_cast<void>(port.transport().poll({}));
  const Error cause{ErrorCode::timeout, "given up amid a message", 0};
  const Duration before = port.transport().now();
  port.transport().abort(cause);
  EXPECT_LT(port.transport().now() - before, kLongBefore);
  EXPECT_EQ(error_of([&port] { port.poll(); }).code(), ErrorCode::timeout);
}

TEST(MpiAbort, HappensWhereATransportGoesWithTransfersPending) {
  Bytes in(8);
  Error error{ErrorCode::bug, ""};
  {
    Port port;
    port.receive(port.left(), in, {});
    if (port.self() != 0) error = error_of([&port] { port.wait(); });
  }
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) return;
  EXPECT_EQ(error.code(), ErrorCode::aborted);
  EXPECT_TRUE(contains(error, "rank 0 destroyed its communicator")) << error.what();
}

}  // namespace
}  // namespace tutti::test

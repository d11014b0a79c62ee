// Ranks that disagree, and a rank that stays away: an error on every rank, within the deadline. For
// two ranks and more.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <tutti/mpi.hpp>

#include "tests/support/patience.hpp"

namespace tutti::test {
namespace {

Communicator make_world(Duration timeout) {
  return mpi::communicator(MPI_COMM_WORLD, {.timeout = timeout}, {.timeout = kAmple});
}

// A call of the last rank that differs from the others'; every rank must get an error.
struct Difference {
  const char* what;
  Call (*call)(std::span<float> data, bool odd);
};

class MpiDisagreement : public testing::TestWithParam<Difference> {};

TEST_P(MpiDisagreement, IsAnErrorOnAllRanks) {
  Communicator world = make_world(std::chrono::seconds{1});
  std::vector<float> data(64, 1.0F);
  const bool odd = world.rank() == world.size() - 1;
  const Call call = GetParam().call(std::span{data}, odd);
  const auto start = std::chrono::steady_clock::now();
  const Result<void> result = world.try_().run(call);
  EXPECT_LT(std::chrono::steady_clock::now() - start, kLongBefore);
  // A rank with nothing to receive may be done before the failure; a later call fails.
  Result<void> next = result;
  for (int calls = 0; next && calls < 100; ++calls)
    next = world.try_().barrier({.timeout = std::chrono::seconds{1}});
  ASSERT_FALSE(next) << GetParam().what;
  if (!result) {
    EXPECT_EQ(std::string{next.error().what()}, result.error().what()) << "the first cause";
  }
  const ErrorCode code = next.error().code();
  EXPECT_TRUE(code == ErrorCode::mismatch || code == ErrorCode::aborted ||
              code == ErrorCode::timeout)
      << next.error().what();
}

Call different_count(std::span<float> data, bool odd) {
  return call::all_reduce(data.first(odd ? 63 : 64), data.first(odd ? 63 : 64), sum);
}
Call different_operator(std::span<float> data, bool odd) {
  return call::all_reduce(data, data, odd ? max : sum);
}
Call different_type(std::span<float> data, bool odd) {
  const std::span<std::int32_t> other{reinterpret_cast<std::int32_t*>(data.data()), data.size()};
  return odd ? call::all_reduce(other, other, sum) : call::all_reduce(data, data, sum);
}
Call different_root(std::span<float> data, bool odd) {
  return call::broadcast(data, odd ? 1 : 0);
}
Call different_collective(std::span<float> data, bool odd) {
  return odd ? call::broadcast(data, 0) : call::all_reduce(data, data, sum);
}

INSTANTIATE_TEST_SUITE_P(Of, MpiDisagreement,
                         testing::Values(Difference{"count", different_count},
                                         Difference{"operator", different_operator},
                                         Difference{"type", different_type},
                                         Difference{"root", different_root},
                                         Difference{"collective", different_collective}),
                         [](const auto& test) { return std::string{test.param.what}; });

TEST(MpiDeadline, NamesARankThatNeverEnters) {
  Communicator world = make_world(kAmple);
  std::vector<float> data(8, 1.0F);
  world.barrier();
  const Rank absent = world.size() - 1;
  if (world.rank() == absent) std::this_thread::sleep_for(std::chrono::milliseconds{1500});
  const auto start = std::chrono::steady_clock::now();
  // A flat tree: all wait for the absent rank, and for no rank that waits for it in turn.
  Result<void> result = world.try_().broadcast(
      std::span{data}, absent,
      {.algorithm = "knomial:k=8", .timeout = std::chrono::milliseconds{500}});
  EXPECT_LT(std::chrono::steady_clock::now() - start, kLongBefore);
  // The late rank's messages may have arrived before the others failed. Then its next call fails.
  if (result && world.rank() == absent) result = world.try_().barrier();
  ASSERT_FALSE(result);
  const ErrorCode code = result.error().code();
  EXPECT_TRUE(code == ErrorCode::timeout || code == ErrorCode::aborted) << result.error().what();
  EXPECT_EQ(result.error().cause(), ErrorCode::timeout) << result.error().what();
  EXPECT_EQ(result.error().culprit(), absent) << result.error().what();
  const std::string named = "nothing came from rank " + std::to_string(absent);
  for (const std::string& part : {std::string{"timed out"}, named})
    EXPECT_NE(std::string{result.error().what()}.find(part), std::string::npos)
        << result.error().what();
}

}  // namespace
}  // namespace tutti::test

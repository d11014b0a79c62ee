// Ranks that disagree about a call, over shared memory, TCP and both: the same error on every rank,
// long before the deadline, and never wrong data.
#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "tests/runtime/worlds.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

constexpr float kBeyond = -7.0F;

/// A rank's buffers: two vectors that hold its number and, behind their ends, bytes that no call
/// may touch.
class Vectors {
 public:
  Vectors(Rank rank, std::size_t count) : count_{count} {
    for (std::vector<float>& vector : vectors_) {
      vector.assign(count + 1, static_cast<float>(rank + 1));
      vector.back() = kBeyond;
    }
  }
  [[nodiscard]] std::span<float> operator[](std::size_t which) {
    return std::span{vectors_[which]}.first(count_);
  }
  [[nodiscard]] std::span<std::int32_t> integers() {
    return {reinterpret_cast<std::int32_t*>(vectors_[0].data()), count_};
  }
  /// @return whether the first vector is that of a rank.
  [[nodiscard]] bool is_of(Rank rank) {
    const auto value = static_cast<float>(rank + 1);
    return std::ranges::all_of((*this)[0], [value](float one) { return one == value; });
  }
  [[nodiscard]] bool is_intact_beyond() const {
    return vectors_[0].back() == kBeyond && vectors_[1].back() == kBeyond;
  }

 private:
  std::size_t count_;
  std::array<std::vector<float>, 2> vectors_;
};

/// The odd rank's calls.
struct OddCalls {
  const char* name;
  std::vector<Call> (*calls)(Vectors& data, bool is_odd, Rank odd);
};

/// @return whom a rank takes for the root where they disagree: the odd one itself, the others
/// another, so that each root sends.
Rank root_of(bool is_odd, Rank odd) {
  if (is_odd) return odd;
  return odd == 0 ? 1 : 0;
}

std::vector<Call> different_operator(Vectors& data, bool is_odd, Rank /*odd*/) {
  return {call::all_reduce(data[0], data[0], is_odd ? max : sum)};
}
std::vector<Call> different_type(Vectors& data, bool is_odd, Rank /*odd*/) {
  if (is_odd) return {call::all_reduce(data.integers(), data.integers(), sum)};
  return {call::all_reduce(data[0], data[0], sum)};
}
std::vector<Call> different_count(Vectors& data, bool is_odd, Rank /*odd*/) {
  const std::span<float> all = data[0].first(data[0].size() - (is_odd ? 1 : 0));
  return {call::all_reduce(all, all, sum)};
}
std::vector<Call> different_root(Vectors& data, bool is_odd, Rank odd) {
  return {call::broadcast(data[0], root_of(is_odd, odd))};
}
std::vector<Call> in_order(const Call& first, const Call& second, bool is_odd) {
  return is_odd ? std::vector{second, first} : std::vector{first, second};
}
std::vector<Call> different_order(Vectors& data, bool is_odd, Rank /*odd*/) {
  const std::span<float> blocks = data[1].first(3);
  return in_order(call::all_reduce(data[0], data[0], sum), call::all_to_all(blocks, blocks),
                  is_odd);
}
// Alike in all but what becomes of the elements.
std::vector<Call> different_order_of_operators(Vectors& data, bool is_odd, Rank /*odd*/) {
  return in_order(call::all_reduce(data[0], data[0], sum), call::all_reduce(data[1], data[1], max),
                  is_odd);
}

constexpr OddCalls kOddCalls[] = {
    {"operator", different_operator}, {"type", different_type},
    {"count", different_count},       {"root", different_root},
    {"order", different_order},       {"order_of_operators", different_order_of_operators}};

using Parameters = std::tuple<Setting, OddCalls, Rank, std::size_t>;

std::string name_of_parameters(const ::testing::TestParamInfo<Parameters>& info) {
  const auto& [setting, difference, odd, count] = info.param;
  return setting.transports + "_" + difference.name + "_on_rank_" + std::to_string(odd) + "_of_" +
         std::to_string(count);
}

/// Starts all calls, then waits for them in their order. @return how each went.
std::vector<Result<void>> run_each(Communicator& world, const std::vector<Call>& calls) {
  std::vector<Result<Request>> started;
  for (const Call& one : calls) started.push_back(world.try_().start(one));
  std::vector<Result<void>> results;
  for (Result<Request>& one : started)
    results.push_back(one ? one.value().try_wait() : Result<void>{one.error()});
  return results;
}

/// A rank that waited for no other gets the error by its 64th further call. @return the outcome.
Result<void> barriers(Communicator& world) {
  Result<void> result;
  for (int call = 0; result && call < 64; ++call) result = world.try_().barrier();
  return result;
}

class Disagreement : public ::testing::TestWithParam<Parameters> {};

TEST_P(Disagreement, IsAnErrorOnAllRanks) {
  const auto& [setting, difference, odd, count] = GetParam();
  std::mutex mutex;
  std::vector<std::string> told;
  const auto body = [&, odd = odd, count = count, &difference = difference](Communicator& world) {
    const bool is_odd = world.rank() == odd;
    SCOPED_TRACE("rank " + std::to_string(world.rank()));
    Vectors data{world.rank(), count};
    const auto start = Clock::now();
    auto results = run_each(world, difference.calls(data, is_odd, odd));
    // No rank can reduce different inputs, but a root waits for no rank.
    if (difference.calls == different_root && results[0]) {
      EXPECT_TRUE(data.is_of(root_of(is_odd, odd))) << "wrong data";
      results[0] = barriers(world);
    }
    EXPECT_LT(Clock::now() - start, kLongBefore);
    EXPECT_TRUE(data.is_intact_beyond());
    for (const Result<void>& result : results) {
      ASSERT_FALSE(result) << "noticed nothing";
      EXPECT_EQ(result.error().code(), ErrorCode::mismatch) << result.error().what();
      const std::scoped_lock lock{mutex};
      told.emplace_back(result.error().what());
    }
  };
  expect_no_error(in_world(setting, body));
  for (const std::string& text : told) EXPECT_EQ(text, told.front()) << "not the same to all";
}

// Few elements travel with their announcement, many on their own.
INSTANTIATE_TEST_SUITE_P(Over, Disagreement,
                         ::testing::Combine(::testing::Values(Setting{3, "shm", 1},
                                                              Setting{3, "tcp", 3},
                                                              Setting{3, "auto", 2}),
                                            ::testing::ValuesIn(kOddCalls), ::testing::Values(0, 2),
                                            ::testing::Values(64, 300'000)),
                         name_of_parameters);

}  // namespace
}  // namespace tutti::test

// Many requests at a time.
#include "tests/collectives/rows.hpp"

namespace tutti::harness {
namespace {

TEST(ManyRequests, EndInAnyOrder) {
  World world{{.cluster = {.size = 2, .seed = 4}}};
  std::vector<int> in{1, 2, 3}, out(3);
  std::vector<Request> sends, receives(4);  // one of them stays empty
  for (std::size_t i = 0; i < 3; ++i)
    receives[i] = world[0].async().recv(std::span{&out[i], 1}, 1, static_cast<int>(i));
  EXPECT_FALSE(test_any(receives));
  EXPECT_FALSE(test_all(receives));
  for (const std::size_t i : {2U, 0U, 1U}) {
    sends.push_back(world[1].async().send(std::span{&in[i], 1}, 0, static_cast<int>(i)));
    std::optional<std::size_t> ended;
    while (!(ended = test_any(receives))) ASSERT_TRUE(world.cluster().advance());
    EXPECT_EQ(*ended, i);
    EXPECT_TRUE(receives[i].is_empty());
  }
  EXPECT_TRUE(test_all(receives));
  EXPECT_FALSE(wait_any(receives)) << "all are empty";
  wait_all(sends);
  EXPECT_EQ(out, in);
}

TEST(ManyRequests, OfSeveralCommunicatorsGoOnTogether) {
  World first{{.cluster = {.size = 1}}}, second{{.cluster = {.size = 1}}};
  std::vector<int> data(2, 5);
  std::vector<Request> requests;
  requests.push_back(first[0].async().all_reduce(std::span{&data[0], 1}));
  requests.push_back(second[0].async().all_reduce(std::span{&data[1], 1}));
  wait_all(requests);
  EXPECT_TRUE(requests[0].is_empty() && requests[1].is_empty());
}

TEST(ManyRequests, ThrowTheFirstErrorWhenAllHaveEnded) {
  World failing{2}, good{1};
  std::vector<int> data(3, 1);
  std::vector<Request> requests;
  for (std::size_t i = 0; i < 2; ++i)
    requests.push_back(failing[0].async().all_reduce(std::span{&data[i], 1}));
  requests.push_back(good[0].async().all_reduce(std::span{&data[2], 1}));
  { const Request dropped = failing[0].async().barrier(); }
  try {
    wait_all(requests);
    FAIL() << "a communicator has failed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::aborted) << error.what();
  }
  for (const Request& request : requests) EXPECT_TRUE(request.is_empty());
  EXPECT_TRUE(good[0].try_().barrier()) << "the other one stays good";
}

}  // namespace
}  // namespace tutti::harness

// Ranks that train together keep the same bits.
#include "replicas.hpp"

namespace tutti::test {
namespace {

class Replicas : public testing::TestWithParam<Setting> {};

TEST_P(Replicas, KeepTheSameBits) {
  expect_equal_replicas(GetParam(), 20);
}

INSTANTIATE_TEST_SUITE_P(Worlds, Replicas,
                         ::testing::Values(Setting{2, "auto", 1}, Setting{3, "auto", 1},
                                           Setting{4, "auto", 2}, Setting{8, "auto", 1}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace tutti::test

// The same over a thousand steps, which take minutes.
#include "replicas.hpp"

namespace tutti::test {
namespace {

class ReplicasLong : public testing::TestWithParam<Setting> {};

TEST_P(ReplicasLong, KeepTheSameBits) {
  expect_equal_replicas(GetParam(), 1000);
}

INSTANTIATE_TEST_SUITE_P(Worlds, ReplicasLong,
                         ::testing::Values(Setting{2, "auto", 1}, Setting{3, "auto", 1},
                                           Setting{4, "auto", 2}, Setting{8, "auto", 1}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace tutti::test

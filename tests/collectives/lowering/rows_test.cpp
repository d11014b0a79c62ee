// Every row of the catalog, lowered on all ranks and checked.
#include <gtest/gtest.h>

#include "lowered.hpp"

namespace tutti::test {
namespace {

class LoweredRows : public ::testing::TestWithParam<int> {};

TEST_P(LoweredRows, DoWhatTheirSchedulesSay) {
  check_rows(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Ranks, LoweredRows, ::testing::Range(1, 17));

}  // namespace
}  // namespace tutti::test

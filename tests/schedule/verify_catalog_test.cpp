#include <gtest/gtest.h>

#include "collectives/verify_row.hpp"

namespace tutti {
namespace {

TEST(VerifyCatalog, EveryRowUpToTwentyFourRanks) {
  ASSERT_FALSE(catalog().empty());
  for (const Algorithm& row : catalog()) {
    const RowReport report = verify_row(row, {.min_size = 1, .max_size = 24});
    EXPECT_GT(report.shapes, 0U);
    for (const Finding& finding : report.findings)
      ADD_FAILURE() << name_of(finding.kind) << ": " << finding.message;
  }
}

}  // namespace
}  // namespace tutti

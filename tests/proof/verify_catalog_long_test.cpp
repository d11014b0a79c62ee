#include <gtest/gtest.h>

#include "proof/verify_row.hpp"

namespace tutti::v0 {
namespace {

TEST(VerifyCatalogLong, EveryRowUpToSixtyFourRanksAndASampleBeyond) {
  ASSERT_FALSE(catalog().empty());
  for (const Algorithm& row : catalog()) {
    const RowReport report = verify_row(
        row, {.min_size = 1, .max_size = 64, .sample_to = 512, .samples = 4, .seed = 2024});
    EXPECT_GE(report.shapes, 6U);
    for (const Finding& finding : report.findings)
      ADD_FAILURE() << name_of(finding.kind) << ": " << finding.message;
  }
}

}  // namespace
}  // namespace tutti::v0

/// @file
/// Test parameters made from the catalog, and the loop that runs cases on one world.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tutti/spi/algorithm.hpp>

#include "tests/support/experiment.hpp"
#include "tests/support/world.hpp"

namespace tutti::harness {

/// An algorithm on a number of ranks.
struct Row {
  Collective collective{};  ///< Which collective.
  std::string algorithm{};  ///< A choice; empty is what a plain call runs.
  int size = 1;             ///< Number of ranks.
  std::size_t ordinal = 0;  ///< Its place in the list: spreads variants over the list.
  Traits traits{};          ///< The row's traits; all-claiming for the empty choice.
};

/// @param sizes numbers of ranks. @return every row of the catalog, with several values of its
/// parameter, and the empty choice, on each of the sizes that the row admits.
[[nodiscard]] std::vector<Row> rows_of(const std::vector<int>& sizes);
/// The sizes that all rows are tested on.
inline const std::vector<int> kSizes{1, 2, 3, 4, 5, 7, 8, 11, 16};

/// @param info of a parameterised test. @return such as "all_reduce_circulant_skips_2_1_n3".
[[nodiscard]] std::string name_of_row(const ::testing::TestParamInfo<Row>& info);

/// How GoogleTest shows a row. @param row which. @param stream where.
void PrintTo(const Row& row, std::ostream* stream);

/// Cases of a row over the counts 0, 1, n-1, n, n+1, 1000 and 65537.
/// @param row which. @param variants cases per count: datatypes, operators, segments, in place or
/// not, equal or unequal blocks and roots rotate. The last two counts together meet all
/// three segments in place and not. @return the cases.
[[nodiscard]] std::vector<Case> cases_of(const Row& row, std::size_t variants);

/// Starts the case on all ranks, drives it to its end and checks results, inputs and guards.
/// @param world of the case's size. @param experiment the buffers. @return what went wrong, if
/// anything did.
[[nodiscard]] std::string run(World& world, Experiment& experiment);

/// A task that starts when it is first tested: ranks enter in the order that the seed decides.
/// @param communicator whose. @param experiment the buffers. @return the task.
[[nodiscard]] Task task_of(Communicator& communicator, Experiment& experiment);

/// Drives tasks to their end, and fails where one fails or never ends. @param world theirs.
/// @param tasks what is pending.
void expect_success(World& world, std::vector<Task>& tasks);

}  // namespace tutti::harness

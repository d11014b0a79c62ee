// If one rank has no memory for another communicator, all ranks get an error, and none waits for
// it.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>

#include <tutti/mpi.hpp>

#include "tests/support/patience.hpp"
#include "tests/support/replaced_new.hpp"

namespace tutti::test {
namespace {

using Clock = std::chrono::steady_clock;
using harness::failed_allocations, harness::failing_allocation;

/// The result of making a communicator.
struct Outcome {
  std::string error{};  ///< Empty where it was made.
  bool is_usable = false;
};

/// Makes and uses one, while an allocation of the last rank fails. @param allocation which.
template <class Make>
Outcome outcome_of(Communicator& world, std::uint32_t allocation, const Make& make) {
  Outcome outcome;
  if (world.rank() == world.size() - 1) failing_allocation = allocation;
  try {
    Communicator part = make();
    failing_allocation = 0;
    outcome.is_usable = part.all_reduce(1) == part.size();
  } catch (const std::exception& error) {
    outcome.error = error.what();
  }
  failing_allocation = 0;
  return outcome;
}

/// Lets allocations fail, each in a run of its own, until there is none more.
/// @param first that is made where others may wait for this rank.
template <class Make>
void starve(Communicator& world, std::uint32_t first, const Make& make) {
  int told = 0;
  for (std::uint32_t allocation = first;; allocation += 1 + allocation / 16) {
    ASSERT_LT(allocation, 1000U);
    const std::uint32_t before = failed_allocations;
    const Clock::time_point begin = Clock::now();
    const Outcome outcome = outcome_of(world, allocation, make);
    EXPECT_LT(Clock::now() - begin, kLongBefore) << allocation;
    const int failing = world.all_reduce(failed_allocations != before ? 1 : 0);
    const int usable = world.all_reduce(outcome.is_usable ? 1 : 0);
    EXPECT_TRUE(usable == 0 || usable == world.size()) << allocation << ": " << outcome.error;
    if (outcome.error.find("has no memory for another communicator") != std::string::npos) ++told;
    if (failing == 0) {
      EXPECT_EQ(usable, world.size()) << outcome.error;
      break;
    }
  }
  if (world.rank() != world.size() - 1) {
    EXPECT_GT(told, 10);
  }
}

// The list of ranks is allocated first, before anything is collective.
constexpr std::uint32_t kAfterTheList = 2;

TEST(MpiMemory, MayRunOutForADuplicate) {
  Communicator world = mpi::communicator(MPI_COMM_WORLD, {.timeout = kAmple});
  starve(world, kAfterTheList, [&] { return world.duplicate({.timeout = kAmple}); });
}

}  // namespace
}  // namespace tutti::test

// Tests of normalise() on five ranks within this process. Any test framework works as well: the
// function that runs on each rank reports by exceptions, or by variables of the test.
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <tutti/testing.hpp>

#include "normalise.hpp"

namespace {

constexpr int kRanks = 5;

void check(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error{what};
}

// Each seed is a different order of messages: the result is always the same.
void test_result(std::uint64_t seed) {
  const auto errors = tutti::sim::run_ranks(
      {.size = kRanks, .seed = seed}, [](tutti::Communicator& world) {
        std::vector<double> part(4, world.rank() == 2 ? 3.0 : 0.0);
        check(normalise(world, part) == 6, "the norm of four threes is 6");
        check(part.front() == (world.rank() == 2 ? 0.5 : 0.0), "elements are divided by the norm");
      });
  for (const auto& error : errors) check(!error, "no rank fails");
}

// If a rank dies, all others get an error that names it, and none of them hangs.
void test_death() {
  const auto errors = tutti::sim::run_ranks(
      {.size = kRanks,
       .faults = {{.rank = 3, .kind = tutti::sim::Fault::Kind::death, .after_transfers = 2}},
       .detect_death = true},
      [](tutti::Communicator& world) {
        std::vector<double> part(4, 1.0);
        while (true) normalise(world, part);
      });
  for (const std::optional<tutti::Error>& error : errors) {
    check(error.has_value(), "every rank fails");
    check(error->culprit() == 3, "the error names rank 3, but it is: " + std::string{error->what()});
  }
}

// At the deadline the errors name the rank that never calls. Time is virtual: the test does not
// take that hour.
void test_absence() {
  const auto errors = tutti::sim::run_ranks(
      {.size = kRanks},
      [](tutti::Communicator& world) {
        std::vector<double> part(4, 1.0);
        if (world.rank() != 4) normalise(world, part);
        else world.recv(part, 0);  // a bug: no rank sends
      },
      {.timeout = std::chrono::hours{1}});
  for (const auto& error : errors) check(error.has_value(), "every rank fails");
}

}  // namespace

int main() {
  try {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) test_result(seed);
    test_death();
    test_absence();
  } catch (const std::exception& error) {
    std::printf("failed: %s\n", error.what());
    return 1;
  }
  std::printf("own_tests: all passed\n");
}

// If memory runs out on one rank, at any allocation, the step fails on all ranks, and none hangs.
#include <filesystem>
#include <optional>

#include <unistd.h>

#include <tutti/training.hpp>

#include "gradients.hpp"
#include "tests/support/replaced_new.hpp"

namespace tutti::test {
namespace {

using harness::failed_allocations, harness::failing_allocation;

const Setting kStarving{3, "auto", 1};
constexpr Rank kStarved = 1;
constexpr std::chrono::seconds kDeadline{10};

/// The outcome of a run in which one allocation fails.
struct Starvation {
  bool has_failed = false;             ///< Whether there was that allocation.
  std::array<int, 3> good{};           ///< By rank: steps that ended well, before one that did not.
  std::array<std::string, 3> texts{};  ///< By rank: the first error.
  std::array<milliseconds, 3> elapsed{};  ///< By rank.
};

/// Makes an allocation of this thread fail, and none where the scope ends.
class Starve {
 public:
  explicit Starve(std::uint32_t number) { failing_allocation = number; }
  Starve(const Starve&) = delete;
  Starve& operator=(const Starve&) = delete;
  ~Starve() { failing_allocation = 0; }
};

/// Runs a body on three ranks, of which the starved one may fail. @param body is given its world
/// and where to count what went well.
Starvation starve(const std::function<void(Communicator&, int& good)>& body) {
  Starvation found;
  const std::uint32_t before = failed_allocations;
  in_world(kStarving,
           [&](Communicator& world) {
             const auto rank = static_cast<std::size_t>(world.rank());
             const Clock::time_point begin = Clock::now();
             try {
               body(world, found.good[rank]);
             } catch (const Error& error) {
               found.texts[rank] = error.what();
             } catch (const std::exception& error) {
               ADD_FAILURE() << "rank " << rank << " got no Error: " << error.what();
             }
             failing_allocation = 0;
             found.elapsed[rank] = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
           },
           std::chrono::seconds{30}, std::size_t{1} << 26, {.timeout = kDeadline});
  found.has_failed = failed_allocations != before;
  return found;
}

/// All ranks fail in the same step, or none does.
void expect_agreed(const Starvation& found, std::uint32_t allocation) {
  for (const std::size_t rank : {0U, 1U, 2U}) {
    EXPECT_EQ(found.good[rank], found.good[kStarved])
        << "allocation " << allocation << ", rank " << rank << " of " << found.texts[kStarved];
    EXPECT_EQ(found.texts[rank].empty(), found.texts[kStarved].empty())
        << "allocation " << allocation << ", rank " << rank << ": '" << found.texts[rank]
        << "', but rank 1: '" << found.texts[kStarved] << "'";
    EXPECT_LT(found.elapsed[rank], kDeadline) << "allocation " << allocation << ", rank " << rank;
  }
}

/// Lets one allocation after the other fail, until there is none more.
void starve_all(const std::function<void(Communicator&, std::uint32_t, int&)>& body) {
  constexpr std::uint32_t kMost = 5000;
  std::uint32_t allocation = 1;
  for (bool has_failed = true; has_failed && allocation < kMost && !testing::Test::HasFailure();
       allocation += 1 + allocation / 16) {
    const Starvation found =
        starve([&](Communicator& world, int& good) { body(world, allocation, good); });
    expect_agreed(found, allocation);
    has_failed = found.has_failed;
  }
  EXPECT_GT(allocation, 2U) << "nothing has failed";
  EXPECT_LT(allocation, kMost);
}

std::uint32_t of_rank(const Communicator& world, std::uint32_t allocation) {
  return world.rank() == kStarved ? allocation : 0;
}

void take_steps(GradientSync& sync, Model& model, Communicator& world, int steps, int& good,
                std::uint32_t failing) {
  for (int step = 0; step < steps; ++step) {
    model.go_backward(sync, world.rank(), step);
    const Starve starve{step == 0 ? failing : 0};
    sync.wait();
    ++good;
  }
}

const GradientOptions kObserved{
    .check_finite = true, .norm = true, .hash = true, .verify_every = 1, .record = 2};

TEST(GradientMemory, MayRunOutInWait) {
  for (const GradientOptions& options :
       {kObserved, GradientOptions{.compression = "f16", .compression_after = 1}})
    starve_all([&](Communicator& world, std::uint32_t allocation, int& good) {
      Model model{{10, 2000}};
      GradientSync sync{world, model.parameters(), options};
      take_steps(sync, model, world, 3, good, of_rank(world, allocation));
    });
}

/// Its own thread is the one that calls on_bucket.
TEST(GradientMemory, MayRunOutInTheOwnThread) {
  for (const GradientOptions& options : {kObserved, GradientOptions{}})
    starve_all([&](Communicator& world, std::uint32_t allocation, int& good) {
      Model model{{10, 2000}};
      bool is_first = true;
      GradientOptions own = options;
      own.on_bucket = [&](const ReducedBucket&) {
        if (std::exchange(is_first, false)) failing_allocation = of_rank(world, allocation);
      };
      GradientSync sync{world, model.parameters(), own};
      take_steps(sync, model, world, 4, good, 0);
    });
}

/// Calls that are made of several: if one rank stops between them, the others get an error.
TEST(CallsOfSeveral, FailWhereMemoryRunsOut) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("tutti_memory_" + std::to_string(getpid()));
  std::vector<float> array(10);
  const std::vector arrays{Parameter::of("array", array)};
  for (const auto& call : std::vector<std::function<void(Communicator&)>>{
           [&](Communicator& world) { save_checkpoint(world, path, arrays); },
           [&](Communicator& world) {
             const std::uint32_t failing = std::exchange(failing_allocation, 0);
             std::vector<float> own(10);
             const std::vector loaded{Parameter::of("array", own)};
             failing_allocation = failing;
             static_cast<void>(load_checkpoint(world, path, loaded));
           },
           [](Communicator& world) { once_per_node(world, "key", [] {}); },
           [](Communicator& world) {
             const SharedArray<int> shared{world, 10};
           },
           [](Communicator& world) {
             const std::uint32_t failing = std::exchange(failing_allocation, 0);
             MetricReducer metrics;
             metrics.add_count("samples");
             failing_allocation = failing;
             static_cast<void>(metrics.reduce(world));
           },
           [](Communicator& world) { static_cast<void>(world.split(0)); },
           [](Communicator& world) {
             const std::array own{1, 2};
             static_cast<void>(world.all_gatherv(own));
           }})
    starve_all([&](Communicator& world, std::uint32_t allocation, int& good) {
      {
        const Starve starve{of_rank(world, allocation)};
        call(world);
      }
      world.barrier();
      ++good;
    });
  std::filesystem::remove(path);
}

TEST(PeriodicMemory, MayRunOutInTheConstructor) {
  starve_all([](Communicator& world, std::uint32_t allocation, int& good) {
    std::vector<float> weights(1000);
    const std::vector arrays{Parameter::of("weights", weights)};
    std::optional<PeriodicSync> sync;
    {
      const Starve starve{of_rank(world, allocation)};
      sync.emplace(world, arrays);
    }
    ++good;
  });
}

TEST(GradientMemory, MayRunOutInTheConstructor) {
  starve_all([&](Communicator& world, std::uint32_t allocation, int& good) {
    Model model{{10, 2000}};
    const std::vector<Parameter> parameters = model.parameters();
    std::optional<GradientSync> sync;
    {
      const Starve starve{of_rank(world, allocation)};
      sync.emplace(world, parameters);
    }
    ++good;
  });
}

}  // namespace
}  // namespace tutti::test

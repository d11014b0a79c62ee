// After the first call of a shape, nothing is allocated.
#include <array>
#include <memory>
#include <utility>

#include <tutti/spi/catalog.hpp>
#include <tutti/spi/memory.hpp>

#include "collectives/execution/execution.hpp"
#include "tests/collectives/execution/uncounted.hpp"
#include "tests/collectives/rows.hpp"
#include "tests/support/replaced_new.hpp"

namespace tutti::harness {
namespace {

/// Memory that counts as operator new does: what it gives comes from elsewhere.
class CountedMemory final : public Memory {
 public:
  [[nodiscard]] std::byte* allocate(std::size_t bytes) override {
    if (counting) ++allocations;
    return inner_->allocate(bytes);
  }
  void deallocate(std::byte* data, std::size_t bytes) noexcept override {
    inner_->deallocate(data, bytes);
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    inner_->copy(to, from, bytes);
  }
  void fold(const Fold& work) override { inner_->fold(work); }

 private:
  std::shared_ptr<Memory> inner_ = make_host_memory();
};

constexpr std::size_t kRanks = 5;

WorldOptions options_for(std::uint64_t seed) {
  WorldOptions options{};
  options.cluster.size = static_cast<int>(kRanks);
  options.cluster.seed = seed;
  options.memory = std::make_shared<CountedMemory>();
  options.wrap = [](std::unique_ptr<Transport> inner) {
    return std::make_unique<Uncounted>(std::move(inner));
  };
  return options;
}

World make_world(std::uint64_t seed) {
  return World{options_for(seed)};
}

/// Tests all handles until they are done. @return whether they came to an end.
template <class Handle>
bool drive(World& world, std::span<Handle> handles) {
  for (int idle = 0; idle < 100;) {
    bool done = true;
    const std::uint64_t before = world.cluster().activity();
    for (Handle& handle : handles) done = handle.test() && done;
    if (done) return true;
    const Count off{false};
    const bool moved = world.cluster().activity() != before || world.cluster().advance();
    idle = moved ? 0 : idle + 1;
  }
  return false;
}

class Allocations : public ::testing::TestWithParam<Row> {};

Case case_for(const Row& row, std::size_t segment) {
  return {.collective = row.collective,
          .algorithm = row.algorithm,
          .size = row.size,
          .counts = cut(203, blocks_of(row.collective, row.size)),
          .root = 2,
          .segment = segment,
          .model = model_of(Datatype::f32, OperatorKind::sum)};
}

TEST_P(Allocations, HappenInTheFirstCallOfAShapeOnly) {
  for (const std::size_t segment : {Options::kWhole, std::size_t{64}}) {
    World world = make_world(GetParam().ordinal + 1);
    Experiment experiment{case_for(GetParam(), segment)};
    for (int call = 0; call < 6; ++call) {
      std::array<Request, kRanks> requests{};
      bool ended = false;
      allocations = 0;
      {
        const Count on{true};
        for (std::size_t r = 0; r < kRanks; ++r) {
          const auto rank = static_cast<Rank>(r);
          requests[r] = world[rank].async().run(experiment.call(rank), experiment.options());
        }
        ended = drive(world, std::span<Request>{requests});
      }
      ASSERT_TRUE(ended);
      // The first call shows that the count can fail.
      EXPECT_EQ(allocations > 0, call == 0)
          << allocations << " allocations, " << experiment.what().describe() << ", call " << call;
    }
  }
}

TEST_P(Allocations, DoNotHappenInRunsOfAPlan) {
  World world = make_world(GetParam().ordinal + 1);
  Experiment experiment{case_for(GetParam(), 100)};
  std::vector<Plan> plans{};
  for (Rank rank = 0; rank < world.size(); ++rank)
    plans.push_back(world[rank].plan().run(experiment.call(rank), experiment.options()));
  for (int run = 0; run < 5; ++run) {
    allocations = 0;
    {
      const Count on{true};
      for (Plan& plan : plans) plan.start();
      ASSERT_TRUE(drive(world, std::span<Plan>{plans}));
    }
    EXPECT_TRUE(run == 0 || allocations == 0u)
        << allocations << " allocations, " << experiment.what().describe() << ", run " << run;
  }
}

/// @return the allocations of one all_reduce, whose result must be right.
std::uint64_t allocations_of(World& world, std::size_t count) {
  Experiment experiment{{.collective = Collective::all_reduce,
                         .size = world.size(),
                         .counts = {count},
                         .model = model_of(Datatype::i64, OperatorKind::sum)}};
  std::array<Request, kRanks> requests{};
  allocations = 0;
  {
    const Count on{true};
    for (std::size_t r = 0; r < kRanks; ++r) {
      const auto rank = static_cast<Rank>(r);
      requests[r] = world[rank].async().run(experiment.call(rank), experiment.options());
    }
    EXPECT_TRUE(drive(world, std::span<Request>{requests}));
  }
  for (Rank rank = 0; rank < world.size(); ++rank) EXPECT_FALSE(experiment.problem(rank));
  return allocations;
}

TEST(Caches, ThatAreLargeRememberAndSmallOnesForget) {
  for (const bool is_small : {false, true}) {
    WorldOptions options = options_for(3);
    if (is_small) options.communicator.cache_bytes = 1;
    World world{options};
    for (std::size_t round = 0; round < 3; ++round)
      for (std::size_t count = 1; count < 20; ++count) {
        EXPECT_EQ(allocations_of(world, count) > 0, round == 0 || is_small)
            << "round " << round << ", " << count << " elements, small " << is_small;
        EXPECT_EQ(allocations_of(world, count), 0u) << "the last shape is remembered";
      }
  }
}

// Bound shapes keep to the budget, and so does scratch that is idle.
TEST(Caches, HoldAsMuchAsTheirBudgetSays) {
  constexpr std::size_t kBudget = 64_KiB;
  WorldOptions options = options_for(3);
  options.communicator.cache_bytes = kBudget;
  World world{options};
  static_cast<void>(allocations_of(world, 1));
  const std::size_t before = held_bytes;
  for (std::size_t count = 2; count < 150; ++count) static_cast<void>(allocations_of(world, count));
  const double held = static_cast<double>(held_bytes - before) / (kRanks * 2 * kBudget);
  EXPECT_GT(held, 0.8) << "it would forget too early";
  EXPECT_LT(held, 1.1) << "it would grow";
}

/// A transport that takes all messages and delivers none.
class Void final : public Wrapper {
 public:
  using Wrapper::Wrapper;
  void post(std::span<const Transfer>) override {}
};

/// As many bytes are held since then as are said to be, or more where malloc rounds up the sizes of
/// arrays.
void expect_held(std::size_t before, std::size_t said, std::size_t arrays) {
  const std::size_t held = held_bytes - before;
  EXPECT_GE(held, said);
  EXPECT_LE(held, said + 24 * arrays);
}

// The budget is met by what these say, so messages and folds must be many enough to be seen.
TEST(Footprints, AreWhatIsHeld) {
  constexpr int kMany = 64;
  sim::Cluster cluster{{.size = kMany}};
  Void transport{cluster.transport(0)};
  detail::Outbox outbox{transport};
  struct Known {
    Collective collective;
    const char* algorithm;
    std::size_t count;  // of a block
  };
  for (const auto& [collective, algorithm, count] :
       {Known{Collective::all_reduce, "ring", 3 * kMany},
        Known{Collective::reduce_scatter, "pairwise", 3},
        Known{Collective::all_to_all, "bruck", 3}}) {
    SCOPED_TRACE(algorithm);
    const Schedule schedule = parse_choice(collective, algorithm).build(kMany, 0, 0);
    detail::Layout layout{Contract{collective, kMany, 0}, 0, count};
    std::size_t before = 0;
    const detail::LoweringOptions lowering{.element_bytes = 4, .segments = 3};
    detail::Binding shape{
        .programs = std::make_unique<detail::Programs>(schedule, std::move(layout), lowering),
        .op = OperatorKind::sum,
        .type = Datatype::f32,
        .element_bytes = 4,
        .segments = 3};
    const std::size_t schedules = shape.programs->footprint();
    before = held_bytes;
    static_cast<void>(shape.programs->find(0, false));
    expect_held(before, shape.programs->footprint() - schedules, 10);
    const auto binding = std::make_shared<const detail::Binding>(std::move(shape));
    const auto memory = make_host_memory();
    detail::Scratch scratch{*memory, 1_MiB};
    const std::vector<float> in(3 * kMany);
    std::vector<float> out(3 * kMany);
    before = held_bytes;
    const auto execution = std::make_unique<detail::Execution>(outbox, scratch, binding, 2);
    execution->start({in.data(), out.data()}, {}, std::chrono::seconds{1});
    expect_held(before, execution->footprint(), 2 * 14 + 6);
  }
}

// This holds for any tags: a tag is no part of a shape.
TEST(Messages, BetweenTwoRanksAllocateInTheFirstOnly) {
  World world = make_world(1);
  std::array<int, 40> in{};
  std::array<int, 40> out{};
  for (int call = 0; call < 6; ++call) {
    std::array<Request, 3> requests{};
    allocations = 0;
    {
      const Count on{true};
      requests[0] = world[0].async().sendrecv(in, 1, out, 2, call);
      requests[1] = world[1].async().recv(out, 0, call);
      requests[2] = world[2].async().send(in, 0, call);
      ASSERT_TRUE(drive(world, std::span<Request>{requests}));
    }
    EXPECT_EQ(allocations > 0, call == 0) << allocations << " allocations, call " << call;
  }
}

INSTANTIATE_TEST_SUITE_P(Catalog, Allocations, ::testing::ValuesIn(rows_of({5})), name_of_row);

// A transport that could not add a completion would lose it.
TEST(CompletionQueue, PushesAsOftenAsWasReserved) {
  for (std::size_t pushed = 0; pushed < 70; ++pushed)
    for (std::size_t popped = 0; popped <= pushed; ++popped) {
      CompletionQueue queue{};
      for (std::size_t i = 0; i < pushed; ++i) queue.push(i);
      for (std::size_t i = 0; i < popped; ++i) queue.pop_oldest();
      queue.reserve(9);
      allocations = 0;
      {
        const Count on{true};
        for (std::size_t i = pushed; i < pushed + 9; ++i) queue.push(i);
      }
      ASSERT_EQ(allocations, 0U) << pushed << " pushed, " << popped << " popped";
      for (std::size_t i = popped; i < pushed + 9; ++i, queue.pop_oldest())
        ASSERT_EQ(queue.oldest().cookie, i);
      ASSERT_EQ(queue.size(), 0U);
    }
}

}  // namespace
}  // namespace tutti::harness

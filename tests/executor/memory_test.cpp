// What the engine allocates is bounded, is given back, and its lack is an error like any other.
#include <memory>
#include <new>
#include <set>
#include <utility>

#include "rows.hpp"

namespace tutti::harness {
namespace {

/// Memory with a ledger. What nobody gives back is freed with it.
class Ledger final : public Memory {
 public:
  ~Ledger() override {
    for (std::byte* data : blocks) inner->deallocate(data, 0);
  }
  [[nodiscard]] std::byte* allocate(std::size_t bytes) override {
    if (refused > 0 && --refused == 0) throw std::bad_alloc{};
    ++allocations;
    outstanding += bytes;
    std::byte* const data = inner->allocate(bytes);
    blocks.insert(data);
    return data;
  }
  void deallocate(std::byte* data, std::size_t bytes) noexcept override {
    EXPECT_EQ(blocks.erase(data), 1u) << "given back without having been allocated";
    outstanding -= bytes;
    inner->deallocate(data, bytes);
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    inner->copy(to, from, bytes);
  }
  void fold(const Fold& work) override { inner->fold(work); }

  int refused = 0;  ///< Which allocation from now on fails; 0: none.
  std::size_t allocations = 0;
  std::size_t outstanding = 0;
  std::set<std::byte*> blocks{};

 private:
  std::shared_ptr<Memory> inner = make_host_memory();
};

/// Two ranks with a ledger each count as one: both run the same.
struct Ranks {
  explicit Ranks(std::size_t cache_bytes)
      : world{{.cluster = {.size = 2},
               .communicator = {.cache_bytes = cache_bytes},
               .memory = ledger}} {}

  /// Starts all_reduces on all ranks, whose scratch is as long as the vector, and waits for them.
  void run(std::size_t bytes, std::size_t requests = 1) {
    std::vector<std::vector<std::byte>> data(2 * requests, std::vector<std::byte>(bytes));
    std::vector<Task> tasks{};
    for (std::size_t i = 0; i < data.size(); ++i) {
      const auto rank = static_cast<Rank>(i % 2);
      const std::span whole{reinterpret_cast<std::uint8_t*>(data[i].data()), bytes};
      tasks.push_back(task_of(
          rank, world[rank].all_reduce_async(
                    whole, sum, {.algorithm = "recursive_doubling", .segment = Options::kWhole})));
    }
    ASSERT_TRUE(world.drive(tasks));
    for (const Task& task : tasks) ASSERT_TRUE(task.done) << task.error->what();
  }

  std::shared_ptr<Ledger> ledger = std::make_shared<Ledger>();
  World world;
};

constexpr std::size_t kBudget = 1_MiB;

TEST(Scratch, OfManyShapesStaysWithinTheBudget) {
  Ranks ranks{kBudget};
  for (std::size_t shape = 0; shape < 20; ++shape) {
    ranks.run(300'000 + 64 * shape);
    EXPECT_LE(ranks.ledger->outstanding, 2 * kBudget) << "after " << shape + 1 << " shapes";
  }
}

TEST(Scratch, OfManyRequestsStaysWithinTheBudgetOnceTheyAreDone) {
  Ranks ranks{kBudget};
  ranks.run(300'000, 16);
  EXPECT_LE(ranks.ledger->outstanding, 2 * kBudget);
}

TEST(Scratch, IsNotMoreThanTheScheduleNeeds) {
  Ranks ranks{kBudget};
  ranks.run(600'000);
  EXPECT_GE(ranks.ledger->outstanding, 2u * 600'000) << "the test must see the scratch";
  EXPECT_LE(ranks.ledger->outstanding, 2u * 604'096);
}

TEST(Scratch, OfTheLastShapeStaysHoweverSmallTheBudget) {
  Ranks ranks{1};
  ranks.run(100'000);
  const std::size_t before = ranks.ledger->allocations;
  for (int call = 0; call < 5; ++call) ranks.run(100'000);
  EXPECT_EQ(ranks.ledger->allocations, before);
}

TEST(Scratch, OfAFewShapesStays) {
  Ranks ranks{kBudget};
  const auto round = [&] {
    for (const std::size_t bytes : {10, 50'000, 5000, 200'000}) ranks.run(bytes);
  };
  round();
  const std::size_t before = ranks.ledger->allocations;
  for (int again = 0; again < 5; ++again) round();
  EXPECT_EQ(ranks.ledger->allocations, before);
}

TEST(Scratch, IsAllGivenBack) {
  std::shared_ptr<Ledger> ledger;
  {
    Ranks ranks{kBudget};
    ledger = ranks.ledger;
    ranks.run(1000);
    ranks.run(3000, 3);
    EXPECT_GT(ledger->outstanding, 0u);
  }
  EXPECT_EQ(ledger->outstanding, 0u);
}

}  // namespace
}  // namespace tutti::harness

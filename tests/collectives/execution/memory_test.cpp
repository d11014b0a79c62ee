// The engine's memory is bounded and is freed, and its lack is an error like any other.
#include <memory>
#include <new>
#include <set>
#include <utility>

#include <tutti/spi/memory.hpp>

#include "collectives/execution/scratch.hpp"
#include "tests/collectives/rows.hpp"
#include "tests/support/wrapper.hpp"

namespace tutti::harness {
namespace {

/// Memory with a ledger. Its destructor frees the rest.
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
          rank, world[rank].async().all_reduce(
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

TEST(Scratch, IsKeptAndLentUpToItsLimits) {
  Ledger ledger;
  detail::Scratch scratch{ledger, 200};
  std::vector<detail::ScratchBlock> blocks;
  for (const std::size_t bytes : {50u, 100u, 100u}) blocks.push_back(scratch.acquire(bytes));
  for (const detail::ScratchBlock& block : blocks) scratch.give_back(block);
  EXPECT_EQ(ledger.outstanding, 200u) << "the oldest block goes, and no more than that";
  EXPECT_EQ(scratch.acquire(49).bytes, 49u) << "more than twice as large";
  EXPECT_EQ(scratch.acquire(50).bytes, 100u) << "twice as large";
}

TEST(Scratch, OfOneSizeIsLentAsItCameBackLast) {
  Ledger ledger;
  detail::Scratch scratch{ledger, 1000};
  const detail::ScratchBlock early = scratch.acquire(100);
  const detail::ScratchBlock late = scratch.acquire(100);
  const detail::ScratchBlock other = scratch.acquire(120);
  for (const detail::ScratchBlock& block : {early, late, other}) scratch.give_back(block);
  EXPECT_EQ(scratch.acquire(90).data, late.data) << "its lines are warm";
  EXPECT_EQ(scratch.acquire(90).data, early.data);
  EXPECT_EQ(scratch.acquire(90).data, other.data);
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

TEST(Scratch, ThatCannotBeHadFailsTheCommunicatorOnAllRanks) {
  Ranks ranks{kBudget};
  ranks.ledger->refused = 1;
  std::vector<int> data(100);
  try {
    const Request request = ranks.world[0].async().all_reduce(std::span{data}, sum,
                                                              {.algorithm = "recursive_doubling"});
    FAIL() << "there was no memory";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::transport) << error.what();
    EXPECT_NE(std::string{error.what()}.find("memory"), std::string::npos) << error.what();
    EXPECT_EQ(error.culprit(), 0) << error.what();
  }
  EXPECT_FALSE(ranks.world[0].try_().barrier()) << "rank 0 has skipped an operation";
  std::vector<Task> tasks{};
  tasks.push_back(task_of(1, ranks.world[1].async().all_reduce(std::span{data})));
  ASSERT_TRUE(ranks.world.drive(tasks));
  ASSERT_TRUE(tasks[0].error) << "rank 1 hears of it";
  EXPECT_EQ(tasks[0].error->code(), ErrorCode::aborted) << tasks[0].error->what();
}

/// A transport whose peers cannot be kept from writing.
class Unstoppable final : public Wrapper {
 public:
  using Wrapper::Wrapper;
  bool abort(const Error& cause) noexcept override {
    static_cast<void>(Wrapper::abort(cause));
    return false;
  }
};

TEST(Scratch, ThatPeersMayStillWriteIntoIsNotGivenBack) {
  for (const bool stops : {true, false}) {
    const auto ledger = std::make_shared<Ledger>();
    WorldOptions options{.cluster = {.size = 2}, .memory = ledger};
    if (!stops)
      options.wrap = [](std::unique_ptr<Transport> inner) {
        return std::make_unique<Unstoppable>(std::move(inner));
      };
    std::size_t pending = 0;
    {
      World world{options};
      std::vector<int> data(100);
      const Request dropped =
          world[0].async().all_reduce(std::span{data}, sum, {.algorithm = "recursive_doubling"});
      pending = ledger->outstanding;
      EXPECT_GT(pending, 0u);
    }
    EXPECT_EQ(ledger->outstanding, stops ? 0u : pending);
  }
}

/// A transport that runs out of memory.
class Exhausted final : public Wrapper {
 public:
  using Wrapper::Wrapper;
  void poll() override { throw std::bad_alloc{}; }
};

TEST(Transports, ThatRunOutOfMemoryAreNotTakenForOperators) {
  World world{{.cluster = {.size = 2}, .wrap = [](std::unique_ptr<Transport> inner) {
                 return std::make_unique<Exhausted>(std::move(inner));
               }}};
  std::vector<int> data(100);
  const auto result = world[0].try_().all_reduce(std::span{data});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::transport);
  EXPECT_EQ(std::string{result.error().what()}.find("reduction"), std::string::npos)
      << result.error().what();
}

}  // namespace
}  // namespace tutti::harness

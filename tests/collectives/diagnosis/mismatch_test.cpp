// Ranks that call different things get errors, never wrong numbers.
#include <optional>
#include <utility>

#include <tutti/spi/catalog.hpp>
#include <tutti/spi/communicator.hpp>
#include <tutti/spi/memory.hpp>

#include "tests/backends/shm/pair.hpp"
#include "tests/collectives/rows.hpp"
#include "tests/support/wrapper.hpp"

namespace tutti::harness {
namespace {

using enum Collective;
using std::chrono::seconds;

/// The difference of one rank's call.
enum class Difference { op, type, count, root, algorithm, collective, segment, extra_call };

struct OneMismatch {
  Row row{};
  Difference difference{};
  Rank rank = 0;
};

constexpr const char* kNames[] = {"op",        "type",       "count",   "root",
                                  "algorithm", "collective", "segment", "extra_call"};

std::string name_of_odd(const ::testing::TestParamInfo<OneMismatch>& info) {
  return name_of_row({info.param.row, 0}) + "_" +
         kNames[static_cast<std::size_t>(info.param.difference)] + "_on_rank_" +
         std::to_string(info.param.rank);
}

void PrintTo(const OneMismatch& odd, std::ostream* stream) {
  PrintTo(odd.row, stream);
  *stream << ", another " << kNames[static_cast<std::size_t>(odd.difference)] << " on rank "
          << odd.rank;
}

Case base_case(const Row& row) {
  // Small unsigned numbers: wrong data would show, and every type below has them.
  return {.collective = row.collective,
          .algorithm = row.algorithm,
          .size = row.size,
          .counts = cut(96, blocks_of(row.collective, row.size)),
          .segment = 64,
          .model = model_of(Datatype::i32, OperatorKind::sum)};
}

/// The other algorithm of the collective, if there is one; other schedules with equal results.
std::string other_algorithm(const Row& row) {
  for (const Algorithm& other : catalog())
    if (other.collective == row.collective && other.traits.sizes == Sizes::any &&
        has_default(other.parameter) && row.algorithm.rfind(other.name, 0) != 0)
      return std::string{other.name};
  return {};
}

/// The odd rank's case, or nothing where the difference makes no sense.
std::optional<Case> odd_case(const OneMismatch& odd) {
  Case one = base_case(odd.row);
  const Collective collective = one.collective;
  if (collective == barrier && odd.difference != Difference::collective) return std::nullopt;
  switch (odd.difference) {
    case Difference::op:
      if (!is_reduction(collective)) return std::nullopt;
      one.model = model_of(Datatype::i32, OperatorKind::max);
      return one;
    case Difference::type: one.model = model_of(Datatype::f32, OperatorKind::sum); return one;
    case Difference::count: one.counts = cut(96 + one.counts.size(), one.counts.size()); return one;
    case Difference::root:
      if (!is_rooted(collective)) return std::nullopt;
      one.root = 1;
      return one;
    case Difference::algorithm:
      one.algorithm = other_algorithm(odd.row);
      if (one.algorithm.empty()) return std::nullopt;
      return one;
    case Difference::collective:
      one.collective = collective == all_reduce ? broadcast : all_reduce;
      one.algorithm.clear();
      one.counts = {96};
      return one;
    case Difference::segment: one.segment = Options::kWhole; return one;
    case Difference::extra_call: return one;
  }
  return std::nullopt;
}

std::vector<OneMismatch> all_odds() {
  std::vector<OneMismatch> odds{};
  for (const Row& row : rows_of({2, 4})) {
    if (row.algorithm.empty() || row.algorithm.find(':') != std::string::npos) continue;
    for (std::size_t difference = 0; difference < std::size(kNames); ++difference)
      for (const Rank rank : {0, row.size - 1})
        if (const OneMismatch odd{row, static_cast<Difference>(difference), rank}; odd_case(odd))
          odds.push_back(odd);
  }
  return odds;
}

class Mismatch : public ::testing::TestWithParam<OneMismatch> {};

TEST_P(Mismatch, IsAnErrorAndNeverWrongData) {
  const OneMismatch& odd = GetParam();
  const int size = odd.row.size;
  World world{{.cluster = {.size = size, .seed = odd.row.ordinal, .scribble = true},
               .communicator = {.timeout = seconds{1}}}};
  Experiment usual{base_case(odd.row)};
  Experiment other{*odd_case(odd)};
  Experiment after{{.collective = all_reduce,
                    .size = size,
                    .counts = {7},
                    .model = model_of(Datatype::i32, OperatorKind::sum)}};
  std::vector<Task> tasks{};
  for (Rank rank = 0; rank < size; ++rank) {
    if (rank == odd.rank && odd.difference == Difference::extra_call)
      tasks.push_back(task_of(rank, world[rank].async().barrier()));
    tasks.push_back(task_of(world[rank], rank == odd.rank ? other : usual));
  }
  ASSERT_TRUE(world.drive(tasks, seconds{3})) << "a rank waits forever";
  // A rank that needed no data may have finished; its next call fails.
  std::vector<Task> later{};
  for (Rank rank = 0; rank < size; ++rank) later.push_back(task_of(world[rank], after));
  ASSERT_TRUE(world.drive(later, seconds{3})) << "a rank waits forever";
  for (const Task& task : later)
    EXPECT_TRUE(task.error) << "rank " << task.rank << " noticed nothing";

  int named = 0;
  tasks.insert(tasks.end(), later.begin(), later.end());
  for (const Task& task : tasks) {
    if (!task.error) continue;
    EXPECT_NE(task.error->code(), ErrorCode::bug) << task.error->what();
    EXPECT_NE(task.error->code(), ErrorCode::invalid_argument) << task.error->what();
    const std::string text = task.error->what();
    named += text.find("fingerprint") != std::string::npos ||
             text.find("timed out") != std::string::npos;
  }
  EXPECT_GE(named, size) << "every rank is told the first cause";
  for (Rank rank = 0; rank < size; ++rank) {
    Experiment& own = rank == odd.rank ? other : usual;
    EXPECT_FALSE(own.damage(rank));
  }
}

INSTANTIATE_TEST_SUITE_P(Catalog, Mismatch, ::testing::ValuesIn(all_odds()), name_of_odd);

/// All ranks must get the error if every result needs every rank's part.
TEST(Mismatches, LeaveNoRankWithAResultThatMixesBoth) {
  for (const Row& row : rows_of({2, 3, 4, 5})) {
    if (row.collective != all_reduce) continue;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      World world{
          {.cluster = {.size = row.size, .seed = seed}, .communicator = {.timeout = seconds{1}}}};
      Experiment usual{base_case(row)};
      Case changed = base_case(row);
      changed.model = model_of(Datatype::i32, OperatorKind::bit_xor);
      Experiment other{changed};
      std::vector<Task> tasks{};
      for (Rank rank = 0; rank < row.size; ++rank)
        tasks.push_back(task_of(world[rank], rank == row.size / 2 ? other : usual));
      ASSERT_TRUE(world.drive(tasks, seconds{3}));
      for (const Task& task : tasks)
        EXPECT_TRUE(task.error) << usual.what().describe() << ": rank " << task.rank;
    }
  }
}

/// Runs a call on every rank until it is over. @return how it went.
std::vector<Task> run_all(World& world, const std::function<Request(Rank)>& start) {
  std::vector<Task> tasks;
  for (Rank rank = 0; rank < world.size(); ++rank) {
    try {
      tasks.push_back(task_of(rank, start(rank)));
    } catch (const Error& error) {
      tasks.push_back({.rank = rank, .error = error});
    }
  }
  EXPECT_TRUE(world.drive(tasks, seconds{3})) << "a rank waits forever";
  return tasks;
}

// Roots send, and wait for no rank: each may end its call before the other's message arrives.
TEST(Mismatches, OfRootsAreToldByTheNextCallThatWaitsAtTheLatest) {
  for (const int size : {2, 3, 4})
    for (const bool scatters : {false, true}) {
      World world{{.cluster = {.size = size, .delivery = sim::Delivery::eager},
                   .communicator = {.timeout = seconds{1}}}};
      std::vector<float> all(static_cast<std::size_t>(4 * size));
      std::vector<std::vector<float>> own(all.size(), std::vector<float>(4));
      const auto tasks = run_all(world, [&](Rank rank) {
        const Rank root = rank == size - 1 ? rank : 0;
        std::vector<float>& mine = own[static_cast<std::size_t>(rank)];
        if (!scatters) return world[rank].async().broadcast(std::span{mine}, root);
        return world[rank].async().scatter(std::span<const float>{all}, std::span{mine}, root);
      });
      for (const Task* const root : {&tasks.front(), &tasks.back()})
        EXPECT_TRUE(root->done || (root->error && root->error->cause() == ErrorCode::mismatch))
            << "roots need nobody's data";
      for (const Task& task :
           run_all(world, [&](Rank rank) { return world[rank].async().barrier(); })) {
        ASSERT_TRUE(task.error) << "rank " << task.rank << " of " << size << " noticed nothing";
        EXPECT_EQ(task.error->cause(), ErrorCode::mismatch) << task.error->what();
      }
    }
}

TEST(Mismatches, OfRootsAreToldAlsoToRanksThatOnlySend) {
  World world{{.cluster = {.size = 2, .delivery = sim::Delivery::eager}}};
  std::vector<std::vector<float>> data(2, std::vector<float>(4));
  for (int call = 0; call <= 64; ++call)
    for (const Task& task : run_all(world, [&](Rank rank) {
           return world[rank].async().broadcast(std::span{data[static_cast<std::size_t>(rank)]},
                                                rank);
         }))
      if (task.error) {
        EXPECT_EQ(task.error->code(), ErrorCode::mismatch) << task.error->what();
        return;
      }
  FAIL() << "nobody noticed anything";
}

// A rank that ends its communicator needs no error any more, but the others may.
TEST(Mismatches, FoundAtTheEndOfACommunicatorAreToldToTheOthers) {
  World world{{.cluster = {.size = 3, .delivery = sim::Delivery::eager}}};
  // Rank 2 sends a message that the root does not expect. Both end before it is found.
  std::vector<float> all(4);
  std::vector<float> own(4);
  const std::vector<std::size_t> counts(3, 0);
  for (const Task& task : run_all(world, [&](Rank rank) {
         const std::span<const float> mine{own.data(), rank == 2 ? own.size() : 0};
         if (rank == 1)
           return world[rank].async().gatherv(mine, std::span{all}.first(0), counts, 1);
         return world[rank].async().gatherv(mine, std::span<float>{}, {}, 1);
       }))
    EXPECT_TRUE(task.done) << "rank " << task.rank;
  { const Communicator ended = std::move(world[1]); }
  while (world.cluster().advance()) {
  }
  for (const Rank rank : {0, 2}) {
    try {
      const Request request = world[rank].async().barrier();
      ADD_FAILURE() << "rank " << rank << " was told nothing";
    } catch (const Error& error) {
      EXPECT_EQ(error.cause(), ErrorCode::mismatch) << error.what();
      EXPECT_EQ(error.culprit(), 2);
      EXPECT_TRUE(std::string{error.what()}.starts_with("rank 1 failed: ")) << error.what();
    }
  }
}

// They determine the tags of segments: without an error, a rank would hang.
TEST(Mismatches, OfSegmentsInFlightAreFound) {
  sim::Cluster cluster{{.size = 2}};
  std::vector<Communicator> ranks;
  for (Rank rank = 0; rank < 2; ++rank)
    ranks.push_back(
        make_communicator(cluster.transport(rank), make_host_memory(),
                          {.timeout = seconds{1}, .segments_in_flight = rank == 0 ? 4 : 2}));
  std::vector<std::vector<float>> data(2, std::vector<float>(1000));
  std::vector<Request> requests;
  for (std::size_t rank = 0; rank < 2; ++rank)
    requests.push_back(ranks[rank].async().all_reduce(std::span{data[rank]}, sum,
                                                      {.algorithm = "ring", .segment = 400}));
  std::vector<std::optional<Error>> errors(2);
  for (int step = 0; step < 10'000 && !(errors[0] && errors[1]); ++step) {
    for (std::size_t rank = 0; rank < 2; ++rank)
      if (const auto done = requests[rank].try_test(); !done) errors[rank] = done.error();
    cluster.advance();
  }
  for (const auto& error : errors) {
    ASSERT_TRUE(error) << "a rank noticed nothing";
    EXPECT_EQ(error->cause(), ErrorCode::mismatch) << error->what();
    const std::string text = error->what();
    EXPECT_NE(text.find("call #1 of this rank is all_reduce of 4000 bytes of f32, sum, by ring"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find(" segments in flight"), std::string::npos) << text;
  }
}

/// Finds what another rank's different call has left.
class Straying final : public Wrapper {
 public:
  Straying(std::unique_ptr<Transport> inner, std::string& told)
      : Wrapper{std::move(inner)}, told_{told} {}
  void find_unmatched(std::uint64_t /*pending*/, bool /*thoroughly*/) override {
    throw Error{ErrorCode::mismatch, "rank 1 calls something else", 1}.about(1);
  }
  bool abort(const Error& cause) noexcept override {
    told_ = cause.what();
    return Wrapper::abort(cause);
  }

 private:
  std::string& told_;
};

/// Ranks of which none can be asked.
class Unasked final : public Group {
 public:
  [[nodiscard]] CommunicatorParts subgroup(std::span<const Rank> /*members*/,
                                           std::uint64_t /*key*/) override {
    return {};
  }
  [[nodiscard]] std::shared_ptr<Memory> visible_memory() noexcept override { return nullptr; }
  [[nodiscard]] std::vector<CallStatus> inquire(std::span<const Rank> /*peers*/,
                                                std::uint64_t /*call*/,
                                                Duration /*patience*/) override {
    throw Error{ErrorCode::transport, "there is nobody to be asked"};
  }
  [[nodiscard]] std::string describe() const override { return "ranks"; }
};

// The destructor of a communicator cannot report an error.
TEST(Mismatch, IsToldAsItIsWhereNobodyCanBeAsked) {
  shm::Host host{2};
  std::string told;
  {
    CommunicatorParts communicator_parts;
    communicator_parts.transport = std::make_unique<Straying>(host.transport(0), told);
    communicator_parts.group = std::make_shared<Unasked>();
    const Communicator own = make_communicator(std::move(communicator_parts), make_host_memory());
  }
  EXPECT_EQ(told, "rank 1 calls something else");
}

}  // namespace
}  // namespace tutti::harness

// Algorithms that were added to a catalog, on the simulated cluster.
#include <array>
#include <memory>
#include <optional>

#include <tutti/spi/catalog.hpp>
#include <tutti/spi/communicator.hpp>
#include <tutti/spi/memory.hpp>

#include "tests/collectives/rows.hpp"

namespace tutti::harness {
namespace {

using std::chrono::seconds;
using Vector = std::vector<int>;
using enum Collective;

/// To everyone at once, by everyone.
Schedule at_once(const Shape& shape, Rank self) {
  Schedule schedule{1};
  for (Rank peer = 0; peer < shape.size; ++peer)
    if (peer != self) schedule.add(Send{peer, {}});
  for (Rank peer = 0; peer < shape.size; ++peer)
    if (peer != self) schedule.add(RecvReduce{peer, {}, peer < self ? Side::left : Side::right});
  return schedule.add(Finish{{}}).end_round();
}
/// As above, but rank 1 leaves out rank 0.
Schedule forgetful(const Shape& shape, Rank self) {
  const Schedule whole = at_once(shape, self);
  Schedule schedule{1};
  for (const Step& step : whole.steps())
    if (!(self == 1 && step.kind() == Step::Kind::recv_reduce && step.peer() == 0) &&
        !(self == 0 && step.kind() == Step::Kind::send && step.peer() == 1))
      schedule.add(step);
  return schedule.end_round();
}
std::shared_ptr<const Catalog> catalog_of(Build build, Traits traits = {}) {
  Catalog catalog;
  catalog.add({.collective = all_reduce, .name = "mine", .build = build, .traits = traits});
  return std::make_shared<const Catalog>(std::move(catalog));
}

std::vector<Task> reduce_all(World& world, std::vector<Vector>& x, const Options& options) {
  std::vector<Task> tasks;
  for (Rank rank = 0; rank < world.size(); ++rank)
    tasks.push_back(task_of(
        rank, world[rank].async().all_reduce(x[static_cast<std::size_t>(rank)], sum, options)));
  return tasks;
}

TEST(OwnRows, RunWhereTheyAreNamed) {
  for (const int n : {1, 2, 5}) {
    World world{{.cluster = {.size = n}, .communicator = {.catalog = catalog_of(at_once)}}};
    std::vector<Vector> x(static_cast<std::size_t>(n), Vector{1, 2});
    auto tasks = reduce_all(world, x, {.algorithm = "mine"});
    ASSERT_TRUE(world.drive(tasks));
    for (const Vector& result : x) EXPECT_EQ(result, (Vector{n, 2 * n}));
    const std::string explained = world[0].explain(call::all_reduce(x[0], x[0], sum));
    EXPECT_NE(explained.find("\n  mine: "), std::string::npos) << explained;
    EXPECT_EQ(world[0].plan().all_reduce(x[0], sum, {.algorithm = "mine"}).algorithm(), "mine");
  }
}

TEST(OwnRows, ThatAreWrongDoNotRun) {
  World world{{.cluster = {.size = 3}, .communicator = {.catalog = catalog_of(forgetful)}}};
  Vector x{1};
  try {
    (void)world[0].async().all_reduce(x, sum, {.algorithm = "mine"});
    FAIL() << "it ran";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string{error.what()}.find("cannot serve: it fails the proof: "),
              std::string::npos)
        << error.what();
  }
  const std::string explained = world[0].explain(call::all_reduce(x, x, sum));
  EXPECT_NE(explained.find("mine: left out, it fails the proof: "), std::string::npos) << explained;
  std::vector<Vector> each(3, Vector{1});
  auto tasks = reduce_all(world, each, {});
  ASSERT_TRUE(world.drive(tasks));
  EXPECT_EQ(each[1], Vector{3});
}

/// The same results, but what is added is added in another order.
Schedule backwards(const Shape& shape, Rank self) {
  Schedule schedule{1};
  for (Rank peer = shape.size; peer-- > 0;)
    if (peer != self) schedule.add(Send{peer, {}}).add(RecvReduce{peer, {}, Side::left});
  return schedule.add(Finish{{}}).end_round();
}

TEST(OwnRows, ThatClaimTooMuchDoNotRun) {
  World world{{.cluster = {.size = 3},
               .communicator = {.catalog = catalog_of(backwards, {.ordered = When::always})}}};
  Vector x{1};
  try {
    (void)world[0].async().all_reduce(x, sum, {.algorithm = "mine"});
    FAIL() << "it ran";
  } catch (const Error& error) {
    EXPECT_NE(std::string{error.what()}.find("ordered is claimed"), std::string::npos)
        << error.what();
  }
}

TEST(OwnRows, ThatDifferUnderOneNameAreAMismatch) {
  sim::Cluster cluster{{.size = 2}};
  std::vector<Communicator> ranks;
  for (Rank rank = 0; rank < 2; ++rank)
    ranks.push_back(make_communicator(
        cluster.transport(rank), make_host_memory(),
        {.timeout = seconds{1}, .catalog = catalog_of(rank == 0 ? at_once : backwards)}));
  std::vector<Vector> x(2, Vector{1});
  std::vector<Request> requests;
  for (std::size_t rank = 0; rank < 2; ++rank)
    requests.push_back(ranks[rank].async().all_reduce(x[rank], sum, {.algorithm = "mine"}));
  std::optional<Error> error;
  for (int idle = 0; idle < 1000 && !error; ++idle) {
    for (Request& request : requests)
      if (const auto done = request.try_test(); !done && !error) error = done.error();
    (void)cluster.advance();
  }
  ASSERT_TRUE(error);
  EXPECT_EQ(error->cause(), ErrorCode::mismatch) << error->what();
}

}  // namespace
}  // namespace tutti::harness

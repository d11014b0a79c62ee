// Objects that are broadcast in segments, on the simulated cluster, where segments stay at the root
// or not as the seed decides.
#include <stdexcept>

#include <tutti/objects.hpp>
#include <tutti/spi/catalog.hpp>
#include <tutti/spi/costs.hpp>
#include <tutti/spi/schedule.hpp>
#include <tutti/testing.hpp>

#include "selector/cost_models.hpp"
#include "tests/objects/calls.hpp"
#include "tests/objects/streams.hpp"

namespace tutti::harness {
namespace {

using samples::Pieces;
using samples::pieces_of;

sim::ClusterOptions cluster_of(int size, std::uint64_t seed) {
  return {.size = size,
          .seed = seed,
          .scribble = true,
          .combines = seed % 2 == 1,
          .visible = seed % 4 >= 2};
}

void on_all_ranks(int size, std::uint64_t seed, const std::function<void(Communicator&)>& body) {
  for (const auto& error : sim::run_ranks(cluster_of(size, seed), body))
    EXPECT_FALSE(error) << error->what();
}

class StreamedObjectsOn : public ::testing::TestWithParam<int> {};

TEST_P(StreamedObjectsOn, AreMovedAndRefused) {
  for (const std::uint64_t seed : {1U, 2U})  // moved, and where they are
    on_all_ranks(GetParam(), seed, test::run_stream_script);
}

INSTANTIATE_TEST_SUITE_P(Ranks, StreamedObjectsOn, ::testing::Values(1, 2, 3, 4, 7, 8));

TEST(StreamedObjects, OfAnySizesAndPlacesArrive) {
  for (std::uint64_t seed = 2; seed < 200; seed += 4)
    on_all_ranks(3, seed, [&](Communicator& world) {
      const auto wanted = pieces_of(seed % 60 + 5, 1000 * (seed % 30 + 1), seed);
      EXPECT_EQ(objects(world).broadcast(world.rank() == 1 ? wanted : Pieces{}, 1), wanted);
    });
}

TEST(StreamedObjects, AreEncodedBeforeTheCallReturns) {
  World world{2};
  const Pieces wanted = pieces_of(100, 10'000, 1);
  std::vector<Task> tasks;
  Results<Pieces> results(2);
  auto root = objects(world[0]).async().broadcast(wanted, 0);  // no other rank has called yet
  tasks.push_back(task_of(1, objects(world[1]).async().broadcast(Pieces{}, 0), results[1]));
  tasks.push_back(task_of(0, std::move(root), results[0]));
  ASSERT_TRUE(world.drive(tasks, std::chrono::seconds{1}));
  EXPECT_EQ(results[0]->encoded, 2) << "once to count, once to send";
  EXPECT_EQ(results[1], wanted);
}

/// The root sends to all; the others receive into scratch, and copy that.
Schedule staged_star(const Shape& shape, Rank self) {
  Schedule schedule{1, 1};
  const Slots out{Space::out, 0, 1};
  const Slots scratch{Space::scratch, 0, 1};
  if (self == shape.root) {
    for (int hop = 1; hop < shape.size; ++hop)
      schedule.add(Send{(shape.root + hop) % shape.size, out});
    return schedule.end_round();
  }
  return schedule.round({Recv{shape.root, scratch}}).round({Copy{scratch, out}});
}

TEST(StreamedObjects, MoveByAlgorithmsThatStageThem) {
  const auto catalog = std::make_shared<Catalog>();
  catalog->add({.collective = Collective::broadcast,
                .name = "star",
                .build = staged_star,
                .summary = "stages what it receives"});
  for (const std::uint64_t seed : {2U, 3U}) {
    // One core for all of them, and messages that wait until they are read: no round ends before
    // all ranks have had their turn.
    LinkCosts costs = detail::kCrowdedCosts;
    costs.shared_cores = 1;
    costs.buffered_bytes = 1;
    World world{{.cluster = cluster_of(10, seed),
                 .communicator = {.catalog = catalog},
                 .cost_model = {.costs = costs}}};
    const samples::Text wanted = samples::text_of(60'000, 1);
    const auto results = call_all(world, [&](Rank rank) {
      return objects(world[rank]).async().broadcast(rank == 0 ? wanted : samples::Text{});
    });
    for (const auto& result : results) EXPECT_EQ(*result, wanted);
    std::vector<std::byte> bytes(60'008);
    EXPECT_NE(world[0].explain(call::broadcast(std::span{bytes}, 0), {}).find("star ("),
              std::string::npos)
        << "it would be run";
  }
}

ObjectCall call_for(Encoder bytes) {
  return {.kind = ObjectCall::Kind::broadcast,
          .name = "broadcast_object",
          .type = "Text",
          .type_fingerprint = 7,
          .bytes = std::move(bytes)};
}

TEST(StreamedObjects, MayBeKeptByWhoMakesTheCall) {
  World world{2};
  const samples::Text wanted = samples::text_of(300'000, 1);
  std::vector<Task> tasks;
  for (Rank rank : {0, 1}) {
    ObjectCall call = call_for(Encoder{1'000'000});
    if (rank == 0) call.add(wanted);
    const auto exchange =
        std::make_shared<ObjectExchange>(detail::ObjectAccess::start(world[rank], std::move(call)));
    tasks.push_back({.rank = rank, .test = [&, exchange, rank] {
                       if (!exchange->test()) return false;
                       EXPECT_EQ(exchange->count(), rank == 0 ? 0U : 1U);
                       if (rank == 1) {
                         EXPECT_EQ(exchange->decode<samples::Text>(0), wanted);
                         EXPECT_EQ(exchange->object(0).size(), 300'000U);
                       }
                       EXPECT_EQ(exchange->object(1).size(), 0U);
                       EXPECT_THROW(static_cast<void>(exchange->decode<samples::Text>(1)), Error);
                       return true;
                     }});
  }
  ASSERT_TRUE(world.drive(tasks, std::chrono::seconds{1}));
  for (const Task& task : tasks) EXPECT_TRUE(task.done);
}

TEST(StreamedObjects, ThatAreCountedNeedWhatEncodesThem) {
  World world{2};
  ObjectCall call = call_for(Encoder{1'000'000, {}, 100});
  call.add(samples::text_of(5000, 1));
  try {
    static_cast<void>(detail::ObjectAccess::start(world[0], std::move(call)));
    FAIL() << "its bytes are nowhere";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string{error.what()}.find("add_kept"), std::string::npos) << error.what();
  }
  expect_usable(world);
}

TEST(StreamedObjects, AreDecodedOnceWhereTheyAreDecodedAsTheyCome) {
  on_all_ranks(2, 3, [](Communicator& world) {
    const samples::Text wanted = samples::text_of(300'000, 1);
    ObjectCall call = call_for(Encoder{1'000'000});
    if (world.rank() == 0) call.add(wanted);
    ObjectExchange exchange = detail::ObjectAccess::start(world, std::move(call));
    exchange.wait_to_decode();
    if (world.rank() == 0) return;
    EXPECT_EQ(exchange.decode<samples::Text>(0), wanted);
    EXPECT_EQ(exchange.count(), 0U);
    EXPECT_THROW(static_cast<void>(exchange.decode<samples::Text>(0)), Error);
  });
}

/// Cannot be made where it is to be received.
struct Unmakeable {
  explicit Unmakeable(bool given) : is_given{given} {}
  Unmakeable() { throw std::runtime_error{"there is no clay"}; }
  bool is_given = false;
};

}  // namespace
}  // namespace tutti::harness

template <>
struct tutti::Codec<tutti::harness::Unmakeable> {
  static void encode(Encoder& to, const harness::Unmakeable& /*object*/) {
    const std::vector<char> bytes(200'000);
    to.write(bytes.data(), bytes.size());
  }
  static void decode(Decoder& /*from*/, harness::Unmakeable& /*object*/) {}
};

namespace tutti::harness {
namespace {

TEST(StreamedObjects, ThatCannotBeMadeConcernNobodyElse) {
  on_all_ranks(3, 2, [](Communicator& world) {
    auto request = objects(world).async().broadcast(Unmakeable{true}, 1);
    if (world.rank() == 1) {
      EXPECT_TRUE(request.wait().is_given);
    } else {
      EXPECT_THROW(static_cast<void>(request.wait()), std::runtime_error);
    }
    world.barrier();
  });
}

TEST(StreamedObjects, ThatAreDroppedEndTheirCommunicatorEverywhere) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const auto errors = sim::run_ranks(cluster_of(3, seed), [](Communicator& world) {
      const Rank self = world.rank();
      if (self == 2) {
        const auto dropped = objects(world).async().broadcast(Pieces{}, 0);
        return;
      }
      const auto own = self == 0 ? pieces_of(300, 10'000, 1) : Pieces{};
      static_cast<void>(objects(world).broadcast(own, 0));
      world.barrier();
    });
    EXPECT_TRUE(errors[0]);
    EXPECT_TRUE(errors[1]);
  }
}

}  // namespace
}  // namespace tutti::harness

// Levels of determinism: what selection leaves out for their sake, and that the bits are as
// promised over sizes, segments, orders of delivery, costs and placements.
#include <set>

#include <tutti/spi/catalog.hpp>
#include <tutti/spi/communicator.hpp>
#include <tutti/spi/costs.hpp>
#include <tutti/spi/memory.hpp>
#include <tutti/spi/recording.hpp>

#include "tests/collectives/rows.hpp"
#include "tests/runtime/worlds.hpp"
#include "tests/support/noise.hpp"

namespace tutti::harness {
namespace {

using enum Collective;
using enum Determinism;

constexpr std::array kReductions{all_reduce, reduce, reduce_scatter, scan, exscan};

std::string explain(Communicator& communicator, std::size_t count, const Options& options) {
  std::vector<float> data(count);
  return communicator.explain(call::all_reduce(data, std::span{data}, sum), options);
}

/// The algorithm of a call: what explain() names first.
std::string choice_of(Communicator& communicator, std::size_t count, Determinism level) {
  const std::string text = explain(communicator, count, {.determinism = level});
  const std::size_t begin = text.find("ranks: ") + 7;
  return text.substr(begin, text.find(" (", begin) - begin);
}

World world_of(int size, Determinism level, std::uint64_t seed = 1) {
  return World{{.cluster = {.size = size, .seed = seed, .scribble = true},
                .communicator = {.determinism = level}}};
}

/// Plain calls of a communicator at a level, and the results on each rank.
class Levels : public ::testing::TestWithParam<std::tuple<Collective, int>> {
 protected:
  static Collective collective() { return std::get<0>(GetParam()); }
  static int size() { return std::get<1>(GetParam()); }
  static Case case_for(const Model& model, std::size_t count, std::size_t segment) {
    return {.collective = collective(),
            .size = size(),
            .counts = std::vector<std::size_t>(blocks_of(collective(), size()), count),
            .root = is_rooted(collective()) ? size() / 2 : 0,
            .segment = segment,
            .model = model};
  }
};

TEST_P(Levels, SizesAndSegmentsAndDeliveriesDoNotChangeAnElement) {
  for (const Determinism level : {size_invariant, layout_invariant})
    for (const Model& model : noises()) {
      World world = world_of(size(), level);
      Experiment large{case_for(model, 3000 * kNoisePeriod, 0)};
      ASSERT_EQ(run(world, large), "");
      std::uint64_t seed = 1;
      for (const std::size_t count : {kNoisePeriod, 200 * kNoisePeriod})
        for (const std::size_t segment : {Options::kWhole, std::size_t{0}, std::size_t{48}}) {
          World other = world_of(size(), level, ++seed);
          Experiment small{case_for(model, count, segment)};
          ASSERT_EQ(run(other, small), "");
          for (Rank rank = 0; rank < size(); ++rank) {
            const auto bits = small.result(rank);
            EXPECT_TRUE(std::ranges::equal(bits, large.result(rank).first(bits.size())))
                << "rank " << rank << ": " << small.what().describe();
          }
        }
    }
}

std::string name_of_levels(const ::testing::TestParamInfo<Levels::ParamType>& info) {
  return std::string{tutti::name_of(std::get<0>(info.param))} + "_on_" +
         std::to_string(std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Of, Levels,
                         ::testing::Combine(::testing::ValuesIn(kReductions),
                                            ::testing::Values(2, 3, 4, 7, 8)),
                         name_of_levels);

TEST(LevelsOfSelection, KeepToOneExpressionTreeAtAllSizes) {
  for (const int size : {3, 8}) {
    World world{size};
    std::set<std::string> plain;
    std::set<std::string> kept;
    for (std::size_t count = 1; count <= (std::size_t{1} << 24); count *= 4) {
      plain.insert(choice_of(world[0], count, rank_identical));
      kept.insert(choice_of(world[0], count, size_invariant));
    }
    EXPECT_EQ(kept, (std::set<std::string>{"recursive_doubling", "rabenseifner"}));
    if (size == 3) {
      EXPECT_NE(plain, kept);
    }
  }
}

TEST(LevelsOfSelection, SayWhatTheyLeaveOutAndWhy) {
  World world{3};
  const std::string text = explain(world[0], 1000, {.determinism = size_invariant});
  EXPECT_NE(text.find(" (least predicted time, size_invariant)"), std::string::npos) << text;
  for (const char* const line :
       {"\n  ring: left out, an element's bits depend on its place in the vector, and "
        "size_invariant is asked for",
        "\n  direct: left out, its expression tree is not that of recursive_doubling, which "
        "size_invariant requires"})
    EXPECT_NE(text.find(line), std::string::npos) << text;
  const std::string plain = explain(world[0], 1000, {});
  EXPECT_EQ(plain.find("asked for"), std::string::npos) << plain;
}

/// @return the error of a call that must be rejected.
std::string refusal(Communicator& communicator, const Options& options) {
  std::vector<float> data(10);
  const Result<Request> result =
      communicator.try_().start(call::all_reduce(data, std::span{data}, sum), options);
  if (result) return "not refused";
  EXPECT_EQ(result.error().code(), ErrorCode::invalid_argument);
  return result.error().what();
}

TEST(LevelsOfSelection, RefuseWhatIsForcedAndDoesNotKeepThem) {
  World world{4};
  EXPECT_EQ(refusal(world[0], {.algorithm = "ring", .determinism = size_invariant}),
            "all_reduce: algorithm ring cannot serve: an element's bits depend on its place in the "
            "vector, and size_invariant is asked for");
  EXPECT_NE(refusal(world[0], {.algorithm = "hierarchical(ring, ring):groups=2",
                               .determinism = layout_invariant})
                .find("is asked for"),
            std::string::npos);
  EXPECT_EQ(refusal(world[0], {.determinism = static_cast<Determinism>(5)}),
            "all_reduce: determinism 5 does not exist; expected 0 .. 4");
}

/// Every rank sends its vector to all others, and folds theirs to its own, each in another order.
Schedule round_from_the_left(const Shape& shape, Rank self) {
  Schedule schedule{1};
  for (int step = 1; step < shape.size; ++step) {
    schedule.add(Send{(self + step) % shape.size, {}});
    schedule.add(RecvReduce{(self + shape.size - step) % shape.size, {}, Side::right});
  }
  if (shape.size > 1) schedule.add(Finish{{}}).end_round();
  return schedule;
}

TEST(LevelsOfSelection, RefuseRowsThatGiveRanksDifferentBits) {
  Catalog own;
  own.add({.collective = all_reduce,
           .name = "mine",
           .build = round_from_the_left,
           .traits = {.rank_identical = When::never,
                      .size_invariant = When::always,
                      .rotational = true},
           .summary = "each rank in an order of its own"});
  const auto catalog = std::make_shared<const Catalog>(std::move(own));
  World world{{.cluster = {.size = 3}, .communicator = {.catalog = catalog}}};
  EXPECT_EQ(refusal(world[0], {.algorithm = "mine"}),
            "all_reduce: algorithm mine cannot serve: it gives ranks different bits, and "
            "rank_identical is asked for");
  Experiment loose{{.collective = all_reduce,
                    .algorithm = "mine",
                    .size = 3,
                    .counts = {100},
                    .model = noise<float>(0x1p-24)}};
  World free{{.cluster = {.size = 3}, .communicator = {.catalog = catalog, .determinism = fast}}};
  EXPECT_EQ(run(free, loose), "");
  EXPECT_FALSE(std::ranges::equal(loose.result(0), loose.result(1)));
}

/// In the order of ranks, whatever the network.
Schedule round_in_order(const Shape& shape, Rank self) {
  return parse_choice(all_reduce, "one_shot").build(shape.size, 0, self);
}

TEST(LevelsOfSelection, RefuseRowsThatMayFollowTheLayout) {
  Catalog own;
  own.add({.collective = all_reduce,
           .name = "mine",
           .build = round_in_order,
           .traits = {.ordered = When::always, .size_invariant = When::always},
           .parameter = AlgorithmParameter::graph,
           .summary = "takes a network"});
  World world{{.cluster = {.size = 3},
               .communicator = {.catalog = std::make_shared<const Catalog>(std::move(own))}}};
  const auto refused = [&world](Determinism level) {
    return refusal(world[0], {.algorithm = "mine:graph=ring:3", .determinism = level});
  };
  EXPECT_EQ(refused(layout_invariant),
            "all_reduce: algorithm mine:graph=ring:3 cannot serve: its expression tree follows the "
            "network or groups that it is given, and layout_invariant is asked for");
  EXPECT_EQ(refused(size_invariant), "not refused");
}

TEST(LevelsOfSelection, LeaveExactOperatorsFree) {
  World world{3};
  const auto expect_free = [&](auto zero, const Operator& op) {
    std::vector<decltype(zero)> data(100'000);
    const Call call = call::all_reduce(data, std::span{data}, op);
    EXPECT_EQ(world[0].explain(call), world[0].explain(call, {.determinism = layout_invariant}));
  };
  for (const Operator* const op : {&sum, &prod, &tutti::min, &bit_xor, &average})
    expect_free(0, *op);
  for (const Operator* const op : {&tutti::min, &tutti::max}) expect_free(0.0F, *op);
  expect_free(Indexed<double>{}, max_loc);
}

/// A rank of a simulated cluster whose network was measured.
Communicator measured(sim::Cluster& cluster, std::int64_t megabits) {
  const auto costs = [](std::int64_t speed) {
    return LinkCosts{
        .alpha = 25'000'000'000, .beta = 8'000'000'000 / speed, .gamma = 50'000, .overlaps = true};
  };
  CommunicatorParts communicator_parts{.transport = cluster.transport(0)};
  communicator_parts.cost_model = {
      .costs = costs(megabits), .origin = "measured", .lasting = costs(1000)};
  return make_communicator(std::move(communicator_parts), make_host_memory());
}

TEST(LevelsOfSelection, DoNotChooseByWhatWasMeasuredFromRunToRun) {
  sim::Cluster first{{.size = 8}};
  sim::Cluster second{{.size = 8}};
  Communicator slow = measured(first, 100);
  Communicator quick = measured(second, 10'000);
  int differ = 0;
  for (std::size_t count = 1; count <= (std::size_t{1} << 22); count *= 2) {
    differ += choice_of(slow, count, rank_identical) != choice_of(quick, count, rank_identical);
    for (const Determinism level : {run_to_run, size_invariant, layout_invariant})
      EXPECT_EQ(choice_of(slow, count, level), choice_of(quick, count, level)) << count;
  }
  EXPECT_GT(differ, 0);  // else nothing was asked
  EXPECT_NE(
      explain(slow, 10, {.determinism = run_to_run}).find("so that every run has the same costs"),
      std::string::npos);
}

/// Some reductions of one length, in memory of the program and, where there is such, of the host.
template <class T>
void reduce_and_record(Communicator& world, std::size_t count, const Options& options,
                       Recording& recording) {
  const std::string what =
      " of " + std::to_string(count) + " " + std::string{tutti::name_of(datatype_of<T>())};
  std::vector<T> data(count);
  Buffer<T> shared = world.allocate<T>(count);
  for (std::size_t i = 0; i < count; ++i) data[i] = shared[i] = T(noise_at(world.rank(), i));
  std::vector<T> sums(count);
  world.all_reduce(data, sums, sum, options);
  recording.add("all_reduce" + what, sums);
  world.scan(data, sums, sum, options);
  recording.add("scan" + what, sums);
  world.all_reduce(shared, average, options);
  recording.add("all_reduce in shared memory" + what, shared);
}

/// @return the recordings of a program of several reductions on each rank of a world.
std::vector<Recording> record(const test::Setting& setting, Determinism level) {
  std::vector<Recording> recordings(static_cast<std::size_t>(setting.n));
  test::expect_no_error(test::in_world(setting, [&](Communicator& world) {
    Recording& recording = recordings[static_cast<std::size_t>(world.rank())];
    for (const std::size_t count : {5u, 600u, 70'000u}) {
      reduce_and_record<float>(world, count, {.determinism = level}, recording);
      reduce_and_record<BFloat16>(world, count, {.determinism = level}, recording);
    }
  }));
  return recordings;
}

TEST(LevelsOfSelection, DoNotChangeABitWhereverRanksSit) {
  const auto here = record({4, "shm", 1}, layout_invariant);
  for (const test::Setting& elsewhere :
       {test::Setting{4, "auto", 2}, test::Setting{4, "tcp", 4},
        test::Setting{.n = 4, .transports = "auto", .hosts = 3, .network_megabits = 100}}) {
    const auto difference = first_difference(here, record(elsewhere, layout_invariant));
    EXPECT_FALSE(difference) << elsewhere << ": " << (difference ? difference->text() : "");
  }
}

}  // namespace
}  // namespace tutti::harness

// A hundred thousand executions drawn at random: row, ranks, root, counts, segment, place,
// elements, operator, and the order in which messages are delivered. A failure names its draw.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <random>

#include "tests/collectives/rows.hpp"

namespace tutti::harness {
namespace {

constexpr int kSeeds = 100;
constexpr int kWorlds = 50;
constexpr int kDraws = 20;  // in each world
constexpr int kMostRanks = 24;

/// Numbers of one campaign. Not a distribution of the standard library, which differs between
/// libraries, so that a seed means the same everywhere.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_{seed} {}
  /// @return one of 0 .. bound - 1.
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(random_() % bound); }
  bool one_in(std::size_t times) { return below(times) == 0; }

 private:
  std::mt19937_64 random_;
};

const std::vector<Row>& rows_on(int size) {
  static std::map<int, std::vector<Row>> known;
  auto& rows = known[size];
  if (rows.empty()) rows = rows_of({size});
  return rows;
}

/// Mostly few elements, since errors are at the edges; now and then many.
std::size_t total_of(Draw& draw, int size) {
  const auto n = static_cast<std::size_t>(size);
  switch (draw.below(8)) {
    case 0: return draw.below(2);
    case 1: return n + draw.below(3) - std::min<std::size_t>(n, 1);
    case 2: return draw.below(20'000);
    case 3: return n * draw.below(64);
    default: return draw.below(400);
  }
}

/// Equal blocks, nearly equal ones, or any.
std::vector<std::size_t> counts_of(Draw& draw, std::size_t total, std::size_t blocks) {
  if (draw.one_in(3)) return std::vector<std::size_t>(blocks, total / blocks);
  std::vector<std::size_t> counts = cut(total, blocks);
  if (blocks == 1 || draw.one_in(2)) return counts;
  for (std::size_t& count : counts) count = draw.one_in(3) ? 0 : draw.below(2 * count + 3);
  return counts;
}

Case case_of(Draw& draw, int size) {
  const std::vector<Row>& rows = rows_on(size);
  const Row& row = rows[draw.below(rows.size())];
  Case one{.collective = row.collective,
           .algorithm = row.algorithm,
           .size = size,
           .counts = counts_of(draw, total_of(draw, size), blocks_of(row.collective, size)),
           .root = static_cast<Rank>(draw.below(static_cast<std::size_t>(size))),
           .in_place = draw.one_in(2),
           .model = model_at(row.collective, draw.below(all_models().size())),
           .salt = draw.below(1000)};
  // A few hundred segments at most, since the cluster is slow.
  const std::size_t least =
      1 + std::accumulate(one.counts.begin(), one.counts.end(), std::size_t{0}) *
              one.model.element_bytes / 300;
  const std::array segments{Options::kWhole, std::size_t{0}, least + draw.below(512),
                            least + draw.below(8192)};
  one.segment = segments[draw.below(segments.size())];
  return one;
}

class Campaign : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(Campaign, GivesTheRightResults) {
  Draw draw{GetParam()};
  for (int turn = 0; turn < kWorlds; ++turn) {
    const int size = 1 + static_cast<int>(draw.below(draw.one_in(4) ? kMostRanks : 9));
    const std::array deliveries{sim::Delivery::random, sim::Delivery::eager,
                                sim::Delivery::rendezvous};
    World world{{.cluster = {.size = size,
                             .seed = draw.below(1 << 20),
                             .delivery = deliveries[draw.below(deliveries.size())],
                             .scribble = draw.one_in(2)},
                 .communicator = {.segments_in_flight = 1 + static_cast<int>(draw.below(8))}}};
    for (int number = 0; number < kDraws; ++number) {
      Experiment experiment{case_of(draw, size)};
      ASSERT_EQ(run(world, experiment), "") << "world " << turn << ", draw " << number;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Campaign,
                         ::testing::Range<std::uint64_t>(0, static_cast<std::uint64_t>(kSeeds)));

}  // namespace
}  // namespace tutti::harness

// Networks have the hosts, switches and links that their definitions say.
#include "topology/families.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include <tutti/error.hpp>

namespace tutti::v0 {
namespace {

/// The longest of the shortest paths between hosts, in links.
int longest(const Topology& topology) {
  int longest = 0;
  for (int host = 0; host < topology.hosts(); ++host) {
    const auto distances = topology.distances(host);
    for (int other = 0; other < topology.hosts(); ++other)
      longest = std::max<int>(longest, distances[static_cast<std::size_t>(other)]);
  }
  return longest;
}

/// How many links each switch has, beside those to its hosts.
std::map<std::size_t, int> switches_by_links(const Topology& topology) {
  std::map<std::size_t, int> counts;
  for (int vertex = topology.hosts(); vertex < topology.vertices(); ++vertex)
    ++counts[static_cast<std::size_t>(std::ranges::count_if(
        topology.hops(vertex),
        [&](const Topology::Hop& hop) { return hop.to >= topology.hosts(); }))];
  return counts;
}

struct Expected {
  const char* text;
  int hosts;
  int switches;
  std::size_t links;
  int longest;
  std::map<std::size_t, int> switches_by_links;
};

TEST(Topologies, AreWhatTheirDefinitionsSay) {
  const Expected all[]{
      {"switch:64", 64, 1, 64, 2, {{0, 1}}},
      {"switch:1", 1, 1, 1, 0, {{0, 1}}},
      {"fat_tree:4x4", 16, 8, 32, 4, {{4, 8}}},
      {"fat_tree:4x4:up=1x2", 16, 6, 24, 4, {{2, 4}, {4, 2}}},
      {"fat_tree:2x2x2", 8, 12, 24, 6, {{2, 4 + 4}, {4, 4}}},
      {"dragonfly:1x4x1", 20, 20, 20 + 30 + 10, 5, {{4, 20}}},
      {"dragonfly:2x4x2:groups=3", 24, 12, 24 + 18 + 12, 5, {{5, 12}}},
      {"dragonfly:2x1x0", 2, 1, 2, 2, {{0, 1}}},
      {"torus:4x4", 16, 16, 16 + 32, 6, {{4, 16}}},
      {"torus:2x3:hosts=2", 12, 6, 12 + 3 + 6, 4, {{3, 6}}},
      {"torus:5", 5, 5, 10, 4, {{2, 5}}},
      {"torus:1", 1, 1, 1, 0, {{0, 1}}},
      {"mesh:3x3", 9, 9, 9 + 12, 6, {{2, 4}, {3, 4}, {4, 1}}},
      {"mesh:2x2x2", 8, 8, 8 + 12, 5, {{3, 8}}},
      {"hypercube:4", 16, 16, 16 + 32, 6, {{4, 16}}},
      {"hypercube:0:hosts=3", 3, 1, 3, 2, {{0, 1}}},
      {"slim_fly:5", 50, 50, 50 + 175, 4, {{7, 50}}},
      {"slim_fly:4:hosts=2", 64, 32, 64 + 96, 4, {{6, 32}}},
      {"rails:4x8", 32, 12, 64, 4, {{0, 12}}},
      {"gpus:8x4", 32, 4 + 8 + 1, 32 + 32 + 32, 4, {{0, 4}, {4, 8}, {32, 1}}},
      {"gpus:4x1", 4, 1, 4, 2, {{0, 1}}},
      {"gpus:1x4", 4, 1, 4, 2, {{0, 1}}},
      {"torus:4x4:direct", 16, 0, 32, 4, {}},
      {"torus:2x3:direct", 6, 0, 3 + 6, 2, {}},
      {"torus:1:direct", 1, 0, 0, 0, {}},
      {"mesh:3x3:direct", 9, 0, 12, 4, {}},
      {"hypercube:4:direct", 16, 0, 32, 4, {}},
      {"slim_fly:5:direct", 50, 0, 175, 2, {}},
  };
  for (const Expected& expected : all) {
    const Topology topology = parse_topology(expected.text);
    EXPECT_EQ(topology.hosts(), expected.hosts) << expected.text;
    EXPECT_EQ(topology.switches(), expected.switches) << expected.text;
    EXPECT_EQ(topology.links().size(), expected.links) << expected.text;
    EXPECT_EQ(longest(topology), expected.longest) << expected.text;
    EXPECT_EQ(switches_by_links(topology), expected.switches_by_links) << expected.text;
  }
}

TEST(Topologies, JoinEachTwoGroupsOfADragonflyAlike) {
  for (const char* const text : {"dragonfly:1x4x2:groups=9", "dragonfly:1x4x2:groups=5"}) {
    const Topology topology = parse_topology(text);
    std::map<std::pair<int, int>, int> counts;
    for (const Topology::Link& link : topology.links()) {
      const int a = (link.a - topology.hosts()) / 4, b = (link.b - topology.hosts()) / 4;
      if (link.a >= topology.hosts() && a != b) ++counts[std::minmax(a, b)];
    }
    const bool is_full = topology.switches() == 36;
    EXPECT_EQ(counts.size(), is_full ? 36U : 10U) << "all pairs of groups";
    for (const auto& [groups, count] : counts) EXPECT_EQ(count, is_full ? 1 : 2) << text;
  }
}

// So each host's messages leave through several links at once.
TEST(Topologies, OfDirectRoutersHaveHostsWithAllLinks) {
  for (const auto& [text, links] : std::initializer_list<std::pair<const char*, std::size_t>>{
           {"torus:4x4x4:direct", 6}, {"hypercube:5:direct", 5}, {"slim_fly:5:direct", 7}}) {
    const Topology topology = parse_topology(text);
    EXPECT_EQ(topology.name(), text);
    for (int host = 0; host < topology.hosts(); ++host)
      EXPECT_EQ(topology.hops(host).size(), links) << text;
  }
}

TEST(Topologies, HaveTheSpeedThatIsAskedFor) {
  const LinkSpeed fast{.latency = 500'000'000, .per_byte = 40'000};
  for (const char* const text : {"switch:3", "fat_tree:2x2", "torus:2x2", "slim_fly:3",
                                 "hypercube:2", "mesh:3", "dragonfly:1x2x1"}) {
    const Topology topology = parse_topology(std::string{text} + ":bandwidth=200G:latency=0.5us");
    for (const Topology::Link& link : topology.links()) EXPECT_EQ(link.speed, fast) << text;
    const Topology usual = parse_topology(text);
    for (const Topology::Link& link : usual.links()) EXPECT_EQ(link.speed, LinkSpeed{}) << text;
  }
  const Topology rails = parse_topology("rails:2x4:latency=2us");
  EXPECT_EQ(rails.links()[0].speed.latency, 300'000'000) << "inside of an island";
  EXPECT_EQ(rails.links()[1].speed.latency, 2'000'000'000);
}

TEST(Topologies, ThatMakeNoSenseAreRefused) {
  const std::pair<const char*, const char*> refused[]{
      {"", "has no numbers"},
      {"torus", "has no numbers: write such as switch:64"},
      {"taurus:4x4", "of no known family"},
      {"torus:4x", "'' instead of a number"},
      {"torus:4x-1", "'-1' instead of a number"},
      {"torus:4x0", "a side is 0, expected 1 .. "},
      {"torus:1024x1024x1024", "too many"},
      {"torus:4x4:hosts", "'hosts' instead of name=value"},
      {"torus:4x4:hosts=0", "routers of 0 hosts instead of 1 or more, or direct"},
      {"torus:4x4:direct=1", "option 'direct' that torus does not have"},
      {"torus:4x4:direct:hosts=2", "has both direct and hosts"},
      {"dragonfly:0x4x1", "hosts of a router is 0, expected 1 .. "},
      {"dragonfly:1x4x1:direct", "option 'direct' that dragonfly does not have"},
      {"switch:4:direct", "option 'direct' that switch does not have"},
      {"torus:2048x1024:direct", "2097152 hosts are too many"},
      {"torus:4x4:host=2", "option 'host' that torus does not have"},
      {"torus:4x4:hosts=2:hosts=2", "or that is given twice"},
      {"switch:0", "the number of hosts is 0"},
      {"switch:2x2", "2 numbers, where switch has one"},
      {"switch:99999999999", "instead of a number"},
      {"hypercube:25", "the dimension is 25"},
      {"slim_fly:6", "prime power"},
      {"dragonfly:1x4", "2 numbers, where dragonfly has"},
      {"dragonfly:1x4x1:groups=6", "groups is 6, expected 1 .. 5"},
      {"fat_tree:4x4:up=1", "as many numbers of parents as of children"},
      {"fat_tree:4x0", "children is 0"},
      {"fat_tree:4096x4096x4096", "too large"},
      {"rails:4", "1 numbers, where rails has"},
      {"gpus:8", "1 numbers, where gpus has those of GPUs of a host and of hosts"},
      {"gpus:0x4", "GPUs of a host is 0, expected 1 .. "},
      {"gpus:8x0", "hosts is 0, expected 1 .. "},
      {"gpus:8x4:islands=3", "8 GPUs do not make 3 islands of one size"},
      {"gpus:8x4:islands=9", "islands of a host is 9, expected 1 .. 8"},
      {"gpus:1024x1024", "too large"},
      {"switch:4:latency=5", "'5' instead of a number and its unit"},
      {"switch:4:latency=-5ns", "'-5ns' instead"},
      {"switch:4:bandwidth=0G", "no bandwidth"},
      {"switch:4:bandwidth=1e400G", "instead of a number and its unit"},
  };
  for (const auto& [text, words] : refused) try {
      (void)parse_topology(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_NE(std::string{error.what()}.find(words), std::string::npos) << error.what();
    }
}

TEST(Topologies, OfLinksThatMakeNoSenseAreRefused) {
  const auto refused = [](int hosts, int switches, std::vector<Topology::Link> links,
                          const char* words) {
    try {
      (void)Topology{"mine", hosts, switches, std::move(links)};
      ADD_FAILURE() << words;
    } catch (const Error& error) {
      EXPECT_NE(std::string{error.what()}.find(words), std::string::npos) << error.what();
    }
  };
  refused(0, 1, {}, "network mine: it has no hosts");
  refused(2, 0, {{0, 2}}, "link 0 ends at vertex 2 of 2");
  refused(2, 0, {{-1, 1}}, "link 0 ends at vertex -1");
  refused(2, 0, {{0, 1}, {1, 1}}, "link 1 leads from host 1 to itself");
  refused(2, 1, {{0, 2}}, "host 1 is not connected to host 0");
  refused(1, 2, {{0, 1}}, "switch 1 is not connected to host 0");
  refused(2, 0, {{0, 1, {-1, 0}}}, "a negative latency or cost");
  refused(1 << 20, 1, {}, "at most");
}

}  // namespace
}  // namespace tutti::v0

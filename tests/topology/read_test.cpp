// Networks read from files, and files that are wrong.
#include "topology/load.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <tutti/error.hpp>

namespace tutti::v0 {
namespace {

constexpr const char* kJson = R"({
  "name": "lab", "latency_ns": 500, "gbit_per_s": 200,
  "hosts": ["a", "b", "c"], "switches": ["s", "t"],
  "links": [{"from": "a", "to": "s"}, {"from": "b", "to": "s"}, {"from": "c", "to": "t"},
            {"from": "s", "to": "t", "count": 2, "gbit_per_s": 400}]})";

TEST(TopologyFiles, OfJsonSayWhatIsLinkedHow) {
  const NamedTopology read = read_json_topology(kJson);
  EXPECT_EQ(read.names, (std::vector<std::string>{"a", "b", "c", "s", "t"}));
  EXPECT_EQ(read.topology.name(), "lab");
  EXPECT_EQ(read.topology.hosts(), 3);
  EXPECT_EQ(read.topology.switches(), 2);
  const LinkSpeed slow{500'000'000, 40'000}, fast{500'000'000, 20'000};
  EXPECT_EQ(read.topology.links(),
            (std::vector<Topology::Link>{
                {0, 3, slow}, {1, 3, slow}, {2, 4, slow}, {3, 4, fast}, {3, 4, fast}}));
}

/// The only tree of a topology.conf.
NamedTopology read_tree(std::string_view text) {
  std::vector<NamedTopology> trees = read_slurm_topology(text);
  EXPECT_EQ(trees.size(), 1U) << text;
  return std::move(trees.front());
}

TEST(TopologyFiles, OfSlurmSayWhichNodesASwitchHas) {
  const NamedTopology read = read_tree(
      "# two leaves\n"
      "SwitchName=leaf1 Nodes=n[08-10,12],login LinkSpeed=900\n"
      "\n"
      "switchname=leaf2 \\\n"
      "  nodes=r[1-2]c[1-2]  # racks\n"
      "SwitchName=top Switches=leaf[1-2]");
  EXPECT_EQ(read.names,
            (std::vector<std::string>{"n08", "n09", "n10", "n12", "login", "r1c1", "r1c2", "r2c1",
                                      "r2c2", "leaf1", "leaf2", "top"}));
  EXPECT_EQ(read.topology.hosts(), 9);
  EXPECT_EQ(read.topology.links().size(), 11U);
  EXPECT_EQ(read.topology.distances(0)[8], 4);
}

/// Slurm's own parser, src/common/parse_config.c, takes all of these.
TEST(TopologyFiles, OfSlurmAreReadAsSlurmReadsThem) {
  const std::vector<std::string> names{"n1", "n2", "n3", "leaf1", "leaf2", "top"};
  const char* const same[]{
      "SwitchName=leaf1 Nodes=n1,n2\nSwitchName=leaf2 Nodes=n3\nSwitchName=top Switches=leaf[1-2]",
      "SwitchName=\"leaf1\" Nodes=\"n[1-2]\"\nSwitchName=leaf2 Nodes=\"n3\"\n"
      "SwitchName=top Switches=\"leaf[1-2]\"\n",
      "  SwitchName = leaf1\tNodes= n[1-2]  LinkSpeed =1\nSwitchName =leaf2 Nodes = \"n3\"\n"
      "SwitchName\t=\ttop Switches\t=\t\"leaf1 , leaf2\"\r\n",
      "SwitchName=leaf1 Nodes=n1,\\\nn2\nSwitchName=le\\  \naf2 Nodes=n3\n"
      "SwitchName=top \\ # goes on\nSwitches=leaf1,leaf2,",
      "SwitchName=leaf1 Nodes=,n1,,n2,n1\nSwitchName=leaf2 Nodes=n\\3#4\n"
      "SwitchName=top Switches=leaf1,leaf2\nSwitchName=empty\nSwitchName=void Nodes=\"\"",
      "SwitchName=leaf1 Nodes=x Nodes=n[1-2]\nSwitchName=leaf2 Nodes=n3\n"
      "SwitchName=top LinkSpeed+=2 Switches=leaf1,leaf2",
  };
  for (const char* const text : same) {
    const NamedTopology read = read_tree(text);
    EXPECT_EQ(read.names, names) << text;
    EXPECT_EQ(read.topology.links(), read_tree(same[0]).topology.links()) << text;
  }
  EXPECT_EQ(read_tree("SwitchName=\"the leaf\" Nodes=a\\#1").names,
            (std::vector<std::string>{"a#1", "the leaf"}));
}

TEST(TopologyFiles, OfSlurmMayHaveSeveralTrees) {
  const std::vector<NamedTopology> trees = read_slurm_topology(
      "SwitchName=top Switches=leaf[1-2]\nSwitchName=leaf1 Nodes=a[1-2]\nSwitchName=alone\n"
      "SwitchName=other Nodes=b[1-3]\nSwitchName=leaf2 Nodes=a3\n");
  ASSERT_EQ(trees.size(), 2U);
  EXPECT_EQ(trees[0].names, (std::vector<std::string>{"a1", "a2", "a3", "top", "leaf1", "leaf2"}));
  EXPECT_EQ(trees[0].topology.hosts(), 3);
  EXPECT_EQ(trees[0].topology.distances(0)[2], 4);
  EXPECT_EQ(trees[1].names, (std::vector<std::string>{"b1", "b2", "b3", "other"}));
  EXPECT_EQ(trees[1].topology.distances(0)[2], 2);
}

NamedTopology read_topology(const std::string& path) {
  return read_network(find_network(path));
}

/// Reads a text, which is refused. @return with which words.
template <class Read>
std::string refusal(Read read, const std::string& text) {
  try {
    (void)read(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return "it was read";
}

TEST(TopologyFiles, OfJsonThatMakeNoSenseAreRefused) {
  const std::pair<const char*, const char*> refused[]{
      {"", "it is not JSON: "},
      {"[]", "it is not a network: expected an object with"},
      {"{}", "it is not a network: expected an object with"},
      {"{\n  \"hosts\": [,", "it is not JSON: syntax error in line 2, column 13"},
      {R"({"hosts": ["a"]})", "\"links\" is not an array"},
      {R"({"hosts": "a", "links": []})", "\"hosts\" is not an array of names"},
      {R"({"hosts": [1], "links": []})", "an element that is not a name"},
      {R"({"hosts": ["a", "a"], "links": []})", "two vertices 'a'"},
      {R"({"hosts": ["a"], "switches": ["a"], "links": []})", "two vertices 'a'"},
      {R"({"links": []})", "no hosts"},
      {R"({"hosts": ["a", "b"], "links": []})", "no link joins 'a' and 'b'"},
      {R"({"hosts": ["a"], "links": [3]})", "link 0: \"from\" is missing"},
      {R"({"hosts": ["a"], "links": [{"from": "a"}]})", "link 0: \"to\" is missing"},
      {R"({"hosts": ["a"], "links": [{"from": "a", "to": "x"}]})", "'x', which is not a host"},
      {R"({"hosts": ["a"], "links": [{"from": "a", "to": "a"}]})", "to itself"},
      {R"({"hosts": ["a", "b"], "links": [{"from": "a", "to": "b", "count": 0.5}]})", "\"count\""},
      {R"({"hosts": ["a", "b"], "links": [{"from": "a", "to": "b", "count": 1e7}]})", "\"count\""},
      {R"({"hosts": ["a"], "gbit_per_s": 0, "links": []})", "no byte would arrive"},
      {R"({"hosts": ["a"], "latency_ns": -1, "links": []})", "\"latency_ns\" is not a number"},
      {R"({"hosts": ["a"], "per_message_ns": -1, "links": []})",
       "\"per_message_ns\" is not a number"},
      {R"({"hosts": ["a"], "latency_ns": "1", "links": []})", "\"latency_ns\" is not a number"},
      {R"({"hosts": ["a"], "name": 1, "links": []})", "\"name\" is not a text"},
  };
  for (const auto& [text, words] : refused)
    EXPECT_NE(refusal(read_json_topology, text).find(words), std::string::npos)
        << text << ": " << refusal(read_json_topology, text);
}

TEST(TopologyFiles, OfSlurmThatMakeNoSenseAreRefused) {
  const auto read = [](const std::string& text) { return read_slurm_topology(text); };
  const std::pair<const char*, const char*> refused[]{
      {"", "no hosts"},
      {"\n\nSwitchName", "line 3: 'SwitchName' is not key=value"},
      {"Switch=s Nodes=a", "line 1: unknown key 'Switch'"},
      {"Nodes=a", "line 1: there is no SwitchName"},
      {"SwitchName=s", "no hosts"},
      {"SwitchName=s Nodes=a Switches=t", "line 1: switch s has both Nodes and Switches"},
      {"SwitchName=s Nodes=", "line 1: 'Nodes' has no value"},
      {"SwitchName=s Nodes=\"a", "line 1: the quotation '\"a' has no end"},
      {"SwitchName=s Nodes=\"a\"b", "line 1: 'b' follows a quote"},
      {"SwitchName=s Nodes=a\"b\"", "line 1: a quote is inside 'a\"b\"'"},
      {"include nodes.conf", "line 1: Include is not supported"},
      {"SwitchName=s Nodes=a\n\\\nBlockName=b", "line 2: unknown key 'BlockName'"},
      {"SwitchName=s Nodes=a\nSwitchName=t Nodes=a", "line 2: node a is linked to two switches"},
      {"SwitchName=s Nodes=a\nSwitchName=s Nodes=b", "line 2: there are two switches s"},
      {"SwitchName=s Switches=t", "line 1: there is no switch t"},
      {"SwitchName=s Switches=s", "line 1: switch s is linked to itself"},
      {"SwitchName=s Nodes=a[1-", "do not match"},
      {"SwitchName=s Nodes=a]1[", "do not match"},
      {"SwitchName=s Nodes=a[[1]]", "do not match"},
      {"SwitchName=s Nodes=a[2-1]", "line 1: the range '2-1' is empty"},
      {"SwitchName=s Nodes=a[x]", "'x' is not a number"},
      {"SwitchName=s Nodes=a[]", "'' is not a number"},
      {"SwitchName=s Nodes=a[1-99999999999999999999]", "is not a number"},
      {"SwitchName=s Nodes=a[0-60000]b[0-60000]", "too many names"},
  };
  for (const auto& [text, words] : refused)
    EXPECT_NE(refusal(read, text).find(words), std::string::npos)
        << text << ": " << refusal(read, text);
}

TEST(TopologyFiles, OfSlurmWithMoreNamesThanThereIsRoomForAreRefused) {
  std::string text;
  for (int i = 0; i < 20; ++i)
    text += "SwitchName=s" + std::to_string(i) + " Nodes=n" + std::to_string(i) + "x[1-60000]\n";
  const auto read = [](const std::string& file) { return read_slurm_topology(file); };
  EXPECT_EQ(refusal(read, text), "line 18: there are too many names up to here");
}

TEST(TopologyFiles, AreKnownByTheirFirstCharacter) {
  const std::string path =
      (std::filesystem::temp_directory_path() / "tutti_topology_test").string();
  std::ofstream{path} << "\n  " << kJson;
  EXPECT_EQ(read_topology(path).topology.name(), "lab");
  std::ofstream{path} << "SwitchName=s Nodes=a[1-3]\n";
  EXPECT_EQ(read_topology(path).topology.hosts(), 3);
  std::ofstream{path} << "SwitchName=s Nodes=\n";
  EXPECT_EQ(refusal(read_topology, path), path + ": line 1: 'Nodes' has no value");
  std::ofstream{path} << "SwitchName=s Nodes=a,b\nSwitchName=t Nodes=c\nSwitchName=u Nodes=d";
  EXPECT_EQ(refusal(read_topology, path),
            path +
                ": no link joins hosts a and c, which are in two of 3 trees: expected a file of "
                "one tree");
  std::filesystem::remove(path);
  EXPECT_EQ(refusal(read_topology, path), path + ": no such file");
}

}  // namespace
}  // namespace tutti::v0

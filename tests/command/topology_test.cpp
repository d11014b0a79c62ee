// topology says what networks are.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/command/runner.hpp"
#include "topology/families.hpp"
#include "topology/read.hpp"

namespace tutti::v0 {
namespace {

TEST(CommandTopology, SaysWhatANetworkIs) {
  const Answer run = tutti_run("topology fat_tree:16x8:up=1x8");
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.out,
            "network   fat_tree:16x8:up=1x8\n"
            "hosts     128\n"
            "switches  16 of 8 to 24 ports\n"
            "links     192 of 100 Gbit/s and 1000 ns\n"
            "ways      at most 4 links between two hosts, 3.76 on average\n");
}

TEST(CommandTopology, SaysWhatLevelsOfGpusThereAre) {
  const Answer run = tutti_run("topology gpus:8x4:islands=2");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(has(run.out,
                  "\nlevels    island: 8 parts of 4 hosts\n"
                  "          host: 4 parts of 8 hosts\n"
                  "costs     a host takes 5000 ns for a message, and reduces 1000 GB/s\n"
                  "assumed   kernels, NVLink and PCIe, and rails\n"))
      << run.out;
}

TEST(CommandTopology, WritesWhatItReads) {
  for (const char* const text :
       {"rails:2x3:latency=1.5us", "torus:3x3:bandwidth=400G", "gpus:4x2:islands=2"}) {
    const Answer run = tutti_run(std::string{"topology --format json "} + text);
    EXPECT_EQ(run.code, 0) << run.err;
    const Topology read = read_json_topology(run.out).topology, made = parse_topology(text);
    EXPECT_EQ(read.hosts(), made.hosts());
    EXPECT_EQ(read.levels(), made.levels());
    EXPECT_EQ(read.endpoints(), made.endpoints());
    EXPECT_EQ(read.assumed(), made.assumed());
    EXPECT_EQ(read.links().size(), made.links().size());
    for (std::size_t i = 0; i < made.links().size(); ++i) {
      EXPECT_EQ(read.links()[i].a, made.links()[i].a);
      EXPECT_EQ(read.links()[i].speed.latency, made.links()[i].speed.latency);
      EXPECT_NEAR(static_cast<double>(read.links()[i].speed.per_byte),
                  static_cast<double>(made.links()[i].speed.per_byte), 1);
    }
  }
}

TEST(CommandTopology, DrawsEachLink) {
  const Answer run = tutti_run("topology switch:2 --format dot");
  EXPECT_EQ(run.out,
            "graph \"switch:2\" {\n  node [shape=point];\n  \"s0\" [shape=box];\n"
            "  \"h0\" -- \"s0\";\n  \"h1\" -- \"s0\";\n}\n");
}

TEST(CommandTopology, ReadsFiles) {
  const std::string path =
      (std::filesystem::temp_directory_path() / "tutti_command_topology").string();
  std::ofstream{path} << "SwitchName=s Nodes=a[1-3]\n";
  EXPECT_TRUE(has(tutti_run("topology " + path).out, "\nhosts     3\n"));
  std::ofstream{path} << "SwitchName=s\n";
  const Answer run = tutti_run("topology " + path);
  EXPECT_EQ(run.code, 2);
  EXPECT_TRUE(has(run.err, "network topology.conf: it has no hosts")) << run.err;
  std::filesystem::remove(path);
  EXPECT_TRUE(has(tutti_run("topology " + path).err, ": no such file"));
}

TEST(CommandTopology, SaysWhatWouldBeRight) {
  const Answer run = tutti_run("topology taurus:4");
  EXPECT_EQ(run.code, 2);
  EXPECT_TRUE(
      has(run.err, "taurus:4: no such file, and not a network: known are machine and switch:64"))
      << run.err;
}

}  // namespace
}  // namespace tutti::v0

// Launchers by what they leave in the environment. srun and torchrun are known by these fixtures
// only.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <tutti/error.hpp>

#include "runtime/launch/launch.hpp"
#include "runtime/launch/placement.hpp"
#include "tests/runtime/launch/launches.hpp"

namespace tutti::runtime {
namespace {

// A launcher's variables for rank 2 of 4, which is rank 0 of 2 on its host.
struct Fixture {
  std::string source;
  Environment environment;
  Exchange exchange;
  std::string url;
  std::string rank_variable;
  std::string size_variable;
};

const Fixture kTutti{"TUTTI_RANK",
                     {{"TUTTI_RANK", "2"},
                      {"TUTTI_SIZE", "4"},
                      {"TUTTI_LOCAL_RANK", "0"},
                      {"TUTTI_LOCAL_SIZE", "2"},
                      {"TUTTI_URL", "tcp://h:5"}},
                     Exchange::url,
                     "tcp://h:5",
                     "TUTTI_RANK",
                     "TUTTI_SIZE"};
const Fixture kTorchrun{"torchrun",
                        {{"RANK", "2"},
                         {"WORLD_SIZE", "4"},
                         {"LOCAL_RANK", "0"},
                         {"LOCAL_WORLD_SIZE", "2"},
                         {"MASTER_ADDR", "node0"},
                         {"MASTER_PORT", "29500"},
                         {"TORCHELASTIC_RUN_ID", "run7"}},
                        Exchange::url,
                        "tcp://node0:29501",
                        "RANK",
                        "WORLD_SIZE"};
const Fixture kOpenMpi{"Open MPI",
                       {{"OMPI_COMM_WORLD_RANK", "2"},
                        {"OMPI_COMM_WORLD_SIZE", "4"},
                        {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                        {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                        {"PMIX_RANK", "2"},
                        {"PMIX_NAMESPACE", "job1"}},
                       Exchange::pmix,
                       "",
                       "OMPI_COMM_WORLD_RANK",
                       "OMPI_COMM_WORLD_SIZE"};
const Fixture kHydra{"Hydra",
                     {{"PMI_RANK", "2"},
                      {"PMI_SIZE", "4"},
                      {"PMI_FD", "9"},
                      {"MPI_LOCALRANKID", "0"},
                      {"MPI_LOCALNRANKS", "2"},
                      {"HYDI_CONTROL_FD", "8"}},
                     Exchange::pmi,
                     "",
                     "PMI_RANK",
                     "PMI_SIZE"};
const Fixture kMvapich{"MVAPICH",
                       {{"MV2_COMM_WORLD_RANK", "2"},
                        {"MV2_COMM_WORLD_SIZE", "4"},
                        {"MV2_COMM_WORLD_LOCAL_RANK", "0"},
                        {"MV2_COMM_WORLD_LOCAL_SIZE", "2"}},
                       Exchange::mpi,
                       "",
                       "MV2_COMM_WORLD_RANK",
                       "MV2_COMM_WORLD_SIZE"};
const Fixture kSlurm{"Slurm",
                     {{"SLURM_PROCID", "2"},
                      {"SLURM_STEP_ID", "1"},
                      {"SLURM_JOB_ID", "77"},
                      {"SLURM_NTASKS", "16"},
                      {"SLURM_STEP_NUM_TASKS", "4"},
                      {"SLURM_STEP_NUM_NODES", "2"},
                      {"SLURM_LOCALID", "0"},
                      {"SLURM_STEP_NODELIST", "c[03-04]"}},
                     Exchange::url,
                     "tcp://c03:22388",
                     "SLURM_PROCID",
                     "SLURM_STEP_NUM_TASKS"};
const std::vector<Fixture> kFixtures{kTutti, kTorchrun, kOpenMpi, kHydra, kMvapich, kSlurm};

TEST(Launch, EveryLauncherIsKnownByItsVariables) {
  for (const Fixture& fixture : kFixtures) {
    const Launch launch = detect_launch(fixture.environment);
    EXPECT_EQ(launch.source, fixture.source);
    EXPECT_EQ(launch.rank, 2) << fixture.source;
    EXPECT_EQ(launch.size, 4) << fixture.source;
    EXPECT_EQ(launch.local_rank, 0) << fixture.source;
    EXPECT_EQ(launch.local_size, fixture.source == "Slurm" ? -1 : 2) << fixture.source;
    EXPECT_EQ(launch.exchange, fixture.exchange) << fixture.source;
    EXPECT_EQ(launch.url, fixture.url) << fixture.source;
  }
  EXPECT_EQ(detect_launch(kTorchrun.environment).job, "run7");
  EXPECT_EQ(detect_launch(kOpenMpi.environment).job, "job1");
  EXPECT_EQ(detect_launch(kSlurm.environment).job, "77.1");
  EXPECT_EQ(detect_launch(kHydra.environment).descriptor, 9);
}

TEST(Launch, NothingMeansAlone) {
  const Launch launch =
      detect_launch({{"HOME", "/root"}, {"RANK", "3"}});  // RANK is anybody's word
  EXPECT_EQ(launch.source, "alone");
  EXPECT_EQ(launch.rank, 0);
  EXPECT_EQ(launch.size, 1);
  EXPECT_EQ(launch.exchange, Exchange::none);
}

TEST(Launch, InEveryPairTheFirstLauncherWinsIfTheyAgree) {
  for (std::size_t first = 0; first < kFixtures.size(); ++first)
    for (std::size_t second = first + 1; second < kFixtures.size(); ++second) {
      const Fixture& one = kFixtures[first];
      const Fixture& other = kFixtures[second];
      // Inside a step of Slurm a PMI without Hydra's own socket would be Slurm's.
      EXPECT_EQ(detect_launch(merged(one.environment, other.environment)).source, one.source)
          << one.source << " and " << other.source;
    }
}

TEST(Launch, EveryContradictionIsPrinted) {
  for (std::size_t first = 0; first < kFixtures.size(); ++first)
    for (std::size_t second = first + 1; second < kFixtures.size(); ++second) {
      const Fixture& one = kFixtures[first];
      const Fixture& other = kFixtures[second];
      const Environment both = merged(one.environment, other.environment);
      for (const Environment& environment :
           {changed(both, other.rank_variable, "3"), changed(both, other.size_variable, "3"),
            changed(both, one.rank_variable, "1"), changed(both, one.size_variable, "5")}) {
        const std::string message = refusal(environment);
        EXPECT_TRUE(has(message, "the launchers disagree")) << message;
        EXPECT_TRUE(has(message, "\n" + one.source + " ")) << message;
        EXPECT_TRUE(has(message, "\n" + other.source + " ")) << message;
      }
    }
}

TEST(Launch, AMalformedNumberIsNamed) {
  for (const Fixture& fixture : kFixtures)
    for (const char* value : {"x", "-1", "2x", " 2", "1e9", "99999999999", "0x2", "4"}) {
      const std::string message =
          refusal(changed(fixture.environment, fixture.rank_variable, value));
      EXPECT_TRUE(has(message, fixture.rank_variable)) << message;
      EXPECT_TRUE(has(message, value)) << message;
      EXPECT_TRUE(has(message, "must be a")) << message;
      if (std::string{value} == "4") continue;  // a good number of ranks
      const std::string size = refusal(changed(fixture.environment, fixture.size_variable, value));
      EXPECT_TRUE(has(size, fixture.size_variable)) << size;
      EXPECT_TRUE(has(size, value)) << size;
    }
  EXPECT_TRUE(has(refusal(changed(kTorchrun.environment, "LOCAL_RANK", "2")), "LOCAL_RANK is 2"));
  EXPECT_TRUE(has(refusal(changed(kTorchrun.environment, "MASTER_PORT", "65536")), "MASTER_PORT"));
  EXPECT_TRUE(has(refusal(changed(kHydra.environment, "PMI_FD", "x")), "PMI_FD is 'x'"));
  EXPECT_TRUE(has(refusal(changed(kHydra.environment, "MPI_LOCALNRANKS", "5")), "is only 4"));
}

TEST(Launch, ASizeThatCannotBeIsNamed) {
  for (const Fixture& fixture : kFixtures)
    for (const char* value : {"2147483647", "1048577"}) {
      const std::string size = refusal(changed(fixture.environment, fixture.size_variable, value));
      EXPECT_TRUE(has(size, fixture.size_variable + " is '" + value + "'")) << size;
      EXPECT_TRUE(has(size, " to 1048576")) << size;
    }
  EXPECT_EQ(detect_launch({}, {"tcp://a:1", 0, 1 << 20}).size, 1 << 20);
  EXPECT_TRUE(has(refusal({}, {"tcp://a:1", 0, 2147483647}),
                  "size is 2147483647, but a world has at most 1048576 ranks"));
}

TEST(Launch, FourVariablesOfTorchrunAreEnough) {
  Environment four = kTorchrun.environment;
  for (const char* name : {"LOCAL_RANK", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RUN_ID"})
    four.erase(name);
  EXPECT_EQ(detect_launch(four).rank, 2);
  EXPECT_EQ(detect_launch(four).url, kTorchrun.url);
  for (const char* name : {"MASTER_ADDR", "MASTER_PORT"}) {
    Environment environment = four;
    environment.erase(name);
    EXPECT_TRUE(has(refusal(environment), std::string{name} + " is missing"));
    // Beside a complete launcher they are somebody else's words.
    EXPECT_EQ(detect_launch(merged(environment, kHydra.environment)).source, "Hydra");
    // A place to meet stands for both.
    EXPECT_EQ(detect_launch(environment, {.url = "tcp://b:2"}).url, "tcp://b:2");
    EXPECT_EQ(detect_launch(changed(environment, "TUTTI_URL", "tcp://b:2")).source, "torchrun");
    EXPECT_TRUE(has(refusal(environment), "set TUTTI_URL"));
  }
}

TEST(Launch, TorchrunMeetsBesideTheStoreOfPyTorch) {
  EXPECT_EQ(detect_launch(changed(kTorchrun.environment, "MASTER_PORT", "65535")).url,
            "tcp://node0:65534");
  EXPECT_EQ(detect_launch(changed(kTorchrun.environment, "MASTER_ADDR", "fd00::1")).url,
            "tcp://[fd00::1]:29501");
}

TEST(Launch, OpenMpiWithoutPmixMeetsWhereTheMasterIs) {
  Environment environment = kOpenMpi.environment;
  environment.erase("PMIX_NAMESPACE");
  environment.erase("PMIX_RANK");
  EXPECT_EQ(detect_launch(environment).exchange, Exchange::mpi);
  environment["MASTER_ADDR"] = "m";
  environment["MASTER_PORT"] = "100";
  EXPECT_EQ(detect_launch(environment).url, "tcp://m:101");
}

TEST(Launch, PmixTellsItsSizeLater) {
  const Launch launch = detect_launch({{"PMIX_RANK", "2"}, {"PMIX_NAMESPACE", "job"}});
  EXPECT_EQ(launch.source, "PMIx");
  EXPECT_EQ(launch.rank, 2);
  EXPECT_EQ(launch.size, -1);
  EXPECT_EQ(launch.exchange, Exchange::pmix);
  // srun --mpi=pmix: the step has the size.
  const Launch step =
      detect_launch(merged(kSlurm.environment, {{"PMIX_RANK", "2"}, {"PMIX_NAMESPACE", "job"}}));
  EXPECT_EQ(step.source, "PMIx");
  EXPECT_EQ(step.size, 4);
}

TEST(Launch, ScriptsOfSbatchAreNoStep) {
  Environment script = kSlurm.environment;
  script.erase("SLURM_STEP_ID");
  script["SLURM_PROCID"] = "0";
  EXPECT_EQ(detect_launch(script).source, "alone");
  EXPECT_EQ(detect_launch(merged(kOpenMpi.environment, script)).source, "Open MPI");
  script["SLURM_STEP_ID"] = "4294967290";  // the shell of salloc
  EXPECT_EQ(detect_launch(script).source, "alone");
  script.erase("SLURM_STEP_ID");
  script["SLURM_STEPID"] = "0";  // its older name
  EXPECT_EQ(detect_launch(script).source, "Slurm");
}

TEST(Launch, AgentsStartedBySrunDoNotCount) {
  Environment agents = kSlurm.environment;  // srun started two agents, one per host
  agents["SLURM_STEP_NUM_TASKS"] = "2";
  agents["SLURM_PROCID"] = "1";
  for (const Fixture* fixture : {&kTorchrun, &kOpenMpi, &kHydra})
    EXPECT_EQ(detect_launch(merged(fixture->environment, agents)).source, fixture->source);
}

TEST(Launch, PmiOfSlurmMeetsAtTheFirstHost) {
  Environment environment = merged(kSlurm.environment, kHydra.environment);
  environment.erase("HYDI_CONTROL_FD");
  const Launch launch = detect_launch(environment);
  EXPECT_EQ(launch.source, "PMI of Slurm");
  EXPECT_EQ(launch.url, kSlurm.url);
}

TEST(Launch, OlderSlurmTellsTheSizeOfTheJob) {
  Environment environment = kSlurm.environment;
  environment.erase("SLURM_STEP_NUM_TASKS");
  EXPECT_EQ(detect_launch(environment).size, 16);
}

TEST(Launch, PortOfSlurmDependsOnJobAndStep) {
  const std::string url = detect_launch(kSlurm.environment).url;
  EXPECT_NE(detect_launch(changed(kSlurm.environment, "SLURM_JOB_ID", "78")).url, url);
  EXPECT_NE(detect_launch(changed(kSlurm.environment, "SLURM_STEP_ID", "2")).url, url);
  EXPECT_TRUE(has(refusal(changed(kSlurm.environment, "SLURM_JOB_ID", "x")), "SLURM_JOB_ID"));
}

TEST(Launch, NumbersAreToldWithTheirOwnLimits) {
  // Federations of Slurm use the upper bits of a job's number, which has 32.
  for (const char* job : {"2147483648", "4294967295"})
    EXPECT_EQ(detect_launch(changed(kSlurm.environment, "SLURM_JOB_ID", job)).source, "Slurm");
  const auto limit = [](const Fixture& fixture, const char* name, const char* value) {
    const std::string message = refusal(changed(fixture.environment, name, value));
    EXPECT_TRUE(has(message, name + std::string{" is '"} + value + "'")) << message;
    return message.substr(message.find_last_of(' ') + 1);
  };
  EXPECT_EQ(limit(kSlurm, "SLURM_JOB_ID", "4294967296"), "4294967295");
  EXPECT_EQ(limit(kSlurm, "SLURM_STEP_ID", "-1"), "4294967295");
  EXPECT_EQ(limit(kTorchrun, "MASTER_PORT", "65536"), "65535");
  EXPECT_EQ(limit(kTorchrun, "MASTER_PORT", "0"), "65535");
  EXPECT_EQ(limit(kTutti, "TUTTI_RANK", "1048576"), "1048575");
  EXPECT_EQ(limit(kTutti, "TUTTI_LOCAL_RANK", "-1"), "1048575");
  EXPECT_EQ(limit(kTutti, "TUTTI_TIMEOUT", "1e10"), "1000000000");
}

TEST(Launch, ArgumentsStandAboveEverything) {
  const Launch launch = detect_launch(kOpenMpi.environment, {"tcp://a:1", 1, 3});
  EXPECT_EQ(launch.source, "arguments");
  EXPECT_EQ(launch.rank, 1);
  EXPECT_EQ(launch.size, 3);
  EXPECT_EQ(launch.url, "tcp://a:1");
  const Launch place = detect_launch(kOpenMpi.environment, {.url = "file:///tmp/x"});
  EXPECT_EQ(place.source, "Open MPI");
  EXPECT_EQ(place.exchange, Exchange::url);
  EXPECT_EQ(place.url, "file:///tmp/x");
  EXPECT_TRUE(has(refusal({}, {.url = "tcp://a:1", .rank = 1}), "belong together"));
  EXPECT_TRUE(has(refusal({}, {"tcp://a:1", 3, 3}), "rank is 3, but size is only 3"));
  EXPECT_TRUE(has(refusal({}, {"tcp://a:1", -1, 3}), "rank is -1"));
  EXPECT_TRUE(has(refusal({}, {"tcp://a:1", 0, 0}), "size is 0"));
  EXPECT_TRUE(has(refusal({}, {"", 0, 2}), "TUTTI_URL"));
  for (const std::string& url :
       {std::string{"http://a"}, std::string{"unix://"}, "unix://" + std::string(101, 'x')})
    EXPECT_TRUE(has(refusal({}, {url, 0, 2}), "tcp://host:port, unix://name or file:///path"));
  EXPECT_EQ(detect_launch({}, {"unix://x", 0, 2}).exchange, Exchange::url);
  EXPECT_TRUE(has(refusal({}, {.url = "tcp://a:1"}), "TUTTI_RANK and TUTTI_SIZE"));
}

TEST(Launch, OurOwnVariables) {
  EXPECT_TRUE(has(refusal({{"TUTTI_RANK", "0"}}), "TUTTI_SIZE is missing"));
  EXPECT_TRUE(has(refusal({{"TUTTI_RANK", "0"}, {"TUTTI_SIZE", "2"}}), "set TUTTI_URL"));
  EXPECT_EQ(detect_launch({{"TUTTI_RANK", "0"}, {"TUTTI_SIZE", "1"}}).exchange, Exchange::none);
  EXPECT_EQ(detect_launch(changed(kHydra.environment, "TUTTI_URL", "tcp://b:2")).url, "tcp://b:2");
}

using Hosts = std::vector<std::string>;

TEST(Launch, TheHostsOfSlurmsLists) {
  const std::vector<std::pair<std::string, Hosts>> lists{
      {"a", {"a"}},
      {"a,b", {"a", "b"}},
      {"a[1-3,7],b", {"a1", "a2", "a3", "a7", "b"}},
      {"a[7,1-3]", {"a7", "a1", "a2", "a3"}},
      {"a[099-101]", {"a099", "a100", "a101"}},
      {"r[1-2]c[3-4]n,x", {"r1c3n", "r1c4n", "r2c3n", "r2c4n", "x"}},
      {"a-b.c,d", {"a-b.c", "d"}},
      {"10.0.0.[5-6]", {"10.0.0.5", "10.0.0.6"}}};
  for (const auto& [list, hosts] : lists) {
    EXPECT_EQ(slurm_hosts(list, 100), hosts) << list;
    EXPECT_EQ(slurm_hosts(list, 1), Hosts{hosts.front()}) << list;
  }
  EXPECT_EQ(slurm_hosts("a[1-999999999999]b[1-999999999999]", 2), (Hosts{"a1b1", "a1b2"}));
  for (const char* list :
       {"", ",a", "a[", "a[]", "a[-3]", "a[3-1]", "a[x]", "a]", "a[1[2]]", "[", "]"})
    EXPECT_THROW(static_cast<void>(slurm_hosts(list, 100)), Error) << list;
  EXPECT_TRUE(has(refusal(changed(kSlurm.environment, "SLURM_STEP_NODELIST", "a[")),
                  "SLURM_STEP_NODELIST"));
}

TEST(Launch, SlurmTellsTheHostOfEachRank) {
  const Environment blocks = changed(kSlurm.environment, "SLURM_STEP_TASKS_PER_NODE", "2(x2)");
  const auto hosts = [](const Environment& environment) {
    return detect_launch(environment).hosts;
  };
  EXPECT_EQ(hosts(blocks), (Hosts{"c03", "c03", "c04", "c04"}));
  EXPECT_EQ(hosts(changed(blocks, "SLURM_STEP_TASKS_PER_NODE", "3,1")),
            (Hosts{"c03", "c03", "c03", "c04"}));
  EXPECT_EQ(hosts(changed(blocks, "SLURM_DISTRIBUTION", "block:cyclic")), hosts(blocks));
  const Environment cyclic = changed(blocks, "SLURM_DISTRIBUTION", "cyclic:block");
  EXPECT_EQ(hosts(cyclic), (Hosts{"c03", "c04", "c03", "c04"}));
  EXPECT_EQ(hosts(changed(cyclic, "SLURM_STEP_TASKS_PER_NODE", "3,1")),
            (Hosts{"c03", "c04", "c03", "c03"}));
  // Unknown hosts are not guessed.
  EXPECT_EQ(hosts(kSlurm.environment), Hosts{});
  EXPECT_EQ(hosts(changed(blocks, "SLURM_DISTRIBUTION", "arbitrary")), Hosts{});
  for (const char* counts :
       {"2", "2(x3)", "3(x2)", "1(x2)", "x", "2(x", "4(x0)", "99999999999(x2)"})
    EXPECT_EQ(hosts(changed(blocks, "SLURM_STEP_TASKS_PER_NODE", counts)), Hosts{}) << counts;
}

TEST(Launch, OurOwnVariableTellsTheHostOfEachRank) {
  const Environment told = changed(kTutti.environment, "TUTTI_HOSTS", "a*2,b,a");
  EXPECT_EQ(detect_launch(told).hosts, (Hosts{"a", "a", "b", "a"}));
  EXPECT_EQ(detect_launch(changed(kTorchrun.environment, "TUTTI_HOSTS", "a*4")).hosts.size(), 4U);
  EXPECT_EQ(detect_launch(kTutti.environment).hosts, Hosts{});
  EXPECT_EQ(detect_launch(told, {"tcp://a:1", 1, 3}).hosts, Hosts{});  // of another world
  EXPECT_TRUE(has(refusal(changed(told, "TUTTI_HOSTS", "a*2,b")), "hosts of 3 ranks"));
  for (const Hosts& hosts : {Hosts{}, Hosts{"a"}, Hosts{"a", "a", "b", "a"}, Hosts(4096, "a")})
    EXPECT_EQ(placement_of_text(text_of_placement(hosts)), hosts);
  EXPECT_EQ(text_of_placement({"a", "a", "b", "a"}), "a*2,b,a");
  for (const char* text : {"*2", "a*", "a*0", "a*x", "a*-1", "a,,b", ",a", "a*99999999999"})
    EXPECT_THROW(static_cast<void>(placement_of_text(text)), Error) << text;
}

TEST(Launch, AnInnerLauncherCanClearTheTraces) {
  for (const Fixture& fixture : kFixtures) {
    Environment environment = changed(fixture.environment, "TUTTI_HOSTS", "a*4");
    std::erase_if(environment, [](const auto& entry) { return is_launch_variable(entry.first); });
    EXPECT_EQ(detect_launch(environment).source, "alone") << fixture.source;
  }
  for (const char* name : {"PATH", "OMP_NUM_THREADS", "TUTTI_TIMEOUT", "SLURM_JOB_ID"})
    EXPECT_FALSE(is_launch_variable(name)) << name;
}

}  // namespace
}  // namespace tutti::runtime

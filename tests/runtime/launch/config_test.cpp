// Every variable of ours changes something, and nothing else is read.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <tutti/error.hpp>

#include "runtime/launch/config.hpp"

namespace tutti::runtime {
namespace {

std::string config_refusal(const Environment& environment) {
  try {
    static_cast<void>(read_config(environment));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Config, EveryVariableChangesSomething) {
  const Config none = read_config({});
  EXPECT_FALSE(none.rank || none.size || none.local_rank || none.local_size || none.timeout);
  EXPECT_EQ(none.url + none.secret_file + none.address, "");
  EXPECT_TRUE(none.hosts.empty());
  EXPECT_EQ(read_config({{"TUTTI_RANK", "3"}}).rank, 3);
  EXPECT_EQ(read_config({{"TUTTI_SIZE", "4"}}).size, 4);
  EXPECT_EQ(read_config({{"TUTTI_LOCAL_RANK", "1"}}).local_rank, 1);
  EXPECT_EQ(read_config({{"TUTTI_LOCAL_SIZE", "2"}}).local_size, 2);
  EXPECT_EQ(read_config({{"TUTTI_URL", "tcp://a:1"}}).url, "tcp://a:1");
  EXPECT_EQ(read_config({{"TUTTI_HOSTS", "a*2,b"}}).hosts.size(), 3U);
  EXPECT_EQ(read_config({{"TUTTI_SECRET_FILE", "/s"}}).secret_file, "/s");
  EXPECT_EQ(read_config({{"TUTTI_ADDRESS", "10.0.0.1"}}).address, "10.0.0.1");
  EXPECT_EQ(read_config({{"TUTTI_TIMEOUT", "1.5"}}).timeout, std::chrono::milliseconds{1500});
  EXPECT_EQ(read_config({{"TUTTI_MPI_LIBRARY", "/m.so"}}).mpi_library, "/m.so");
  EXPECT_EQ(read_config({{"TUTTI_MPI", "bcast"}}).mpi, "bcast");
  EXPECT_EQ(read_config({{"TUTTI_MPI_NATIVE", "all"}}).mpi_native, "all");
  EXPECT_TRUE(read_config({{"TUTTI_MPI_STRICT", "1"}}).mpi_strict);
  EXPECT_TRUE(read_config({{"TUTTI_REPORT", "1"}}).report);
  EXPECT_THROW(static_cast<void>(read_config({{"TUTTI_REPORT", "yes"}})), Error);
  EXPECT_EQ(read_config({{"TUTTI_REPORT_FILE", "/r"}}).report_file, "/r");
  EXPECT_TRUE(read_config({{"TUTTI_SHARED_HEAP", "1"}}).shared_heap);
  EXPECT_EQ(read_config({{"TUTTI_TUNING", "none"}}).tuning, "none");
  EXPECT_EQ(read_config({{"TUTTI_TOPOLOGY", "switch:4"}}).topology, "switch:4");
}

TEST(Config, TwoValuesOfAVariableDiffer) {
  const auto config_with = [](const Variable& variable, const char* value) {
    Config config;
    try {
      variable.read(variable.name, value, config);
    } catch (const Error&) {
    }
    return config;
  };
  for (const Variable& variable : variables())
    EXPECT_NE(config_with(variable, "1"), config_with(variable, "2")) << variable.name;
}

TEST(Config, TheManualHasEveryVariable) {
  std::ifstream page{TUTTI_STARTING_PAGE};
  const std::string text{std::istreambuf_iterator<char>{page}, {}};
  for (const Variable& variable : variables()) {
    const std::string row =
        "| `" + std::string{variable.name} + "` | " + std::string{variable.help} + " |";
    EXPECT_NE(text.find(row), std::string::npos) << row;
  }
}

TEST(Config, EmptyMeansNotSet) {
  EXPECT_FALSE(read_config({{"TUTTI_RANK", ""}, {"TUTTI_TIMEOUT", ""}}).rank);
}

TEST(Config, AMistakeIsNamed) {
  for (const char* value : {"x", "0", "-1", "nan", "inf", "1e99", "3s"}) {
    const std::string message = config_refusal({{"TUTTI_TIMEOUT", value}});
    EXPECT_NE(message.find("TUTTI_TIMEOUT is '" + std::string{value} + "'"), std::string::npos);
  }
  EXPECT_NE(config_refusal({{"TUTTI_SIZE", "0"}}).find("TUTTI_SIZE is '0'"), std::string::npos);
  EXPECT_NE(
      config_refusal({{"TUTTI_HOSTS", "a*x"}}).find("TUTTI_HOSTS: 'a*x' is not a list of hosts"),
      std::string::npos);
}

// The variables of a namespace with services called tutti and tutti-cache, one of them with a
// named port and IPv6.
TEST(Config, ServiceLinksOfKubernetesPass) {
  const Environment links{{"TUTTI_SERVICE_HOST", "10.96.0.7"},
                          {"TUTTI_SERVICE_PORT", "80"},
                          {"TUTTI_SERVICE_PORT_HTTP", "80"},
                          {"TUTTI_PORT", "tcp://10.96.0.7:80"},
                          {"TUTTI_PORT_80_TCP", "tcp://10.96.0.7:80"},
                          {"TUTTI_PORT_80_TCP_PROTO", "tcp"},
                          {"TUTTI_PORT_80_TCP_PORT", "80"},
                          {"TUTTI_PORT_80_TCP_ADDR", "10.96.0.7"},
                          {"TUTTI_CACHE_SERVICE_HOST", "fd00::7"},
                          {"TUTTI_CACHE_SERVICE_PORT", "53"},
                          {"TUTTI_CACHE_PORT", "udp://[fd00::7]:53"},
                          {"TUTTI_CACHE_PORT_53_UDP", "udp://[fd00::7]:53"},
                          {"TUTTI_CACHE_PORT_53_UDP_PROTO", "udp"},
                          {"TUTTI_CACHE_PORT_53_UDP_PORT", "53"},
                          {"TUTTI_CACHE_PORT_53_UDP_ADDR", "fd00::7"},
                          {"TUTTI_RANK", "1"}};
  Config with_rank;
  with_rank.rank = 1;
  EXPECT_EQ(config_refusal(links), "");
  EXPECT_EQ(read_config(links), with_rank);
}

TEST(Config, VariablesOfModulesPass) {
  for (const char* name : {"TUTTI_ROOT", "TUTTI_DIR", "TUTTI_HOME", "TUTTI_VERSION", "TUTTI_LIB",
                           "TUTTI_INC", "TUTTI_INCLUDE_DIR", "TUTTI_PREFIX", "TUTTI_BIN",
                           "TUTTI_LIBRARY_PATH", "EBROOTTUTTI", "EBVERSIONTUTTI"})
    EXPECT_EQ(read_config({{name, "0"}}), Config{}) << name;
}

TEST(Config, AMisspeltVariableIsAnErrorThatNamesTheRightOne) {
  for (const auto& [wrong, right] :
       std::vector<std::pair<std::string, std::string>>{{"TUTTI_TIMEOT", "TUTTI_TIMEOUT"},
                                                        {"TUTTI_HOST", "TUTTI_HOSTS"},
                                                        {"TUTTI_RNAK", "TUTTI_RANK"},
                                                        {"TUTTI_SECRETFILE", "TUTTI_SECRET_FILE"}})
    EXPECT_EQ(config_refusal({{wrong, "1"}}),
              "there is no variable " + wrong + "; did you mean " + right + "?");
}

TEST(Config, OtherVariablesAreUnknown) {
  const Config config =
      read_config({{"TUTTI_PORT", "29500"}, {"TUTTI_SECRET", "x"}, {"TUTTI_", "y"}});
  EXPECT_EQ(config.unknown, (std::vector<std::string>{"TUTTI_", "TUTTI_PORT", "TUTTI_SECRET"}));
}

TEST(Config, TheProcessHasAnEnvironment) {
  ASSERT_EQ(setenv("TUTTI_ADDRESS", "a=b", 1), 0);
  EXPECT_EQ(read_config(process_environment()).address, "a=b");
  ASSERT_EQ(unsetenv("TUTTI_ADDRESS"), 0);
  EXPECT_EQ(read_config(process_environment()).address, "");
}

}  // namespace
}  // namespace tutti::runtime

// Every variable of ours changes something, and nothing else is read.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <string>

#include <tutti/error.hpp>

#include "runtime/config.hpp"

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
  const std::string unknown = config_refusal({{"TUTTI_TIMOUT", "3"}});
  EXPECT_NE(unknown.find("no variable TUTTI_TIMOUT"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("TUTTI_TIMEOUT"), std::string::npos) << unknown;
}

TEST(Config, TheProcessHasAnEnvironment) {
  ASSERT_EQ(setenv("TUTTI_ADDRESS", "a=b", 1), 0);
  EXPECT_EQ(read_config(process_environment()).address, "a=b");
  ASSERT_EQ(unsetenv("TUTTI_ADDRESS"), 0);
  EXPECT_EQ(read_config(process_environment()).address, "");
}

}  // namespace
}  // namespace tutti::runtime

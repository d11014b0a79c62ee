// Launchers that tutti recognises by their variables only.
#include <string>
#include <vector>

#include "runtime/launch/open_channel.hpp"
#include "tests/runtime/launch/launches.hpp"

namespace tutti::runtime {
namespace {

const Environment kOwnVariables{
    {"TUTTI_RANK", "2"}, {"TUTTI_SIZE", "4"}, {"TUTTI_URL", "tcp://h:5"}};
const Environment kFourVariables{
    {"RANK", "2"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "node0"}, {"MASTER_PORT", "29500"}};

// Variables of a launcher without a channel for tutti, and the error's text.
struct Foreign {
  std::string source;
  Environment environment;
  std::string cure;
};

const std::vector<Foreign> kForeign{
    {"Hydra",
     {{"PMI_PORT", "vm:42489"},
      {"PMI_ID", "1"},
      {"MPI_LOCALRANKID", "1"},
      {"MPI_LOCALNRANKS", "2"}},
     "tutti::mpi::init"},
    {"Hydra", {{"PMI_PORT", "vm:42489"}, {"MPI_LOCALNRANKS", "2"}}, "tutti::mpi::init"},
    {"Platform MPI", {{"MPI_RANKID", "1"}, {"MPI_NRANKS", "2"}}, "tutti::mpi::init"},
    {"ALPS", {{"ALPS_APP_PE", "1"}}, "tutti::mpi::init"},
    {"PALS", {{"PALS_RANKID", "1"}, {"PALS_LOCAL_SIZE", "2"}}, "tutti::mpi::init"},
    {"PALS", {{"PALS_RANKID", "0"}}, "tutti::mpi::init"},
    {"jsrun", {{"JSM_NAMESPACE_RANK", "1"}, {"JSM_NAMESPACE_SIZE", "2"}}, "tutti::mpi::init"},
    {"Flux", {{"FLUX_TASK_RANK", "1"}, {"FLUX_JOB_SIZE", "2"}}, "tutti::mpi::init"},
    {"mpirun_rsh", {{"MPIRUN_RANK", "1"}, {"MPIRUN_NPROCS", "2"}}, "tutti::mpi::init"},
    {"MVAPICH", {{"MVP_COMM_WORLD_RANK", "1"}, {"MVP_COMM_WORLD_SIZE", "2"}}, "tutti::mpi::init"},
    {"POE", {{"MP_CHILD", "1"}}, "tutti::mpi::init"},
    {"NEC MPI", {{"MPIRANK", "1"}, {"MPISIZE", "2"}}, "tutti::mpi::init"},
    {"Horovod", {{"HOROVOD_RANK", "1"}, {"HOROVOD_SIZE", "2"}}, "set TUTTI_URL"},
    {"PaddlePaddle", {{"PADDLE_TRAINER_ID", "1"}, {"PADDLE_TRAINERS_NUM", "2"}}, "set TUTTI_URL"},
    {"JAX", {{"JAX_PROCESS_ID", "1"}, {"JAX_NUM_PROCESSES", "2"}}, "set TUTTI_URL"},
    {"JAX", {{"JAX_NUM_PROCESSES", "2"}}, "TUTTI_RANK"},
    {"Ascend", {{"RANK_ID", "1"}, {"RANK_SIZE", "2"}}, "set TUTTI_URL"},
    {"DMLC", {{"DMLC_WORKER_ID", "1"}, {"DMLC_NUM_WORKER", "2"}}, "set TUTTI_URL"}};

// @return the error of init, or that it would start a world.
std::string refusal_to_open(const Environment& environment) {
  try {
    const Launch launch = detect_launch(environment);
    Protection none;
    static_cast<void>(open_channel(launch, none, Deadline::max()));
    return "a world of " + std::to_string(launch.size) + " starts";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
}

TEST(Launch, NoLaunchersVariablesAreTakenForAloneness) {
  for (const Foreign& foreign : kForeign) {
    const std::string message = refusal_to_open(foreign.environment);
    EXPECT_TRUE(has(message, foreign.source + " started this process")) << message;
    EXPECT_TRUE(has(message, foreign.cure)) << message;
    EXPECT_FALSE(has(message, "\n")) << message;
    // A launcher that tutti serves, and the user's own word, stand above it.
    EXPECT_EQ(detect_launch(merged(kOwnVariables, foreign.environment)).source, "TUTTI_RANK");
    EXPECT_EQ(detect_launch(merged(kFourVariables, foreign.environment)).size, 4);
    const Environment alone{{"TUTTI_RANK", "0"}, {"TUTTI_SIZE", "1"}};
    EXPECT_EQ(refusal_to_open(merged(alone, foreign.environment)), "a world of 1 starts");
    // An inner launcher takes it away.
    Environment inner = foreign.environment;
    std::erase_if(inner, [](const auto& entry) { return is_launch_variable(entry.first); });
    EXPECT_EQ(detect_launch(inner).source, "alone") << foreign.source;
  }
  // The ranks of a launcher whose account is complete meet where the user says.
  Environment told = kForeign[2].environment;
  told["TUTTI_URL"] = "tcp://a:1";
  EXPECT_EQ(detect_launch(told).url, "tcp://a:1");
  EXPECT_EQ(detect_launch(told).rank, 1);
  EXPECT_EQ(refusal_to_open({{"HOROVOD_RANK", "0"}, {"HOROVOD_SIZE", "1"}}), "a world of 1 starts");
  EXPECT_TRUE(has(refusal({{"HOROVOD_RANK", "2"}, {"HOROVOD_SIZE", "2"}}), "HOROVOD_RANK is 2"));
}

TEST(Launch, HalfOfALaunchersVariablesIsAnError) {
  for (const Environment& environment :
       {Environment{{"OMPI_COMM_WORLD_SIZE", "2"}}, Environment{{"PMI_SIZE", "2"}},
        Environment{{"MV2_COMM_WORLD_SIZE", "2"}}, Environment{{"PMIX_NAMESPACE", "job"}},
        Environment{{"WORLD_SIZE", "2"}, {"LOCAL_RANK", "1"}},
        Environment{{"RANK", "1"}, {"LOCAL_RANK", "1"}},
        Environment{{"RANK", "1"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "2"}}}) {
    const std::string message = refusal(environment);
    EXPECT_TRUE(has(message, "are incomplete")) << message;
    EXPECT_TRUE(has(message, " is missing")) << message;
  }
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "RANK_ID", "MPIRANK"})
    EXPECT_EQ(detect_launch({{name, "1"}}).source, "alone") << name;  // anybody's words
}

}  // namespace
}  // namespace tutti::runtime

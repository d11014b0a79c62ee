// Limits of files and threads are errors of all ranks.
#include "tests/support/limits.hpp"

#include <filesystem>
#include <optional>

#include <unistd.h>

#include <tutti/training.hpp>

#include "tests/overlap/gradients.hpp"

namespace tutti::test {
namespace {

const Setting kTwoRanks{2, "auto", 1};

/// Expects that a call fails, with an Error of these words.
void expect_refused(const std::string& words, const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << "it was possible: " << words;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::transport);
    EXPECT_NE(std::string{error.what()}.find(words), std::string::npos) << error.what();
  }
}

/// Calls on all ranks of a world while a limit of the process is there.
template <class Limit, class... Arguments>
void train_within(const std::function<void(Communicator&)>& body, Arguments... arguments) {
  train(kTwoRanks, [&](Communicator& world) {
    std::optional<Limit> limit;
    if (world.rank() == 0) limit.emplace(arguments...);
    world.barrier();
    body(world);
    world.barrier();
  });
}

TEST(TrainingLimits, OfFilesForbidASharedArray) {
  train_within<FileLimit>(
      [](Communicator& world) {
        const SharedArray<char> small{world, 1000};
        expect_refused(
            "rank 0 cannot allocate 5000 bytes: File too large: `ulimit -f` allows "
            "files of 4096 bytes",
            [&] {
              SharedArray<char>{world, 5000};
            });
      },
      4096);
}

TEST(TrainingLimits, OfFilesForbidOptionsAndTraces) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("tutti-limits-" + std::to_string(getpid()));
  {
    const FileLimit limit{10};
    expect_refused("GradientOptions: cannot write '" + path.string() + "': File too large",
                   [&] { save_gradient_options(path.string(), {}); });
  }
  train_within<FileLimit>(
      [&](Communicator& world) {
        Model model{{10}};
        GradientSync sync{world, model.parameters(), {.record = 1}};
        model.go_backward(sync, world.rank(), 0);
        sync.wait();
        expect_refused("cannot write '" + path.string() + "': File too large: `ulimit -f`",
                       [&] { sync.write_trace(path.string()); });
      },
      10);
  std::filesystem::remove(path);
}

TEST(TrainingLimits, OfThreadsAreToldByAGradientSync) {
  train_within<ThreadLimit>([](Communicator& world) {
    Model model{{10}};
    expect_refused("cannot start a thread: ", [&] { GradientSync{world, model.parameters()}; });
  });
}

TEST(TrainingLimits, OfThreadsAreToldByAPipeline) {
  const ThreadLimit limit;
  expect_refused("cannot start a thread: ", [] {
    Pipeline<int> pipeline{{thread_stage("work", [](int&) {})}};
    pipeline.run(1);
  });
}

}  // namespace
}  // namespace tutti::test

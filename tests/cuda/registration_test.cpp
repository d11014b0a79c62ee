// Registration of memory of tutti::cuda::allocate with NCCL: by the calls that the stand-in counts
// in a process of its own, which says at its end what is left.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include <tutti/cuda.hpp>

#include "device_floats.hpp"
#include "gpu_world.hpp"
#include "tests/support/patience.hpp"

namespace tutti::harness {
namespace {

using namespace std::chrono_literals;
using Counts = std::map<std::string, int>;

/// Two ranks allocate, and reduce what they have.
void allocate_and_reduce() {
  if (!lack_of(2).empty()) return;
  GpuWorld world{2};
  for (const std::string& error : world.run([&](Rank rank) {
         cuda::attach(world[rank], {.device = rank, .timeout = test::kAmple});
         const OwnStream stream{world.device(rank)};
         Buffer<float> data = cuda::allocate<float>(world[rank], 1000);
         world[rank].all_reduce(data.span(), sum, {.stream = stream.get()});
         cuda::wait(world[rank], stream.get(), test::kAmple);
       }))
    if (!error.empty()) std::_Exit(1);
}

/// @return how often each function was called, or nothing where the stand-ins are not.
Counts counts_of(const std::filesystem::path& path) {
  Counts counts;
  std::ifstream file{path};
  std::string function;
  for (int count = 0; file >> function >> count;) counts[function] = count;
  return counts;
}

class Registrations : public ::testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    setenv(kCalls, path_.c_str(), 0);  // which the child has of its parent
  }
  void TearDown() override {
    unsetenv(kCalls);
    std::filesystem::remove(path_);
  }

  /// @param symmetric as CUDA_STANDIN_SYMMETRIC. @return calls of a process with this setting.
  Counts counted(const char* symmetric) {
    const auto child = [&] {
      setenv("CUDA_STANDIN_SYMMETRIC", symmetric, 1);
      allocate_and_reduce();
      std::exit(0);
    };
    EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
    return counts_of(path_);
  }

 private:
  static constexpr const char* kCalls = "CUDA_STANDIN_CALLS";

  const std::filesystem::path path_ = std::filesystem::temp_directory_path() /
                                      ("tutti-registrations-" + std::to_string(::getpid()));
};

TEST_F(Registrations, AreWindows) {
  Counts counts = counted("1");
  if (counts.empty()) GTEST_SKIP() << "only the stand-ins count calls";
  EXPECT_EQ(counts["ncclCommWindowRegister"], 2);
  EXPECT_EQ(counts["ncclCommWindowDeregister"], 2);
  EXPECT_EQ(counts["ncclCommRegister"], 0);
}

TEST_F(Registrations, AreNoWindowsWhereNcclGivesNone) {
  Counts counts = counted("0");
  if (counts.empty()) GTEST_SKIP() << "only the stand-ins count calls";
  EXPECT_EQ(counts["ncclCommRegister"], 2);
  EXPECT_EQ(counts["ncclCommDeregister"], 2);
  EXPECT_EQ(counts["ncclCommWindowDeregister"], 0);
}

}  // namespace
}  // namespace tutti::harness

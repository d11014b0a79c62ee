// Errors about GPUs in a build without the CUDA toolkit.
#include <string>

#include <gtest/gtest.h>

#include <tutti/error.hpp>
#include <tutti/spi/communicator.hpp>
#include <tutti/testing.hpp>

#include "backends/cuda/timed_stream.hpp"

namespace tutti::cuda {
namespace {

template <class Body>
std::string refusal(Body body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::transport);
    return error.what();
  }
  return "no error";
}

TEST(NoCuda, SaysWhatToInstall) {
  sim::Cluster cluster{sim::ClusterOptions{.size = 1}};
  Communicator world = make_communicator(cluster.transport(0), make_host_memory());
  const std::string expected =
      "this build has no CUDA: install the CUDA toolkit (nvcc, cuda.h) and NCCL (nccl.h), then "
      "build again";
  EXPECT_EQ(
      refusal([&] { static_cast<void>(attach_in_turn(world, 0, "nccl", false, Duration{1})); }),
      expected);
  EXPECT_EQ(refusal([&] { static_cast<void>(make_timed_stream(world, 0, Duration{1})); }),
            expected);
}

}  // namespace
}  // namespace tutti::cuda

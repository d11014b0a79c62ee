// A sample of the matrix on memory of GPUs, on the stand-ins for the driver and NCCL.
#include <list>

#include <gtest/gtest.h>

#include <tutti/cuda.hpp>

#include "tests/cuda/device_buffers.hpp"
#include "tests/matrix/walk.hpp"
#include "tests/runtime/worlds.hpp"
#include "tests/support/patience.hpp"

namespace tutti::matrix {
namespace {

using namespace std::chrono_literals;

/// Memory of a device; calls end before they return, on a stream of the communicator's own.
class OnDevice final : public Placement {
 public:
  explicit OnDevice(int ordinal)
      : memory_{std::make_shared<cuda::DeviceMemory>(std::make_shared<const cuda::Device>(
            std::make_shared<const cuda::Driver>(), ordinal))} {}
  [[nodiscard]] Call place(const Call& call) override {
    Call placed = buffers_.emplace_back(memory_, call).call();
    placed.tag = 0;  // messages on streams have none
    return placed;
  }
  void store() override {
    for (test::DeviceBuffers& buffers : buffers_) buffers.store();
  }
  void fetch() override {
    for (test::DeviceBuffers& buffers : buffers_) buffers.fetch();
  }
  void clear() override { buffers_.clear(); }
  [[nodiscard]] bool runs_in_order() const override { return true; }
  [[nodiscard]] Options options(Options options) const override {
    options.stream = Stream::own();
    return options;
  }

 private:
  std::shared_ptr<cuda::DeviceMemory> memory_;
  std::list<test::DeviceBuffers> buffers_{};
};

class MatrixOnGpus : public ::testing::TestWithParam<int> {};

TEST_P(MatrixOnGpus, GivesTheRightResults) {
  const int size = GetParam();
  if (cuda::Driver{}.devices() < size) GTEST_SKIP() << "needs " << size << " GPUs";
  const std::vector<Cell> cells = sample(1, size);
  std::vector<Report> reports(static_cast<std::size_t>(size));
  test::expect_no_error(test::in_world({size, "shm", 1}, [&](Communicator& world) {
    cuda::attach(world, {.device = world.rank(), .timeout = test::kAmple});
    OnDevice placement{world.rank()};
    reports[static_cast<std::size_t>(world.rank())] = walk_all(world, cells, &placement);
  }));
  for (auto report = reports.rbegin(); report != reports.rend(); ++report)
    expect_right(*report, "cuda", size);
}

INSTANTIATE_TEST_SUITE_P(Worlds, MatrixOnGpus, ::testing::ValuesIn(kSizes));

}  // namespace
}  // namespace tutti::matrix

// Two ranks whose gradients lie in memory of GPUs, for faults_test.py: wherever a call of CUDA or
// NCCL fails, every rank ends with an error, unless it is through already. Prints what each rank
// met, and ends with 3 where one ends early and another one does not.
#include <iostream>

#include <tutti/gradient_sync.hpp>

#include "gpu_world.hpp"

namespace tutti::harness {
namespace {

using namespace std::chrono_literals;

constexpr int kSteps = 3;

/// How far a rank got.
struct Met {
  int steps = 0;
};

void train(GpuWorld& world, Rank rank, const std::string& transport, Met& met) {
  cuda::attach(world[rank], {.device = rank, .transport = transport, .timeout = 3s});
  const OwnStream stream{world.device(rank)};
  constexpr std::size_t kCount = 1000;
  const auto free = [&](std::byte* data) {
    world.memory(rank)->deallocate(data, 2 * kCount * sizeof(float));
  };
  const std::unique_ptr<std::byte, decltype(free)> memory{
      world.memory(rank)->allocate(2 * kCount * sizeof(float)), free};
  auto* const data = reinterpret_cast<float*>(memory.get());
  const std::vector<Parameter> parameters{
      {.name = "first", .data = data, .count = kCount},
      {.name = "second", .data = data + kCount, .count = kCount}};
  GradientSync sync{world[rank], parameters, {.bucket_bytes = 0, .stream = stream.get()}};
  for (; met.steps < kSteps; ++met.steps) {
    sync.ready(1);
    sync.ready(0);
    sync.wait();
    sync.synchronize(2s);
  }
}

int run(const std::string& transport) {
  GpuWorld world{2};
  std::vector<Met> met(2);
  const auto errors = world.run(
      [&](Rank rank) { train(world, rank, transport, met[static_cast<std::size_t>(rank)]); });
  bool is_early = false;
  bool is_good = false;
  for (std::size_t rank = 0; rank < met.size(); ++rank) {
    std::cout << "rank " << rank << ", step " << met[rank].steps << ": " << errors[rank] << "\n";
    is_early = is_early || (!errors[rank].empty() && met[rank].steps < kSteps - 1);
    is_good = is_good || errors[rank].empty();
  }
  return is_early && is_good ? 3 : 0;
}

}  // namespace
}  // namespace tutti::harness

int main(int count, char** words) {
  try {
    return tutti::harness::run(count > 1 ? words[1] : "nccl");
  } catch (const tutti::Error& error) {
    std::cout << "before there are ranks: " << error.what() << "\n";
    return 0;
  }
}

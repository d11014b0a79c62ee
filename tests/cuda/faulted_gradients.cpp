// Gradients in memory of GPUs, for faults_test.py.
#include <tutti/gradient_sync.hpp>

#include "faulted.hpp"

namespace tutti::harness {
namespace {

using namespace std::chrono_literals;

constexpr int kSteps = 6;

void train(GpuWorld& world, Rank rank, const std::string& transport, int& step) {
  cuda::attach(world[rank], attached_by(transport, rank));
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
  const auto take_steps = [&](const GradientOptions& options, int end) {
    GradientSync sync{world[rank], parameters, options};
    for (; step < end; ++step) {
      sync.ready(1);
      sync.ready(0);
      sync.wait();
      sync.synchronize(2s);
    }
  };
  take_steps({.bucket_bytes = 0, .stream = stream.get()}, kSteps / 2);
  take_steps({.order = GradientOrder::reversed,
              .norm = true,
              .hash = true,
              .compression = "bf16",
              .compression_after = 1,
              .verify_every = 2,
              .stream = stream.get()},
             kSteps);
}

}  // namespace
}  // namespace tutti::harness

int main(int count, char** words) {
  using namespace tutti::harness;
  return run_faulted(count, words, kSteps, train);
}

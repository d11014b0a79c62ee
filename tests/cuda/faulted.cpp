// Two ranks that attach a GPU by a transport, "nccl" or "host", and call on streams, for
// faults_test.py: wherever a call of CUDA or NCCL fails, every rank ends with an error, unless it
// is through already. Prints what each rank met, and ends with 3 where one ends early and another
// one does not.
#include <iostream>

#include "gpu_world.hpp"

namespace tutti::harness {
namespace {

using namespace std::chrono_literals;

constexpr int kRounds = 4;

/// How far a rank got, and what it met.
struct Met {
  int rounds = 0;
  std::string error{};
};

void take_part(GpuWorld& world, Rank rank, const std::string& transport, Met& met) {
  cuda::attach(world[rank], {.device = rank, .transport = transport, .timeout = 3s});
  const OwnStream stream{world.device(rank)};
  constexpr std::size_t kCount = 1000;
  const auto free = [&](std::byte* data) {
    world.memory(rank)->deallocate(data, kCount * sizeof(float));
  };
  const std::unique_ptr<std::byte, decltype(free)> memory{
      world.memory(rank)->allocate(kCount * sizeof(float)), free};
  const std::span<float> data{reinterpret_cast<float*>(memory.get()), kCount};
  // Which over the host other ranks see.
  Buffer<float> shared = cuda::allocate<float>(world[rank], kCount);
  for (; met.rounds < kRounds; ++met.rounds) {
    world[rank].all_reduce(data, sum, {.algorithm = "ring", .stream = stream.get()});
    world[rank].all_to_all(std::span<const float>{data}, data, {.stream = stream.get()});
    world[rank].all_reduce(shared.span(), sum,
                           {.algorithm = "ring", .visible = true, .stream = stream.get()});
    cuda::wait(world[rank], stream.get(), 2s);
  }
}

int run(const std::string& transport) {
  GpuWorld world{2};
  std::vector<Met> met(2);
  const auto errors = world.run(
      [&](Rank rank) { take_part(world, rank, transport, met[static_cast<std::size_t>(rank)]); });
  bool is_early = false;
  bool is_good = false;
  for (std::size_t rank = 0; rank < met.size(); ++rank) {
    std::cout << "rank " << rank << ", round " << met[rank].rounds << ": " << errors[rank] << "\n";
    is_early = is_early || (!errors[rank].empty() && met[rank].rounds < kRounds - 1);
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

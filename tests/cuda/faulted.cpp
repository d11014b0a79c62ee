// Calls on streams, for faults_test.py.
#include "faulted.hpp"

namespace tutti::harness {
namespace {

using namespace std::chrono_literals;

constexpr int kRounds = 4;

/// Calls that NCCL has itself.
void call_natively(Communicator& world, std::span<float> data, Stream stream) {
  const Options options{.algorithm = "native", .stream = stream};
  const std::span<const float> all{data};
  const std::size_t each = data.size() / static_cast<std::size_t>(world.size());
  const auto own = data.subspan(static_cast<std::size_t>(world.rank()) * each, each);
  world.all_reduce(data, sum, options);
  world.reduce(all, data, sum, 1, options);
  world.broadcast(data, 1, options);
  world.all_gather(std::span<const float>{own}, data, options);
  world.reduce_scatter(all, own, sum, options);
}

void take_part(GpuWorld& world, Rank rank, const std::string& transport, int& round) {
  cuda::attach(world[rank], attached_by(transport, rank));
  const OwnStream stream{world.device(rank)};
  constexpr std::size_t kCount = 1000;
  const auto free = [&](std::byte* data) {
    world.memory(rank)->deallocate(data, kCount * sizeof(float));
  };
  const std::unique_ptr<std::byte, decltype(free)> memory{
      world.memory(rank)->allocate(kCount * sizeof(float)), free};
  const std::span<float> data{reinterpret_cast<float*>(memory.get()), kCount};
  // Other ranks see it over the host.
  Buffer<float> shared = cuda::allocate<float>(world[rank], kCount);
  for (; round < kRounds; ++round) {
    world[rank].all_reduce(data, sum, {.algorithm = "ring", .stream = stream.get()});
    world[rank].all_to_all(std::span<const float>{data}, data, {.stream = stream.get()});
    world[rank].all_reduce(shared.span(), sum,
                           {.algorithm = "ring", .visible = true, .stream = stream.get()});
    if (transport != "host") {
      call_natively(world[rank], data, stream.get());
      call_natively(world[rank], shared.span(), stream.get());
    }
    cuda::wait(world[rank], stream.get(), 2s);
  }
}

}  // namespace
}  // namespace tutti::harness

int main(int count, char** words) {
  using namespace tutti::harness;
  return run_faulted(count, words, kRounds, take_part);
}

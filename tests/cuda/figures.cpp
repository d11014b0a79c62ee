// How fast kernels are beside copies, and what a call of ours costs beside NCCL's own: figures for
// real GPUs, of which every one here is a rank. With `--short` few and small ones, to see that it
// runs.
#include <fmt/format.h>
#include <tutti/cuda.hpp>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <functional>
#include <iterator>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/enqueue.hpp"
#include "backends/cuda/nccl.hpp"
#include "backends/cuda/timed_stream.hpp"
#include "gpu_world.hpp"
#include "tests/support/patience.hpp"

namespace tutti::harness {
namespace {

using namespace std::chrono_literals;

struct Extent {
  std::size_t bytes = std::size_t{256} << 20U;  // of one operand
  int rounds = 21;
  int calls = 20;  // in a row
  std::vector<std::size_t> messages{8, std::size_t{1} << 20U, std::size_t{16} << 20U,
                                    std::size_t{256} << 20U};
};

double median(std::vector<double> values) {
  const auto middle = std::next(values.begin(), static_cast<std::ptrdiff_t>(values.size() / 2));
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// One rank with what is measured on.
struct Own {
  Communicator& world;
  const cuda::Device& device;
  cuda::DeviceMemory& memory;
  cuda::TimedStream& timed;
  Extent extent;

  [[nodiscard]] CUstream stream() const { return static_cast<CUstream>(timed.stream().handle()); }
};

using Memories = std::vector<std::shared_ptr<std::byte>>;

std::shared_ptr<std::byte> allocate_bytes(const Own& own, std::size_t bytes) {
  return {own.memory.allocate(bytes),
          [&own, bytes](std::byte* data) { own.memory.deallocate(data, bytes); }};
}

Memories allocate(const Own& own, std::size_t count) {
  Memories memory;
  for (std::size_t i = 0; i < count; ++i) memory.push_back(allocate_bytes(own, own.extent.bytes));
  return memory;
}

/// Bytes that a kernel reads and writes in a second, as a share of those that a copy does.
/// @param memory which the copy takes too. @param bytes that the kernel reads and writes. @param
/// enqueue launches it.
double share_of_copy(const Own& own, const Memories& memory, std::size_t bytes,
                     const std::function<void()>& enqueue) {
  const cuda::Device::Current current{own.device};
  std::vector<double> shares;
  for (int round = 0; round < own.extent.rounds; ++round) {
    const double kernel = own.timed.time_us(enqueue);
    const double copy = own.timed.time_us([&] {
      cuda::enqueue_copy(own.device, memory.back().get(), memory.front().get(), own.extent.bytes,
                         own.stream());
    });
    const double copied = 2 * static_cast<double>(own.extent.bytes);
    shares.push_back(static_cast<double>(bytes) / copied * copy / kernel);
  }
  return median(shares);
}

double share_of_fold(const Own& own, Datatype type, std::size_t operands, std::size_t copies) {
  const Memories memory = allocate(own, operands + copies);
  std::vector<const void*> from;
  std::vector<void*> to;
  for (std::size_t i = 0; i < operands; ++i) from.push_back(memory[i].get());
  for (std::size_t i = 0; i < copies; ++i) to.push_back(memory[operands + i].get());
  const Operator op = sum;
  const Fold work{.type = type,
                  .element_bytes = size_of(type),
                  .op = &op,
                  .destination = to.front(),
                  .operands = from,
                  .count = own.extent.bytes / size_of(type),
                  .copies = std::span{to}.subspan(1)};
  return share_of_copy(own, memory, (operands + copies) * own.extent.bytes,
                       [&] { cuda::enqueue_fold(own.device, work, own.stream()); });
}

double share_of_conversion(const Own& own, Datatype from, Datatype to) {
  const Memories memory = allocate(own, 2);
  const std::size_t count = own.extent.bytes / std::max(size_of(from), size_of(to));
  const Conversion work{.from_type = from,
                        .to_type = to,
                        .count = count,
                        .from = memory[0].get(),
                        .to = memory[1].get()};
  return share_of_copy(own, memory, count * (size_of(from) + size_of(to)),
                       [&] { own.device.launch(work, own.stream()); });
}

double share_of_inspection(const Own& own, Datatype type, bool with_hash) {
  const Memories memory = allocate(own, 2);
  const auto sums = allocate_bytes(own, kInspectors * sizeof(Inspected));
  const Inspection work{.type = type,
                        .with_hash = with_hash,
                        .count = own.extent.bytes / size_of(type),
                        .data = memory[0].get(),
                        .sums = reinterpret_cast<Inspected*>(sums.get())};
  return share_of_copy(own, memory, own.extent.bytes,
                       [&] { own.device.launch(work, own.stream()); });
}

void report_kernels(const Own& own) {
  fmt::print("kernels, bytes per second beside a copy's (at least 0.9 is wanted)\n");
  for (const Datatype type : {Datatype::i8, Datatype::f16, Datatype::bf16, Datatype::i32,
                              Datatype::f32, Datatype::f64, Datatype::c64}) {
    fmt::print("  sum of {:<5}", name_of(type));
    for (const auto& [operands, copies] : {std::pair{2U, 1U}, {2U, 2U}, {4U, 1U}, {8U, 1U}})
      fmt::print("  {} to {}: {:.2f}", operands, copies,
                 share_of_fold(own, type, operands, copies));
    fmt::print("\n");
  }
  using enum Datatype;
  for (const auto& [from, to] : {std::pair{f32, f16}, {f32, bf16}, {f16, f32}, {bf16, f32}})
    fmt::print("  {} to {}: {:.2f}", name_of(from), name_of(to),
               share_of_conversion(own, from, to));
  for (const Datatype type : {f16, f32})
    fmt::print("\n  norm of {}: {:.2f}, with its hash {:.2f}", name_of(type),
               share_of_inspection(own, type, false), share_of_inspection(own, type, true));
  fmt::print("\n");
}

/// NCCL without us.
class PlainNccl {
 public:
  PlainNccl(const cuda::Device& device, const ncclUniqueId& id, Rank rank, int size)
      : current_{device} {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    nccl_.check(nccl_.calls().init(&communicator_, size, id, rank, &config), "start NCCL");
  }
  PlainNccl(const PlainNccl&) = delete;
  PlainNccl& operator=(const PlainNccl&) = delete;
  ~PlainNccl() { nccl_.calls().destroy(communicator_); }
  void all_reduce(const std::byte* in, std::byte* out, std::size_t count, CUstream stream) const {
    nccl_.check(
        nccl_.calls().all_reduce(in, out, count, ncclFloat32, ncclSum, communicator_, stream),
        "enqueue a collective");
  }

 private:
  cuda::Device::Current current_;
  cuda::Nccl nccl_{};
  ncclComm_t communicator_ = nullptr;
};

/// Times of a call in microseconds: NCCL's own, and ours, which runs it.
struct Times {
  double plain = 0;
  double ours = 0;
};

Times times_of(const Own& own, const PlainNccl& plain, std::size_t bytes) {
  const auto in = cuda::allocate<float>(own.world, bytes / sizeof(float));
  auto out = cuda::allocate<float>(own.world, bytes / sizeof(float));
  const int calls = own.extent.calls;
  const auto timed = [&](const std::function<void()>& call) {
    own.world.barrier();
    return own.timed.time_us([&] {
      for (int i = 0; i < calls; ++i) call();
    }) / calls;
  };
  std::vector<double> plains;
  std::vector<double> ours;
  for (int round = 0; round < own.extent.rounds; ++round) {
    plains.push_back(timed([&] {
      plain.all_reduce(reinterpret_cast<const std::byte*>(in.data()),
                       reinterpret_cast<std::byte*>(out.data()), bytes / sizeof(float),
                       own.stream());
    }));
    ours.push_back(timed([&] {
      own.world.all_reduce(std::span<const float>{in.data(), in.size()},
                           std::span{out.data(), out.size()}, sum,
                           {.algorithm = "native", .stream = own.timed.stream()});
    }));
  }
  return {median(plains), median(ours)};
}

void report_native(const Own& own) {
  ncclUniqueId id{};
  if (own.world.rank() == 0) {
    const cuda::Nccl nccl;
    nccl.check(nccl.calls().unique_id(&id), "start NCCL");
  }
  own.world.broadcast(std::span{id.internal}, 0);
  const PlainNccl plain{own.device, id, own.world.rank(), own.world.size()};
  if (own.world.rank() == 0)
    fmt::print(
        "\nall_reduce of f32, {} GPUs, us per call (wanted: at 8 B 3 us more at most, from 1 "
        "MiB on 2%)\n",
        own.world.size());
  for (const std::size_t bytes : own.extent.messages) {
    const Times times = times_of(own, plain, bytes);
    if (own.world.rank() == 0)
      fmt::print("  {:>10} B  NCCL {:10.2f}  native of ours {:10.2f}  {:+.2f} us  {:+.1f}%\n",
                 bytes, times.plain, times.ours, times.ours - times.plain,
                 100 * (times.ours / times.plain - 1));
  }
}

/// Has arrays fit in memory of the smallest GPU.
void limit(Extent& extent, int ranks) {
  std::size_t least = ~std::size_t{0};
  const cuda::Driver driver;
  for (int device = 0; device < ranks; ++device) {
    std::size_t bytes = 0;
    driver.check(driver.calls().device_memory(&bytes, device), "ask a GPU for its memory");
    least = std::min(least, bytes);
  }
  extent.bytes = std::min(extent.bytes, std::bit_floor(least / 32));
  std::erase_if(extent.messages, [&](std::size_t bytes) { return bytes > least / 8; });
}

int report(Extent extent) {
  const int ranks = std::min(8, cuda::Driver{}.devices());
  limit(extent, ranks);
  GpuWorld world{ranks};
  int failed = 0;
  for (const std::string& error : world.run([&](Rank rank) {
         cuda::attach(world[rank], {.device = rank, .timeout = test::kAmple});
         const auto timed = cuda::make_timed_stream(world[rank], rank, test::kAmple);
         const Own own{world[rank], world.device(rank), *world.memory(rank), *timed, extent};
         if (rank == 0) fmt::print("{}, NCCL {}\n", timed->gpu(), timed->nccl());
         if (rank == 0) report_kernels(own);
         report_native(own);
       }))
    if (!error.empty()) {
      fmt::print(stderr, "{}\n", error);
      failed = 1;
    }
  return failed;
}

}  // namespace
}  // namespace tutti::harness

int main(int argc, char** argv) {
  tutti::harness::Extent extent;
  if (argc > 1 && std::strcmp(argv[1], "--short") == 0)
    extent = {.bytes = 1U << 16U, .rounds = 3, .calls = 2, .messages = {8, 4096}};
  return tutti::harness::report(extent);
}

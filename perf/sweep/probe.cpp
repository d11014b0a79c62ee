#include <tutti/spi/communicator.hpp>

#include "perf/sweep/probe.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>

#include "perf/measured_world.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tutti::perf {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kLine = 64;
constexpr std::size_t kStreamedBytes = std::size_t{4} << 20;

std::size_t whole_pages(std::size_t bytes) noexcept {
  return (bytes + kPage - 1) / kPage * kPage;
}

/// One rank's part: it stores the sums of `inputs` to all `outputs`.
struct Share {
  const std::vector<float*>& inputs;
  const std::vector<float*>& outputs;
  std::size_t begin;
  std::size_t end;
};

void add_and_store(const Share& share) noexcept {
  for (std::size_t i = share.begin; i < share.end; ++i) {
    float sum = share.inputs[0][i];
    for (std::size_t rank = 1; rank < share.inputs.size(); ++rank) sum += share.inputs[rank][i];
    for (float* const output : share.outputs) output[i] = sum;
  }
}

/// The sum of two ranks, which the compiler vectorises.
void add_and_store_two(const float* __restrict a, const float* __restrict b, float* __restrict x,
                       float* __restrict y, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    const float sum = a[i] + b[i];
    x[i] = sum;
    y[i] = sum;
  }
}

// Sums four elements at a time, and stores them past the caches. Returns the number of elements.
std::size_t stream_two(const float* a, const float* b, float* x, float* y,
                       std::size_t count) noexcept {
#if defined(__SSE2__)
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const __m128 sum = _mm_add_ps(_mm_loadu_ps(a + i), _mm_loadu_ps(b + i));
    _mm_stream_ps(x + i, sum);
    _mm_stream_ps(y + i, sum);
  }
  _mm_sfence();
  return i;
#else
  add_and_store_two(a, b, x, y, count);
  return count;
#endif
}

std::byte* map(int descriptor, std::size_t bytes) {
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor, 0);
  if (memory == MAP_FAILED)
    throw Error{ErrorCode::transport,
                std::string{"cannot map the probe's memory: "} + std::strerror(errno)};
  return static_cast<std::byte*>(memory);
}

}  // namespace

std::string Probe::refusal(const Workload& workload, Communicator& communicator) {
  if (!is_collective(workload) || workload.collective != Collective::all_reduce ||
      workload.type != Datatype::f32 || workload.op != OperatorKind::sum || workload.in_place)
    return "the probe is an all_reduce of f32 sums, out of place";
  if (communicator.size() < 2) return "the probe needs two ranks or more";
  const auto hosts = gather_texts(communicator, host_name());
  if (std::ranges::any_of(hosts, [&](const std::string& host) { return host != hosts.front(); }))
    return "the probe needs all ranks on one host";
  return {};
}

Probe::Probe(const Workload& workload, Communicator& communicator)
    : self_{static_cast<std::size_t>(communicator.rank())}, size_{static_cast<std::size_t>(
                                                                communicator.size())},
      count_{workload.count}, spins_{transport_of(communicator).capabilities().idle_spins} {
  // The others open rank 0's memory by its name in /proc, which processes of the same user may do.
  const int own = self_ == 0 ? memfd_create("tutti-probe", MFD_CLOEXEC) : -1;
  if (self_ == 0 && (own < 0 || ftruncate(own, static_cast<off_t>(region_bytes())) != 0))
    throw Error{ErrorCode::transport, "cannot allocate the memory of the probe"};
  std::array<std::int64_t, 2> place{getpid(), own};
  from_rank_zero(communicator, place);
  const std::string name = "/proc/" + std::to_string(place[0]) + "/fd/" + std::to_string(place[1]);
  const int descriptor = self_ == 0 ? own : open(name.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0)
    throw Error{ErrorCode::transport, "cannot open the probe's memory at " + name};
  region_ = map(descriptor, region_bytes());
  communicator.barrier();
  close(descriptor);
  lines_ = reinterpret_cast<Line*>(region_);
  const std::size_t bytes = whole_pages(count_ * sizeof(float));
  std::byte* at = region_ + whole_pages(size_ * sizeof(Line));
  for (std::vector<float*>* const vectors : {&inputs_, &outputs_})
    for (std::size_t rank = 0; rank < size_; ++rank, at += bytes)
      vectors->push_back(reinterpret_cast<float*>(at));
}

Probe::~Probe() {
  munmap(region_, region_bytes());
}

std::size_t Probe::region_bytes() const noexcept {
  return whole_pages(size_ * sizeof(Line)) + 2 * size_ * whole_pages(count_ * sizeof(float));
}

void Probe::refresh() noexcept {
  for (std::size_t i = 0; i < count_; ++i) inputs_[self_][i] = static_cast<float>(self_ + i % 1000);
}

std::uint64_t Probe::read() const noexcept {
  float sum = 0;
  for (std::size_t i = 0; i < count_; i += kLine / sizeof(float)) sum += outputs_[self_][i];
  return static_cast<std::uint64_t>(sum);
}

void Probe::wait_for(std::size_t rank, std::uint64_t turn) const noexcept {
  for (int idle = 0; lines_[rank].turn.load(std::memory_order_acquire) < turn; ++idle)
    if (idle > spins_) std::this_thread::yield();
}

void Probe::meet() noexcept {
  lines_[self_].turn.store(++turn_, std::memory_order_release);
  for (std::size_t rank = 0; rank < size_; ++rank) wait_for(rank, turn_);
}

void Probe::run() noexcept {
  if (count_ * sizeof(float) <= kLine) {
    if (self_ > 1) return;
    ++turn_;
    if (self_ == 1) wait_for(0, turn_);
    lines_[self_].turn.store(turn_, std::memory_order_release);
    if (self_ == 0) wait_for(1, turn_);
    return;
  }
  meet();
  constexpr std::size_t kFloats = kLine / sizeof(float);
  const std::size_t lines = (count_ + kFloats - 1) / kFloats;
  const Share share{inputs_, outputs_, std::min(count_, lines * self_ / size_ * kFloats),
                    std::min(count_, lines * (self_ + 1) / size_ * kFloats)};
  if (size_ == 2) {
    const std::size_t begin = share.begin;
    const std::size_t count = share.end - begin;
    const bool streams = count_ * sizeof(float) >= kStreamedBytes;
    const std::size_t done = streams ? stream_two(inputs_[0] + begin, inputs_[1] + begin,
                                                  outputs_[0] + begin, outputs_[1] + begin, count)
                                     : 0;
    add_and_store_two(inputs_[0] + begin + done, inputs_[1] + begin + done,
                      outputs_[0] + begin + done, outputs_[1] + begin + done, count - done);
  } else {
    add_and_store(share);
  }
  meet();
}

}  // namespace tutti::perf
